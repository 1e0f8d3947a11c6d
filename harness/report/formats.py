"""The kinds of files that results are written as, and the style of their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.report.figures.style import PAPER, PICTURES, SCREEN, STYLES, Style
from harness.report.tables import result_files

TABLES = result_files.LANGUAGES
"""Tables for people, beside the CSV that holds every number."""
DEFAULTS = {SCREEN.name: SCREEN.pictures, PAPER.name: (*PAPER.pictures, *TABLES)}


@dataclass(frozen=True)
class Formats:
    """What is written."""

    style: Style
    pictures: tuple[str, ...]
    """Some of PICTURES."""
    tables: tuple[str, ...]
    """Some of TABLES."""


def formats(style: str = SCREEN.name, wanted: Sequence[str] = ()) -> Formats:
    """Those of a style, or the `wanted` ones: words that may hold several, with commas.

    Raises ConfigError for a style or a format that is none.
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
    """The kinds of a single picture, which has no table: the `wanted` ones, else those of a screen.

    Raises ConfigError for what is no kind of picture.
    """
    words = _words(wanted, PICTURES) or SCREEN.pictures
    return tuple(kind for kind in PICTURES if kind in words)


def _words(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    words = [word.strip() for words in wanted for word in words.split(",")]
    for word in words:
        if word not in known:
            raise ConfigError(f"--format: must be some of {', '.join(known)}, got {word!r}")
    return words
