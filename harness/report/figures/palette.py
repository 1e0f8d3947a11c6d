"""Colours, markers and dashes of series, distinguishable by colour-blind readers and in grey.

The hues are those of Okabe and Ito without yellow, which is too pale on white. Their lightness was
moved apart, so that series differ in grey as well; where it is similar, markers and dashes differ.
"""

from __future__ import annotations

from typing import Any, TypeAlias

COLOURS = ("#0359a6", "#c83b07", "#019659", "#f06caa", "#e89a10", "#69c1fe", "#5d371c")
MARKERS = ("o", "s", "^", "D", "v")
"""Five markers and seven colours give 35 pairs before one repeats."""
Dashes: TypeAlias = "str | tuple[float, tuple[float, ...]]"
DASHES: tuple[Dashes, ...] = (
    "-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)), (0, (8, 2)),
    (0, (3, 1.2)), (0, (5, 1.5, 1.2, 1.5, 1.2, 1.5)), (0, (2, 3)),
)  # fmt: skip
"""For lines without markers. With eight of them, colour and dashes repeat together after 56."""
OPEN_ARROWS = {
    ">": ((-0.7, 1.0), (0.0, 0.0), (-0.7, -1.0)),
    "<": ((0.7, 1.0), (0.0, 0.0), (0.7, -1.0)),
    "^": ((-1.0, -0.7), (0.0, 0.0), (1.0, -0.7)),
    "v": ((-1.0, 0.7), (0.0, 0.0), (1.0, 0.7)),
}
"""Markers for the end of an interval that continues beyond the axis: two strokes that meet there,
unlike any symbol of a seed.
"""
GREY = "#8a8a8a"
INK = "#333333"


def colour(slot: int) -> str:
    return COLOURS[slot % len(COLOURS)]


def marker(slot: int) -> str:
    return MARKERS[slot % len(MARKERS)]


def dashes(slot: int) -> Dashes:
    return DASHES[slot % len(DASHES)]


def open_arrow(head: str, colour: str, size: float) -> dict[str, Any]:
    """Return arguments of matplotlib's plot for an open arrow; `head` is one of OPEN_ARROWS."""
    verts = [*OPEN_ARROWS[head]]
    return {
        "marker": verts, "ls": "", "mfc": "none", "mec": colour, "mew": 0.22 * size, "ms": size,
        "clip_on": False, "zorder": 5,
    }  # fmt: skip
