"""Parses overrides by Hydra's grammar."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import (
    Override,
    QuotedString,
    RangeSweep,
    Sweep,
    Transformer,
)
from hydra.errors import HydraException

from harness.compose.overrides import MOST_RUNS, ParsedOverride, without_secret
from harness.errors import ConfigError

GRAMMAR = "a word is KEY=VALUE, where VALUE is one value, a,b,c, range(1,4), choice(a,b) or 'text'"
MOST = MOST_RUNS + 1


def parse(overrides: Sequence[str]) -> list[ParsedOverride]:
    """Parse overrides by Hydra's grammar. Raises ConfigError for one that it cannot read."""
    hydra = GlobalHydra.instance().hydra
    parser = OverridesParser.create(config_loader=hydra.config_loader if hydra else None)
    return [_parse_word(text, parser) for text in overrides]


def _parse_word(text: str, parser: OverridesParser) -> ParsedOverride:
    text = text.strip()
    if not text.isprintable() or ("=" not in text and not text.startswith("~")):
        raise ConfigError(f"{without_secret(text)!r} cannot be read: {GRAMMAR}")
    try:
        (override,) = parser.parse_overrides([text])
    except Exception as error:
        raise ConfigError(f"{without_secret(text)!r} cannot be read: {GRAMMAR}") from error
    key = override.get_key_element()
    prefix = key[: len(key) - len(key.lstrip("+~"))]
    try:
        values, texts = _values(override)
    except HydraException as error:  # glob() needs Hydra to be initialized
        rule = "glob() selects several options of a group, which only a sweep can run"
        raise ConfigError(f"{text}: {rule}") from error
    swept = override.is_sweep_override()
    return ParsedOverride(
        text, override.key_or_group, prefix, override.package, values, texts, swept
    )


def _values(override: Override) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Return the values of an override, and each in the grammar's notation."""
    if not override.is_sweep_override():
        return (override.value(),), (override.get_value_element_as_str(),)
    if not override.is_discrete_sweep():
        raise ConfigError(
            f"{override.input_line}: the sweeper takes a,b,c, choice(), range() and glob() only"
        )
    if isinstance(override.value(), RangeSweep):
        _check_range(override.value(), str(override.input_line))
    # iterate once: shuffle() gives another order each time
    parsed = tuple(itertools.islice(override.sweep_iterator(), MOST))
    if any(isinstance(value, Sweep) for value in parsed):
        raise ConfigError(f"{override.input_line}: a sweep must not contain another")
    return tuple(map(_unquote, parsed)), tuple(map(Transformer.str, parsed))


def _check_range(axis: RangeSweep, text: str) -> None:
    """Raise ConfigError for an infinite range or one of more than MOST_RUNS values, of which
    shuffle() would make a list.
    """
    if not axis.step:
        raise ConfigError(f"{text}: the step of a range must not be 0, got {axis.step}")
    if not (axis.stop - axis.start) // axis.step <= MOST_RUNS:  # nan too
        rule = f"a sweep must have at most {MOST_RUNS} runs"
        raise ConfigError(f"{text}: {rule}, got a range with more values")


def _unquote(value: Any) -> Any:
    if isinstance(value, list):
        return [_unquote(part) for part in value]
    return value.text if isinstance(value, QuotedString) else value
