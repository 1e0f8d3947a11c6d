"""The file formats of results, and the style of their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.report.figures.style import PAPER, PICTURES, SCREEN, STYLES, Style
from harness.report.tables import result_files

TABLES = result_files.LANGUAGES
"""Formats of the tables for people. A CSV with every number is always written."""
DEFAULTS = {SCREEN.name: SCREEN.pictures, PAPER.name: (*PAPER.pictures, *TABLES)}


@dataclass(frozen=True)
class Formats:
    """The formats to write."""

    style: Style
    pictures: tuple[str, ...]
    """Some of PICTURES."""
    tables: tuple[str, ...]
    """Some of TABLES."""


def formats(style: str = SCREEN.name, wanted: Sequence[str] = ()) -> Formats:
    """Return the `wanted` formats, or those of the style if none is wanted.

    A word in `wanted` may hold several formats, separated by commas. Raises ConfigError for an
    unknown style or format.
    """
    if style not in STYLES:
        raise ConfigError(f"--style: must be one of {', '.join(STYLES)}, got {style!r}")
    words = _words(wanted, (*PICTURES, *TABLES))
    chosen = words or DEFAULTS[style]
    return Formats(
        STYLES[style],
        tuple(kind for kind in PICTURES if kind in chosen),
        tuple(kind for kind in TABLES if kind in chosen),
    )


def pictures(wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the `wanted` formats of a single picture, which has no table, or those of a screen.

    Raises ConfigError for an unknown format.
    """
    words = _words(wanted, PICTURES) or SCREEN.pictures
    return tuple(kind for kind in PICTURES if kind in words)


def _words(wanted: Sequence[str], allowed: Sequence[str]) -> list[str]:
    words = [word.strip() for words in wanted for word in words.split(",")]
    for word in words:
        if word not in allowed:
            raise ConfigError(f"--format: must be some of {', '.join(allowed)}, got {word!r}")
    return words
