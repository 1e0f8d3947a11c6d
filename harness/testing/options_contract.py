"""Tests for the options of every plug-in: subclass OptionsContract and define `options`."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from harness.config import keys, options, reference
from harness.config.keys import Key
from harness.config.options import Options
from harness.config.ranges import Between, OneOf
from harness.errors import ConfigError


class OptionsContract:
    @pytest.fixture
    def options(self) -> Options:
        """The plug-in's object with default options."""
        raise NotImplementedError

    def test_it_is_frozen_and_every_option_has_a_default(self, options: Options) -> None:
        assert type(options) is type(_build(options, {}))
        for key in _keys(options):
            assert key.default is not dataclasses.MISSING, key.name
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(options, key.field, key.default)

    def test_every_option_says_what_it_means(self, options: Options) -> None:
        for entry in reference.entries(type(options), options.key()):
            assert entry.meaning.endswith("."), f"a docstring below {entry.key}"

    def test_every_number_has_a_range_and_is_refused_beyond_it(self, options: Options) -> None:
        for key in _keys(options):
            if key.type in (int, float, int | None, float | None):
                assert isinstance(key.rule, Between), f"{key.name} must be Annotated[..., Between]"
                for edge in (key.rule.low, key.rule.high):
                    assert "must lie between" not in _refusal_message(options, key, edge)
                for beyond in (key.rule.low - 1, key.rule.high + 1, math.nan):
                    assert key.name in _refusal_message(options, key, beyond)

    def test_another_type_or_choice_is_refused_with_the_key(self, options: Options) -> None:
        for key in _keys(options):
            assert key.name in _refusal_message(options, key, {"a": "mapping"})
            if isinstance(key.rule, OneOf):
                assert key.name in _refusal_message(options, key, "none of them")

    def test_an_option_depends_on_another_of_them_alone(self, options: Options) -> None:
        names = {key.name for key in _keys(options)}
        for key in _keys(options):
            assert {condition.selector for condition in key.conditions} <= names - {key.name}

    def test_an_unknown_option_is_refused_by_name(self, options: Options) -> None:
        with pytest.raises(ConfigError) as caught:
            _build(options, {"no_such_option": 1})
        assert options.key() in str(caught.value)
        assert "no_such_option" in str(caught.value)


def _build(plug_in: Options, values: dict[str, Any]) -> Options:
    return options.build(type(plug_in), values)


def _keys(plug_in: Options) -> tuple[Key, ...]:
    part: Any = type(plug_in)
    return keys.own_keys(part, plug_in.key())


def _refusal_message(plug_in: Options, key: Key, value: Any) -> str:
    """Return the error message for the value; empty if the value is accepted."""
    try:
        _build(plug_in, {key.field: value})
    except ConfigError as error:
        return str(error)
    return ""
