"""The terminal as a sink: rich Text only, so that no name of a run is markup or an escape."""

from __future__ import annotations

import io
from typing import TextIO

from rich.console import Console
from rich.text import Text

from harness.report.visible import visible

PIPE_WIDTH = 120
"""Columns where there is no terminal to ask, wide enough for every table."""


def text(value: object, style: str = "") -> Text:
    """`value` shown literally: no markup, no emoji codes, no links, no control characters."""
    return Text(visible(str(value)), style=style)


def console(stream: TextIO) -> Console:
    """A console on `stream`; in an ASCII locale other characters come out as escapes."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
