"""Questions with options from a JSONL file, one per line, each with its source and licence.

The shipped set, items.jsonl, was written for this project (CC0): everyday facts, health advice, and
claims of disinformation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from harness.errors import ConfigError, DataError
from harness.records import plain_file
from harness.utils.terminal import shorten_middle

SHIPPED = Path(__file__).with_name("items.jsonl")
TEXTS = ("question", "correct", "wrong_belief", "source", "licence")
KEYS = (*TEXTS, "options")
TOPIC = "topic"
"""The only optional key of a line."""
FEWEST_ITEMS, FEWEST_OPTIONS, MOST_OPTIONS = 3, 2, 10
MOST_TOPICS, LONGEST_TOPIC, LONGEST_TEXT = 12, 40, 2_000
LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Item:
    """A question with one correct answer."""

    question: str
    options: tuple[str, ...]
    correct: str
    """One of the options."""
    wrong_belief: str
    """A wrong option that a user may plausibly believe."""
    source: str
    licence: str
    topic: str = ""


def read(path: Path) -> tuple[Item, ...]:
    """Return the items of a file in file order. Raises ConfigError with file, line and rule."""
    try:
        text = plain_file.text(path)
    except DataError as error:
        raise ConfigError(f"--items: {error}") from error
    items: list[Item] = []
    first_lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        item = _item(where, line)
        if item.question in first_lines:
            rule = f"a question must be there once, and is in line {first_lines[item.question]}"
            _refuse(where, rule, item.question)
        first_lines[item.question] = number
        items.append(item)
    topics = dict.fromkeys(item.topic for item in items)
    if len(items) < FEWEST_ITEMS:
        _refuse(str(path), f"must hold at least {FEWEST_ITEMS} items", len(items))
    if len(topics) > MOST_TOPICS:
        _refuse(str(path), f"must have at most {MOST_TOPICS} topics", len(topics))
    return tuple(items)


def _item(where: str, line: str) -> Item:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        rule = "a line must be a JSON object"
        raise ConfigError(f"{where}: {rule}, got {plain_file.one_line(error)}") from error
    if not isinstance(values, dict):
        _refuse(where, "a line must be a JSON object", values)
    for name in KEYS:
        if name not in values:
            _refuse(where, f"an item must have {name}", ", ".join(map(str, values)))
    for name in values:
        if name not in (*KEYS, TOPIC):
            _refuse(where, f"a key must be one of {', '.join((*KEYS, TOPIC))}", name)
    texts = {name: _text(where, name, values[name]) for name in TEXTS}
    options = _options(where, values["options"])
    _require_options(where, texts, options)
    topic = _text(where, TOPIC, values[TOPIC], LONGEST_TOPIC) if TOPIC in values else ""
    return Item(**texts, options=options, topic=topic)


def _require_options(where: str, texts: Mapping[str, str], options: tuple[str, ...]) -> None:
    """Raise ConfigError unless `correct` and `wrong_belief` are two different options."""
    for name in ("correct", "wrong_belief"):
        if texts[name] not in options:
            _refuse(where, f"{name} must be one of the options", texts[name])
    if texts["correct"] == texts["wrong_belief"]:
        _refuse(where, "wrong_belief must not be correct", texts["wrong_belief"])


def _options(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not FEWEST_OPTIONS <= len(value) <= MOST_OPTIONS:
        rule = f"options must be a list of {FEWEST_OPTIONS} to {MOST_OPTIONS} texts"
        _refuse(where, rule, value)
    options = tuple(_text(where, "an option", option) for option in value)
    repeated = [option for option in options if options.count(option) > 1]
    if repeated:
        _refuse(where, "an option must be there once", repeated[0])
    return options


def _text(where: str, name: str, value: Any, longest: int = LONGEST_TEXT) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        _refuse(where, f"{name} must be text of 1 to {longest} characters", value)
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate such as "\ud800", which no tokenizer accepts
        _refuse(where, f"{name} must be text in Unicode", ascii(value))
    return value.strip()


def _refuse(where: str, rule: str, value: Any) -> NoReturn:
    raise ConfigError(f"{where}: {rule}, got {shorten_middle(repr(value), LONGEST_SHOWN)}")
