"""The links of a study: the difference of each pair of runs, and the mean with its 95% interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.compare import quantities
from harness.law.compare.link_tests import SIGNS
from harness.law.compare.links import LinkResult
from harness.law.compare.study_outcome import StudyOutcome
from harness.law.results import Interval
from harness.report.figures import canvas, seed_rows
from harness.report.figures.canvas import Drawing, label
from harness.report.figures.seed_rows import Dot
from harness.report.text import link_words

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

NAME = "links"
COLUMNS = (
    "link", "kind", "quantity", "seed", "value", "plain", "of_arm", "of_against", "low", "high",
    "verdict", "unit", "probe", "level", "other", "other_low", "other_high",
)  # fmt: skip
HEIGHT = 1.1
"""Inches of a panel."""
STATED = "#e3eef5"
"""Colour of the side of 0 that the link states."""
OTHER_AT, MEAN_AT, SEEDS_AT = 0.42, 0.3, 0.15
"""Heights in the panel; seeds are drawn above this row."""
OTHER = "the same effect in the other study"
AIR = 0.15
TICKS = 5
"""The most intervals between ticks: labels of three decimals would touch."""


def draw(outcome: StudyOutcome) -> Drawing:
    """Draw a panel per link, then one per check, each on the scale of its own quantity."""
    pairs = kinds_of(outcome)
    shown, kinds = [judged for judged, _ in pairs], [kind for _, kind in pairs]
    titles = [title(judged, kind) for judged, kind in pairs]
    heading = f"{label(outcome.study)}: {outcome.verdict}"
    grid = canvas.grid(heading, titles, 1, HEIGHT)
    slots = {seed: slot for slot, seed in enumerate(_seeds(shown))}
    others = effects_of_other_study(outcome)
    for judged, (axes,) in zip(shown, grid.panels, strict=True):
        _panel(axes, judged, slots, others.get(judged.link.name))
        grid.label_x(axes, _what(judged))
    canvas.legend(grid.figure, _entries(slots, others=bool(others)))
    return Drawing(NAME, grid.figure, COLUMNS, tuple(_rows(shown, kinds, others)))


def kinds_of(outcome: StudyOutcome) -> list[tuple[LinkResult, str]]:
    """Return what is drawn, in order: links that decide, other links, checks."""
    deciding = outcome.stated.deciding
    links = [(j, "link" if j.link.name in deciding else "beside") for j in outcome.links]
    return [*links, *((judged, "check") for judged in outcome.checks)]


def effects_of_other_study(outcome: StudyOutcome) -> dict[str, Interval]:
    """Return link or check -> its effect in the other study that this one is compared with."""
    effects = outcome.comparison.effects if outcome.comparison else ()
    return {effect.name: effect.other for effect in effects if effect.other is not None}


def _seeds(shown: list[LinkResult]) -> list[int]:
    return sorted({seed for judged in shown for seed in judged.by_seed})


def title(judged: LinkResult, kind: str) -> str:
    """Return `check: NAME: supported`."""
    prefix = "" if kind == "link" else f"{kind}: "
    return f"{prefix}{label(judged.link.name, 80)}: {judged.verdict}"


def _panel(axes: Axes, judged: LinkResult, slots: dict[int, int], other: Interval | None) -> None:
    link, many = judged.link, len(slots) > len(canvas.COLOURS)
    low, high = limits(judged, other)
    axes.axvspan(
        *((0.0, high) if SIGNS[link.direction] > 0 else (low, 0.0)), color=STATED, zorder=0
    )
    axes.axvline(0.0, color=canvas.GREY, lw=1.0, zorder=1)
    axes.axvline(SIGNS[link.direction] * link.margin, color=canvas.GREY, lw=1.0, ls=":", zorder=1)
    axes.set(xlim=(low, high), ylim=(0.5, -0.3))
    shown = [0 if many else slots[seed] for seed in judged.by_seed]
    seed_rows.dots(
        axes,
        SEEDS_AT,
        [
            Dot(value, canvas.colour(slot), canvas.marker(slot))
            for slot, value in zip(shown, judged.by_seed.values(), strict=True)
        ],
    )
    if judged.judged is not None:
        mean = judged.judged
        axes.plot([mean.low, mean.high], [MEAN_AT] * 2, "-", color=canvas.INK, zorder=3)
        axes.plot([mean.value], [MEAN_AT], "D", color=canvas.INK, ms=5, zorder=4)
    elif not judged.by_seed:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")
    if other is not None:
        axes.plot([other.low, other.high], [OTHER_AT] * 2, "-", color=canvas.GREY, zorder=3)
        axes.plot([other.value], [OTHER_AT], "D", color=canvas.GREY, mfc="white", ms=5, zorder=4)
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=TICKS)


def _what(judged: LinkResult) -> str:
    link = judged.link
    net = ", net of null" if link.net_of_null else ""
    return f"{label(link_words.compared_arms(link), 80)}\n{link_words.measured_quantity(link)}{net}"


def limits(judged: LinkResult, other: Interval | None) -> canvas.Limits:
    """Return limits around 0, the margin on the stated side, every pair and both intervals."""
    values = [0.0, SIGNS[judged.link.direction] * judged.link.margin, *judged.by_seed.values()]
    for interval in (judged.judged, other):
        values += [] if interval is None else [interval.low, interval.high]
    return canvas.limits([np.array(values)], AIR)


def _entries(slots: dict[int, int], *, others: bool) -> canvas.Legend:
    many = len(slots) > len(canvas.COLOURS)
    entries: canvas.Legend = {
        "one seed" if many else f"seed {seed}": canvas.line(
            color=canvas.colour(0 if many else slot),
            marker=canvas.marker(0 if many else slot), ls="", ms=5,
        )
        for seed, slot in slots.items()
    }  # fmt: skip
    mean = canvas.line(color=canvas.INK, marker="D", ms=5)
    margin = canvas.line(color=canvas.GREY, ls=":")
    stated = canvas.patch(color=STATED)
    entries |= {"mean, 95% t interval": mean}
    if others:
        entries[OTHER] = canvas.line(color=canvas.GREY, marker="D", mfc="white", ms=5)
    entries |= {"margin": margin}
    return entries | {"what the link states": stated}


def _rows(
    shown: list[LinkResult], kinds: list[str], others: dict[str, Interval]
) -> Iterator[dict[str, Any]]:
    for judged, kind in zip(shown, kinds, strict=True):
        link, probe = judged.link, judged.link.probe
        same = {
            "link": link.name, "kind": kind, "quantity": link.quantity,
            "unit": quantities.unit_of(link),
            **({"probe": probe.name, "level": probe.level} if probe else {}),
        }  # fmt: skip
        for seed, value in judged.by_seed.items():
            yield {**same, "seed": seed, "value": value, **_parts(judged, seed)}
        mean, other = judged.judged, others.get(link.name)
        yield {
            **same, "verdict": judged.verdict,
            **({"value": mean.value, "low": mean.low, "high": mean.high} if mean else {}),
            **({"other": other.value, "other_low": other.low, "other_high": other.high}
               if other else {}),
        }  # fmt: skip


def _parts(judged: LinkResult, seed: int) -> dict[str, float]:
    """Return the difference before subtraction of null controls, and the number of each arm."""
    link = judged.link
    columns = {"of_arm": link.arm, "of_against": link.against or ""}
    of_arms = {
        column: judged.own_by_seed[arm][seed]
        for column, arm in columns.items()
        if seed in judged.own_by_seed.get(arm, {})
    }
    plain = judged.by_seed if judged.plain_by_seed is None else judged.plain_by_seed
    return {"plain": plain[seed], **of_arms} if seed in plain else of_arms
