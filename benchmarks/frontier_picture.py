"""The remedy frontier's figure: reward against the entropy that is left, a panel a level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import frontier_rates
from benchmarks.frontier_front import ABOVE, BELOW, Judged

COLOURS = {ABOVE: "#0072b2", BELOW: "#d55e00"}
"""Of cells that are shown to lie above or below the rates; the others are grey."""


def draw(path: Path, judged: Sequence[Judged], levels: Sequence[str]) -> None:
    """Write the figure: plain grpo's rates as a black line, each cell a point; a cell that differs
    from the rates at equal entropy has a colour, and its method's name at the furthest.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    width = 7.5 * len(levels)
    figure, panels = pyplot.subplots(1, len(levels), figsize=(width, 5.5), squeeze=False)
    for panel, level in zip(panels[0], levels, strict=True):
        here = [one for one in judged if one.cell.level == level]
        _curve(panel, here)
        for one in here:
            if not one.cell.is_rate:
                _point(panel, one)
        _names(panel, _furthest(here))
        panel.set_title(f"{level}: {_told_apart(here)}")
        panel.set_xlabel("entropy H that is left on the probe, nats")
        panel.set_ylabel(f"reward of held-out {level} users")
        panel.legend(loc="upper right", frameon=False)  # good in both: seldom a cell there
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _told_apart(judged: Sequence[Judged]) -> str:
    words = [one.beside_rates for one in judged if one.beside_rates]
    above, below = words.count(ABOVE), words.count(BELOW)
    return f"{above} of {len(words)} cells above the rates, {below} below"


def _curve(panel: Any, judged: Sequence[Judged]) -> None:
    rates = frontier_rates.curve([one.cell for one in judged if one.cell.is_rate])
    x, y = ([rate.mean(quantity) for rate in rates] for quantity in ("entropy", "reward"))
    panel.plot(x, y, "s-", color="black", markersize=4, label="plain GRPO, by learning rate")
    for word, colour in COLOURS.items():
        panel.plot([], [], "o", color=colour, label=f"{word} at equal entropy")
    panel.plot([], [], "o", color="0.6", label="not told from the rates")


def _point(panel: Any, one: Judged) -> None:
    entropy, reward = one.cell.mean("entropy"), one.cell.mean("reward")
    if entropy is None or reward is None:
        return
    known = COLOURS.get(one.beside_rates)
    size, order = (5, 3) if known else (3.5, 2)
    panel.plot(entropy, reward, "o", color=known or "0.6", markersize=size, zorder=order)


def _names(panel: Any, named: Sequence[Judged]) -> None:
    """The methods' names, on the left of a point where there is no room on its right."""
    places = [(one.cell.mean("entropy") or 0.0, one.cell.mean("reward") or 0.0) for one in named]
    (low, high), (bottom, top) = panel.get_xlim(), panel.get_ylim()
    for one, (x, y) in zip(named, places, strict=True):
        beside = any(
            0 < other - x < 0.2 * (high - low) and abs(level - y) < 0.03 * (top - bottom)
            for other, level in places
        )
        goes_left = beside or x > high - 0.08 * (high - low)
        panel.annotate(
            one.cell.method, (x, y), fontsize=8, color=COLOURS[one.beside_rates],
            xytext=(-5 if goes_left else 5, 3), textcoords="offset points",
            ha="right" if goes_left else "left",
        )  # fmt: skip


def _furthest(judged: Sequence[Judged]) -> list[Judged]:
    """Of each method and side the cell that is furthest from the rates."""
    found: dict[tuple[str, str], Judged] = {}
    for one in judged:
        if one.beside_rates in COLOURS and one.at_equal_entropy is not None:
            key = (one.cell.method, one.beside_rates)
            other = found.get(key)
            if (
                other is None
                or other.at_equal_entropy is None
                or (abs(one.at_equal_entropy.value) > abs(other.at_equal_entropy.value))
            ):
                found[key] = one
    return list(found.values())
