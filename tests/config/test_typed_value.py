"""A value as it is typed is read by Hydra as that value."""

from __future__ import annotations

from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from harness.config.typed_value import typed_value

TEXTS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(
    lambda name: name not in ("inf", "nan")
)


@given(st.recursive(SCALARS, lambda part: st.lists(part) | st.dictionaries(NAMES, part)))
def test_hydra_reads_the_value_back(value: Any) -> None:
    override = OverridesParser.create().parse_override(f"key={typed_value(value)}")
    assert repr(override.value()) == repr(value)


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("Qwen/Qwen3-4B-Instruct-2507", "Qwen/Qwen3-4B-Instruct-2507"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("True", "'True'"),
        ("", "''"),
        (("easy", None, True), "[easy,null,true]"),
        ({"coefficient": 0.05}, "{coefficient:0.05}"),
    ],
)
def test_quotes_are_where_hydra_needs_them(value: Any, typed: str) -> None:
    assert typed_value(value) == typed
