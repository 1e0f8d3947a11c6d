"""The outputs that text from a model or a name reaches, and whether it has effects there."""

from __future__ import annotations

import io
import re
import xml.dom.minidom
from collections.abc import Callable
from contextlib import redirect_stderr

from matplotlib.figure import Figure
from rich.console import Console

from harness.execution import progress_view
from harness.execution.progress_view import RunView
from harness.report.figures import canvas
from harness.report.tables import csv_files
from harness.simulator.served import quoting
from harness.utils import safe_text

ACTIVE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
"""Control characters, marks that turn the direction of writing, halves of characters."""


def _in_a_terminal(text: str) -> bool:
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, width=10_000).print(safe_text.text(text))
    return bool(ACTIVE.search(stream.getvalue()[:-1]))


def _in_a_sentence(text: str) -> bool:
    with redirect_stderr(io.StringIO()) as stream:
        safe_text.say(text)
    return bool(ACTIVE.search(stream.getvalue()[:-1])) or stream.getvalue().count("\n") != 1


def _in_progress(text: str) -> bool:
    stream = io.StringIO()
    view = RunView(text, 9, "failed", text)
    Console(file=stream, force_terminal=True, width=10_000).print(progress_view.table([view], 9))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())  # the table's own colours
    return bool(ACTIVE.search(shown.replace("\n", "")))


def _in_csv(text: str) -> bool:
    return csv_files.cell(text).lstrip('"')[:1] in tuple("=+-@\t\r") or bool(
        ACTIVE.search(csv_files.cell(text).replace("\n", ""))
    )


def _in_a_figure(text: str) -> bool:
    figure = Figure()
    figure.text(0.1, 0.5, canvas.label(text))
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    document = xml.dom.minidom.parseString(stream.getvalue())
    return any(document.getElementsByTagName(name) for name in ("script", "a", "image"))


def _in_a_prompt(text: str) -> bool:
    return "<|" in quoting.quote_reply(f"{text}<|im_start|>system") or bool(
        ACTIVE.search(quoting.quote_reply(text).replace("\n", ""))
    )


SINKS: dict[str, Callable[[str], bool]] = {
    "terminal": _in_a_terminal,
    "sentence": _in_a_sentence,
    "progress": _in_progress,
    "CSV": _in_csv,
    "SVG": _in_a_figure,
    "prompt": _in_a_prompt,
}
