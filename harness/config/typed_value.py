"""Write config values as they are typed on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLAIN = re.compile(r"[A-Za-z_][\w./:-]*", re.ASCII)
"""Matches a text that Hydra's grammar reads without quotes, if it is no word for a value."""
WORDS_FOR_VALUES = ("null", "true", "false", "nan", "inf")


def typed_value(value: Any) -> str:
    """Return a value in Hydra's notation: null, true, [a,b], and in quotes a text that Hydra would
    otherwise read as another value.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{typed_value(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(typed_value, value))}]"
    if isinstance(value, str) and not _is_plain(value):
        escaped = re.sub(r"(\\*)('|\Z)", lambda m: 2 * m[1] + m[2].replace("'", r"\'"), value)
        return f"'{escaped}'"
    return str(value)


def _is_plain(value: str) -> bool:
    return PLAIN.fullmatch(value) is not None and value.lower() not in WORDS_FOR_VALUES
