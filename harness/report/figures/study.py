"""The links of a study: the difference of each pair of runs, and the mean with its 95% interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.compare import quantities
from harness.law.compare.link_result import LinkResult
from harness.law.compare.link_tests import SIGNS
from harness.law.compare.study_outcome import StudyOutcome
from harness.law.results import Interval
from harness.report.figures import canvas, seed_rows
from harness.report.figures.canvas import Drawing, label
from harness.report.figures.seed_rows import Dot
from harness.report.text import link_words, study_notes

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
    results, kinds = [result for result, _ in pairs], [kind for _, kind in pairs]
    titles = [title(result, kind) for result, kind in pairs]
    heading = f"{label(outcome.study)}: {outcome.verdict}{study_notes.small_note(outcome)}"
    grid = canvas.grid(heading, titles, 1, HEIGHT)
    slots = {seed: slot for slot, seed in enumerate(_seeds(results))}
    others = effects_of_other_study(outcome)
    for result, (axes,) in zip(results, grid.panels, strict=True):
        _panel(axes, result, slots, others.get(result.link.name))
        grid.label_x(axes, _axis_label(result))
    canvas.legend(grid.figure, _entries(slots, others=bool(others)))
    return Drawing(NAME, grid.figure, COLUMNS, tuple(_rows(results, kinds, others)))


def kinds_of(outcome: StudyOutcome) -> list[tuple[LinkResult, str]]:
    """Return what is drawn, in order: links that decide, other links, checks."""
    deciding = outcome.stated.deciding
    links = [
        (result, "link" if result.link.name in deciding else "beside") for result in outcome.links
    ]
    return [*links, *((result, "check") for result in outcome.checks)]


def effects_of_other_study(outcome: StudyOutcome) -> dict[str, Interval]:
    """Return link or check -> its effect in the other study that this one is compared with."""
    effects = outcome.comparison.effects if outcome.comparison else ()
    return {effect.name: effect.other for effect in effects if effect.other is not None}


def _seeds(results: list[LinkResult]) -> list[int]:
    return sorted({seed for result in results for seed in result.by_seed})


def title(result: LinkResult, kind: str) -> str:
    """Return `check: NAME: supported`."""
    prefix = "" if kind == "link" else f"{kind}: "
    return f"{prefix}{label(result.link.name, 80)}: {result.verdict}"


def _panel(axes: Axes, result: LinkResult, slots: dict[int, int], other: Interval | None) -> None:
    link, is_one_colour = result.link, len(slots) > len(canvas.COLOURS)
    low, high = limits(result, other)
    axes.axvspan(
        *((0.0, high) if SIGNS[link.direction] > 0 else (low, 0.0)), color=STATED, zorder=0
    )
    axes.axvline(0.0, color=canvas.GREY, lw=1.0, zorder=1)
    axes.axvline(SIGNS[link.direction] * link.margin, color=canvas.GREY, lw=1.0, ls=":", zorder=1)
    axes.set(xlim=(low, high), ylim=(0.5, -0.3))
    seed_slots = [0 if is_one_colour else slots[seed] for seed in result.by_seed]
    seed_rows.dots(
        axes,
        SEEDS_AT,
        [
            Dot(value, canvas.colour(slot), canvas.marker(slot))
            for slot, value in zip(seed_slots, result.by_seed.values(), strict=True)
        ],
    )
    if result.judged is not None:
        mean = result.judged
        axes.plot([mean.low, mean.high], [MEAN_AT] * 2, "-", color=canvas.INK, zorder=3)
        axes.plot([mean.value], [MEAN_AT], "D", color=canvas.INK, ms=5, zorder=4)
    elif not result.by_seed:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")
    if other is not None:
        axes.plot([other.low, other.high], [OTHER_AT] * 2, "-", color=canvas.GREY, zorder=3)
        axes.plot([other.value], [OTHER_AT], "D", color=canvas.GREY, mfc="white", ms=5, zorder=4)
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=TICKS)


def _axis_label(result: LinkResult) -> str:
    link = result.link
    net = ", net of null" if link.net_of_null else ""
    return f"{label(link_words.compared_arms(link), 80)}\n{link_words.measured_quantity(link)}{net}"


def limits(result: LinkResult, other: Interval | None) -> canvas.Limits:
    """Return limits around 0, the margin on the stated side, every pair and both intervals."""
    values = [0.0, SIGNS[result.link.direction] * result.link.margin, *result.by_seed.values()]
    for interval in (result.judged, other):
        values += [] if interval is None else [interval.low, interval.high]
    return canvas.limits([np.array(values)], AIR)


def _entries(slots: dict[int, int], *, others: bool) -> canvas.Legend:
    is_one_colour = len(slots) > len(canvas.COLOURS)
    entries: canvas.Legend = {
        "one seed" if is_one_colour else f"seed {seed}": canvas.line(
            color=canvas.colour(0 if is_one_colour else slot),
            marker=canvas.marker(0 if is_one_colour else slot), ls="", ms=5,
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
    results: list[LinkResult], kinds: list[str], others: dict[str, Interval]
) -> Iterator[dict[str, Any]]:
    for result, kind in zip(results, kinds, strict=True):
        link, probe = result.link, result.link.probe
        common = {
            "link": link.name, "kind": kind, "quantity": link.quantity,
            "unit": quantities.unit_of(link),
            **({"probe": probe.name, "level": probe.level} if probe else {}),
        }  # fmt: skip
        for seed, value in result.by_seed.items():
            yield {**common, "seed": seed, "value": value, **_arm_values(result, seed)}
        mean, other = result.judged, others.get(link.name)
        yield {
            **common, "verdict": result.verdict,
            **({"value": mean.value, "low": mean.low, "high": mean.high} if mean else {}),
            **({"other": other.value, "other_low": other.low, "other_high": other.high}
               if other else {}),
        }  # fmt: skip


def _arm_values(result: LinkResult, seed: int) -> dict[str, float]:
    """Return the difference before subtraction of null controls, and the number of each arm."""
    link = result.link
    columns = {"of_arm": link.arm, "of_against": link.against or ""}
    arm_values = {
        column: result.own_by_seed[arm][seed]
        for column, arm in columns.items()
        if seed in result.own_by_seed.get(arm, {})
    }
    before_nulls = result.by_seed if result.plain_by_seed is None else result.plain_by_seed
    return {"plain": before_nulls[seed], **arm_values} if seed in before_nulls else arm_values
