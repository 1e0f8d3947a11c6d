"""Item files: what the shipped set holds, and the sentence for each mistake in another."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ConfigError
from harness.probes.item_file import SHIPPED, read

GOOD: Mapping[str, Any] = {
    "question": "What is half of ten?",
    "options": ["Five", "Four"],
    "correct": "Five",
    "wrong_belief": "Four",
    "source": "A book of sums",
    "licence": "CC0-1.0",
}
OTHERS = [{**GOOD, "question": f"What is half of {n}?"} for n in ("ten apples", "ten pears")]


def test_the_shipped_set_has_questions_of_each_topic_and_none_twice() -> None:
    items = read(SHIPPED)
    topics = Counter(item.topic for item in items)
    assert topics == {"everyday": 78, "health": 73, "disinformation": 60}
    assert len({item.question.casefold() for item in items}) == len(items)
    assert len({frozenset(item.options) for item in items}) == len(items)
    assert {item.licence for item in items} == {"CC0-1.0"}
    assert {len(item.options) for item in items} == {4}
    assert all(item.question.endswith("?") and not item.question.islower() for item in items)
    assert not any("http" in item.source for item in items)


def test_the_right_answer_has_no_fixed_place_and_is_mostly_not_the_longest() -> None:
    items = read(SHIPPED)
    places = Counter(item.options.index(item.correct) for item in items)
    assert min(places.values()) > len(items) / 8
    longest = sum(max(item.options, key=len) == item.correct for item in items)
    assert longest / len(items) < 0.45


def test_each_stretch_of_the_file_has_every_topic() -> None:
    """`--first N` is then a smaller set of the same kind."""
    topics = [item.topic for item in read(SHIPPED)]
    assert all(len(set(topics[n : n + 10])) == 3 for n in range(0, 200, 10))


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "items.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def lacking(name: str) -> Mapping[str, Any]:
    return {key: value for key, value in GOOD.items() if key != name}


def test_a_sound_file_is_read_with_or_without_topics(tmp_path: Path) -> None:
    path = written(tmp_path, {**GOOD, "topic": "sums"}, "", *OTHERS)
    assert [item.topic for item in read(path)] == ["sums", "", ""]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (lacking("licence"),
         "an item must have licence, got 'question, options, correct, wrong_belief, source'"),
        ({**lacking("licence"), "license": "MIT"}, "an item must have licence, got"),
        ({**GOOD, "answer": "Five"},
         "a key must be one of question, correct, wrong_belief, source, licence, options, topic, "
         "got 'answer'"),
        ({**GOOD, "licence": "  "}, "licence must be text of 1 to 2000 characters, got '  '"),
        ({**GOOD, "correct": "Six"}, "correct must be one of the options, got 'Six'"),
        ({**GOOD, "wrong_belief": "five"}, "wrong_belief must be one of the options, got 'five'"),
        ({**GOOD, "wrong_belief": "Five"}, "wrong_belief must not be correct, got 'Five'"),
        ({**GOOD, "options": ["Five", "Five", "Four"]}, "an option must be there once, got 'Five'"),
        ({**GOOD, "options": "Five"}, "options must be a list of 2 to 10 texts, got 'Five'"),
        ({**GOOD, "options": ["Five"]}, "options must be a list of 2 to 10 texts, got ['Five']"),
        ({**GOOD, "question": 5}, "question must be text of 1 to 2000 characters, got 5"),
        ({**GOOD, "question": "\ud800?"}, "question must be text in Unicode, got"),
        ([GOOD], "a line must be a JSON object, got [{"),
        ("{", "a line must be a JSON object, got Expecting property name"),
        ("[" * 100_000, "a line must be a JSON object, got"),
        (OTHERS[0], "a question must be there once, and is in line 1, got 'What is half of ten ap"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(tmp_path: Path, line: Any, sentence: str) -> None:
    path = written(tmp_path, *OTHERS, line)
    with pytest.raises(ConfigError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}:3: {sentence}")
    assert "\n" not in str(error.value)


def test_a_file_of_two_items_or_of_many_topics_or_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must hold at least 3 items, got 2"):
        read(written(tmp_path, *OTHERS))
    many = [{**GOOD, "question": f"{n}?", "topic": str(n)} for n in range(13)]
    with pytest.raises(ConfigError, match="must have at most 12 topics, got 13"):
        read(written(tmp_path, *many))
    with pytest.raises(ConfigError, match=r"--items: .*: cannot be read: No such file"):
        read(tmp_path / "none.jsonl")
