"""The numbers of figures of many runs: medians over the runs of a group, and their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.group_results import Analysis
from harness.law.results import Floats, Interval, RunResult
from harness.report.figures import medians, run_series
from harness.report.figures.medians import HIGH, LOW, MedianBand, NullControls
from harness.report.figures.run_series import STEPS, TimeAxis
from harness.report.text import findings, naming
from harness.report.text.findings import FittedLaw

FEWEST_IN_A_BIN, FEWEST_BINS = 10, 8
"""Mean number of points in a bin of H (medians of fewer points fluctuate), and the fewest bins."""
MOST_GROUPS = 7
"""If a panel has more groups, they are drawn as one, since colours would not suffice."""


@dataclass(frozen=True)
class GroupTrace:
    """The runs of a group."""

    legend: str
    slot: int
    runs: tuple[str, ...]
    course: MedianBand
    """H against the middle of each time bin (unit of the clock), even where R was not measured."""
    entropy: MedianBand
    """H in the bins of `reward`."""
    reward: MedianBand
    curve: MedianBand | None
    """The judged laws of the runs whose a is identified; None if there are none."""
    identified: int
    """The number of those runs."""
    residual_by_step: MedianBand | None
    """R minus each run's own law in time bins; None if no law was fitted."""
    residual_by_entropy: MedianBand | None
    """The same in bins of H."""
    ceiling: Interval | None
    """Median and quantiles over the runs whose ceiling is identified."""
    identified_ceilings: int
    until_onset: bool
    """True if the law of any run was judged only on the part before its onset."""
    onsets: tuple[float, ...]
    """The onsets of the runs that have one."""
    held_out: MedianBand | None = None
    """The reward on held-out users, if R is another column and both were logged."""


@dataclass(frozen=True)
class GroupPanel:
    """A level: its groups and the findings."""

    level: str
    law_finding: str
    onset_finding: str
    pools: tuple[GroupTrace, ...]
    null_controls: NullControls | None = None


def panels(
    analysis: Analysis, runs: Sequence[RunResult], clock: TimeAxis = STEPS
) -> tuple[GroupPanel, ...]:
    """Return a panel per level, with a pool for each group of runs that differ only in the seed.

    Runs excluded from means are omitted, and so is a level that has no other runs.
    """
    with_rows = [run for run in runs if run.run in analysis.series]
    group_panels: list[GroupPanel] = []
    slots: dict[str, int] = {}
    for level, members in naming.by_level(analysis, with_rows).items():
        finished = analysis.runs_in_means(members)
        if not finished:
            continue
        groups = _groups(analysis, finished)
        pools = [
            _pool(analysis, legend, slots.setdefault(legend, len(slots)), group, clock)
            for legend, group in groups.items()
        ]
        group_panels.append(
            GroupPanel(
                level,
                findings.law_finding(analysis, members),
                findings.onset_finding(analysis, members),
                tuple(pools),
            )
        )
    return tuple(group_panels)


def _groups(analysis: Analysis, members: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    """Return legend entry -> runs; one entry for all if the groups are too many or unknown."""
    group_of = {run: group for group in analysis.groups for run in group.runs}
    keys = [group_of[m.run].key if m.run in group_of else None for m in members]
    varying = sorted(
        axis for axis in {a for k in keys if k for a in k}
        if len({str((k or {}).get(axis)) for k in keys}) > 1
    )  # fmt: skip
    by_name: dict[str, list[RunResult]] = {}
    for member, key in zip(members, keys, strict=True):
        words = ", ".join(f"{axis}={(key or {}).get(axis)}" for axis in varying)
        by_name.setdefault(words or "all runs", []).append(member)
    return by_name if len(by_name) <= MOST_GROUPS else {"all runs": list(members)}


def _pool(
    analysis: Analysis, legend: str, slot: int, runs: Sequence[RunResult], clock: TimeAxis
) -> GroupTrace:
    series = [clock.series(analysis.series[run.run]) for run in runs]
    laws = [findings.law(run) for run in runs]
    edges = medians.bins([s.course_steps for s in series])
    steps = [s.steps for s in series]
    held_out = [s for s in series if len(s.held_out_steps)]
    ceilings = [law.ceiling.value for law in laws if law.ceiling and law.ceiling_identified]
    # a law whose ceiling is not identified says nothing of an H that no run had
    lowest = 0.0 if ceilings else min(float(s.entropy.min()) for s in series)
    highest = max(float(s.entropy.max()) for s in series)
    grid = np.linspace(lowest, highest, run_series.CURVE_POINTS)
    curves = _identified_curves(laws, grid)
    onsets = [clock.onset(run.run, run.onset) for run in runs]
    return GroupTrace(
        legend,
        slot,
        tuple(run.run for run in runs),
        medians.medians_over_runs(
            [s.course_steps for s in series], [s.course_entropy for s in series], edges
        ),
        medians.medians_over_runs(steps, [s.entropy for s in series], edges),
        medians.medians_over_runs(steps, [s.reward for s in series], edges),
        medians.median_band(grid, curves) if len(curves) else None,
        len(curves),
        *_residuals(analysis, runs, clock, edges),
        _spread(ceilings),
        len(ceilings),
        any(law.until is not None for law in laws),
        tuple(sorted(onset.step for onset in onsets if onset is not None)),
        medians.medians_over_runs(
            [s.held_out_steps for s in held_out], [s.held_out_reward for s in held_out], edges
        )
        if held_out
        else None,
    )


def _identified_curves(laws: Sequence[FittedLaw], entropy: Floats) -> Floats:
    """Return R on the grid `entropy` by each identified law. Shape (identified runs, points)."""
    x = np.exp(entropy)
    return np.array(
        [
            law.b.value - law.a.value * x
            for law in laws
            if law.a is not None and law.b is not None and law.a_identified
        ]
    )


def _residuals(
    analysis: Analysis, runs: Sequence[RunResult], clock: TimeAxis, edges: Floats
) -> tuple[MedianBand | None, MedianBand | None]:
    """Return residuals by step, in bins between `edges`, and by H, in bins of several points."""
    series = [analysis.series[run.run] for run in runs]
    run_residuals = [run_series.residuals(s, run) for s, run in zip(series, runs, strict=True)]
    fitted = [
        (clock.series(s), v) for s, v in zip(series, run_residuals, strict=True) if v is not None
    ]
    if not fitted:
        return None, None
    values = [values for _, values in fitted]
    entropy = [s.entropy for s, _ in fitted]
    points = sum(map(len, values)) // FEWEST_IN_A_BIN
    entropy_edges = medians.bins(entropy, min(max(points, FEWEST_BINS), medians.STEP_BINS))
    by_step = medians.medians_over_runs([s.steps for s, _ in fitted], values, edges)
    return by_step, medians.medians_over_runs(entropy, values, entropy_edges)


def _spread(values: Sequence[float]) -> Interval | None:
    if not values:
        return None
    low, median, high = (float(q) for q in np.quantile(values, [LOW, 0.5, HIGH]))
    return Interval(median, low, high)
