"""Read verl's console output: `step:12 - actor/entropy:0.31 - critic/score/mean:0.52`."""

from __future__ import annotations

import contextlib
import re

from harness.law.io.importers.rows import Row, Rows, damaged

RULE = "must hold verl's lines `step:N - name:value - name:value`"
_STEP = re.compile(rb"(?:^|[^\w/])step:(-?\d+) - (.*)")
_NUMPY = re.compile(r"np\.\w+\((.*)\)")
"""A number as numpy 2 prints it."""
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def training_step(step: int) -> int:
    """Map step 0, a validation of the weights that step 1 starts from, to step 1."""
    return 1 if step == 0 else step


def looks_like(data: bytes) -> bool:
    return any(_STEP.search(line) for line in data.split(b"\n") if b"step:" in line)


def rows(data: bytes) -> Rows:
    """Read the lines with metrics. Other console output is no damage.

    A last line without a line end is accepted if it has all metrics of the line before, else it is
    torn. A last number cut short, 0.35 to 0.3, cannot be detected.
    """
    parsed: list[Row] = []
    row_lines, torn = [], None
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        match = _STEP.search(_COLOUR.sub(b"", line)) if b"step:" in line else None
        if match is None:
            continue
        metrics = _metrics(match[2].decode("utf-8", "replace").rstrip("\r"))
        if number == len(lines) and not (parsed and parsed[-1].keys() <= {*metrics, "step"}):
            torn = number
            continue
        parsed.append({**metrics, "step": training_step(int(match[1][:20]))})
        row_lines.append(number)
    return Rows(parsed, row_lines, damaged([], torn), RULE, scattered=True)


def _metrics(text: str) -> Row:
    pairs = (part.rpartition(":") for part in text.split(" - "))
    return {name.strip(): _number(value.strip()) for name, _, value in pairs if name}


def _number(text: str) -> float | str:
    match = _NUMPY.fullmatch(text)
    with contextlib.suppress(ValueError):
        return float(match[1] if match else text)
    return text
