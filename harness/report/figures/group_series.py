"""The numbers a figure of many runs draws: medians over the runs of a group, and their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.group_results import Analysis
from harness.law.results import Floats, Interval, RunResult
from harness.report.figures import run_series
from harness.report.figures.run_series import STEPS, Clock
from harness.report.text import findings, naming
from harness.report.text.findings import Law

STEP_BINS = 60
LOW, HIGH = 0.1, 0.9
"""Quantiles over runs that the bands show."""
MOST_GROUPS = 7
"""Groups of one panel that colours tell apart; more are drawn as one."""


@dataclass(frozen=True)
class Middle:
    """Median and band over runs, at steps (or values of H) that any run has."""

    at: Floats
    median: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Pool:
    """The runs of a group together."""

    legend: str
    slot: int
    runs: tuple[str, ...]
    course: Middle
    """H against the middle of each time bin (by the clock), also where R was not measured."""
    entropy: Middle
    """H in the bins of `reward`."""
    reward: Middle
    curve: Middle | None
    """The laws that were judged, of the runs whose a is identified; None if there are none."""
    identified: int
    """The number of those runs."""
    residual_by_step: Middle | None
    """R minus each run's own law in time bins; None where no law was fitted."""
    residual_by_entropy: Middle | None
    """The same in bins of H."""
    ceiling: Interval | None
    """Median and quantiles over the runs whose ceiling is identified."""
    identified_ceilings: int
    until_onset: bool
    """Whether the law of some run was judged on its part before the onset alone."""
    onsets: tuple[float, ...]
    """When, of the runs that have one."""


@dataclass(frozen=True)
class PoolPanel:
    """One level: its groups and what was found there."""

    level: str
    law_finding: str
    onset_finding: str
    pools: tuple[Pool, ...]


def panels(
    analysis: Analysis, runs: Sequence[RunResult], clock: Clock = STEPS
) -> tuple[PoolPanel, ...]:
    """One panel a level, one pool for each group of runs alike in all but the seed.

    Runs left out of means are in none; of a level without others nothing is drawn.
    """
    drawn = [run for run in runs if run.run in analysis.series]
    filled: list[PoolPanel] = []
    slots: dict[str, int] = {}
    for level, members in naming.by_level(analysis, drawn).items():
        finished = [run for run in members if run.run not in analysis.left_out]
        if not finished:
            continue
        groups = _groups(analysis, finished)
        pools = [
            _pool(analysis, legend, slots.setdefault(legend, len(slots)), group, clock)
            for legend, group in groups.items()
        ]
        filled.append(
            PoolPanel(
                level,
                findings.law_finding(analysis, members),
                findings.onset_finding(analysis, members),
                tuple(pools),
            )
        )
    return tuple(filled)


def _groups(analysis: Analysis, members: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    """Legend entry -> runs; one entry for all if the groups are too many or unknown."""
    group_of = {run: group for group in analysis.groups for run in group.runs}
    keys = [group_of[m.run].key if m.run in group_of else None for m in members]
    telling = sorted(
        axis for axis in {a for k in keys if k for a in k}
        if len({str((k or {}).get(axis)) for k in keys}) > 1
    )  # fmt: skip
    by_name: dict[str, list[RunResult]] = {}
    for member, key in zip(members, keys, strict=True):
        words = ", ".join(f"{axis}={(key or {}).get(axis)}" for axis in telling)
        by_name.setdefault(words or "all runs", []).append(member)
    return by_name if len(by_name) <= MOST_GROUPS else {"all runs": list(members)}


def _pool(
    analysis: Analysis, legend: str, slot: int, runs: Sequence[RunResult], clock: Clock
) -> Pool:
    series = [clock.series(analysis.series[run.run]) for run in runs]
    laws = [findings.law(run) for run in runs]
    edges = np.linspace(
        min(s.course_steps.min() for s in series),
        max(s.course_steps.max() for s in series),
        STEP_BINS + 1,
    )
    course = np.array([_on_grid(s.course_steps, s.course_entropy, edges) for s in series])
    entropy = np.array([_on_grid(s.steps, s.entropy, edges) for s in series])
    reward = np.array([_on_grid(s.steps, s.reward, edges) for s in series])
    middles = _middles(edges)
    grid = np.linspace(0.0, max(float(s.entropy.max()) for s in series), run_series.CURVE_POINTS)
    curves = _identified_curves(laws, grid)
    ceilings = [law.ceiling.value for law in laws if law.ceiling and law.ceiling_identified]
    onsets = [clock.onset(run.run, run.onset) for run in runs]
    return Pool(
        legend,
        slot,
        tuple(run.run for run in runs),
        _middle(middles, course),
        _middle(middles, entropy),
        _middle(middles, reward),
        _middle(grid, curves) if len(curves) else None,
        len(curves),
        *_residuals(analysis, runs, clock, edges),
        _spread(ceilings),
        len(ceilings),
        any(law.until is not None for law in laws),
        tuple(sorted(onset.step for onset in onsets if onset is not None)),
    )


def _identified_curves(laws: Sequence[Law], entropy: Floats) -> Floats:
    """R on the grid `entropy` by each run's own law. Shape (identified runs, points)."""
    x = np.exp(entropy)
    return np.array(
        [
            law.b.value - law.a.value * x
            for law in laws
            if law.a is not None and law.b is not None and law.a_identified
        ]
    )


def _residuals(
    analysis: Analysis, runs: Sequence[RunResult], clock: Clock, edges: Floats
) -> tuple[Middle | None, Middle | None]:
    """By step in bins between `edges`, and by H in as many."""
    series = [analysis.series[run.run] for run in runs]
    left = [run_series.residuals(one, run) for one, run in zip(series, runs, strict=True)]
    fitted = [(clock.series(s), v) for s, v in zip(series, left, strict=True) if v is not None]
    if not fitted:
        return None, None
    by_step = np.array([_on_grid(s.steps, values, edges) for s, values in fitted])
    ends = min(s.entropy.min() for s, _ in fitted), max(s.entropy.max() for s, _ in fitted)
    levels = np.linspace(*ends, STEP_BINS + 1)
    by_entropy = np.array([_on_grid(s.entropy, values, levels) for s, values in fitted])
    return _middle(_middles(edges), by_step), _middle(_middles(levels), by_entropy)


def _middles(edges: Floats) -> Floats:
    middles: Floats = (edges[1:] + edges[:-1]) / 2
    return middles


def _spread(values: Sequence[float]) -> Interval | None:
    if not values:
        return None
    low, median, high = (float(q) for q in np.quantile(values, [LOW, 0.5, HIGH]))
    return Interval(median, low, high)


def _on_grid(steps: Floats, values: Floats, edges: Floats) -> Floats:
    """Mean of a run's values in each time bin, NaN in a bin it has no row in. Shape (bins,)."""
    bins = len(edges) - 1
    label = np.searchsorted(edges[1:-1], steps, side="right")
    counts = np.bincount(label, minlength=bins)
    sums = np.bincount(label, values, minlength=bins)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _middle(at: Floats, values: Floats) -> Middle:
    """Over axis 0, leaving NaN out, where any run has a value. `values`: (runs, len(at))."""
    seen = np.isfinite(values).any(axis=0)
    median, low, high = np.nanquantile(values[:, seen], [0.5, LOW, HIGH], axis=0)
    return Middle(at[seen], median, low, high)
