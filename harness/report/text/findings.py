"""Findings on a level in one sentence, for titles of panels and closing lines.

All functions take runs with status ok.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.law.group_results import Analysis, SeedMean
from harness.law.results import Identifiability, Interval, RunResult, RunSeries
from harness.report.text import alternatives, naming, wording

TOO_SHORT = "too short for an onset"
"""Said of runs with too few rows to look for one."""


def law_finding(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    """Return `ceiling 0.81 [0.78, 0.84], law holds` or `ceiling not identified, law undetermined`.

    The ceiling can be unidentified although the law holds: R may follow exp(H) in points too few or
    too noisy to extrapolate from. Runs that are excluded from means are counted, not described.
    """
    finished, note = _runs_in_means(analysis, runs)
    sentence = (
        f"{_ceiling(analysis, finished)}, {wording.verdicts(finished)}{_same_batch(finished)}"
    )
    return f"{sentence}{_noise(finished)}{_deaf(finished)}{_invalid_users(finished)}{note}"


def _runs_in_means(
    analysis: Analysis, runs: Sequence[RunResult]
) -> tuple[Sequence[RunResult], str]:
    """Return the finished runs, or all if none is finished, and a note on the unfinished ones."""
    finished = analysis.runs_in_means(runs)
    unfinished = len(runs) - len(finished)
    if not finished:
        return runs, ", unfinished"
    return finished, f", {unfinished} unfinished left out" if unfinished else ""


def _same_batch(runs: Sequence[RunResult]) -> str:
    """Return ` (same batch in 2)` for several runs, in which the law is expected to fit."""
    count = sum(run.same_batch is True for run in runs)
    if count == 0:
        return ""
    return " (same batch" + (f" {wording.in_runs(count, len(runs))})" if len(runs) > 1 else ")")


def _noise(runs: Sequence[RunResult]) -> str:
    """Return `, noise driven in 2` for several runs, as their null controls show."""
    driven = sum(run.noise_driven is True for run in runs)
    if driven == 0:
        return ""
    return ", noise driven" + (f" {wording.in_runs(driven, len(runs))}" if len(runs) > 1 else "")


def _deaf(runs: Sequence[RunResult]) -> str:
    """Return `, policy a template in 2` for several runs, or `, policy deaf` for one."""
    words = {"template": "a template", "deaf": "deaf"}
    parts = []
    for verdict, word in words.items():
        count = sum(run.policy_verdict == verdict for run in runs)
        runs_text = f" {wording.in_runs(count, len(runs))}" if len(runs) > 1 else ""
        if count:
            parts.append(f", policy {word}{runs_text}")
    return "".join(parts)


def _invalid_users(runs: Sequence[RunResult]) -> str:
    """Return `, users not valid in 2` for several runs."""
    count = sum(
        any(not level_validity.valid for level_validity in (run.validity or {}).values())
        for run in runs
    )
    if count == 0:
        return ""
    return ", users not valid" + (f" {wording.in_runs(count, len(runs))}" if len(runs) > 1 else "")


def onset_finding(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    """Return `collapse from step 212 [205, 220]`, `no onset` or `too short for an onset`; for
    several runs, their counts.
    """
    finished, note = _runs_in_means(analysis, runs)
    return f"{_onsets(finished)}{note}{_diverged(analysis, runs)}"


def _diverged(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    """Return `, 2 diverged`."""
    diverged = {run for group in analysis.groups for run in group.diverged}
    count = sum(run.run in diverged for run in runs)
    return f", {count} diverged" if count else ""


def _onsets(runs: Sequence[RunResult]) -> str:
    too_short = sum(run.onset is None and run.regime is None for run in runs)
    if len(runs) == 1:
        return TOO_SHORT if too_short else wording.onset_words(runs[0].onset)
    onsets = [run.onset for run in runs if run.onset is not None]
    if not onsets and not too_short:
        return "no onset in any run"
    kinds = Counter(onset.kind for onset in onsets)
    parts = []
    for kind, count in kinds.most_common():
        steps = sorted(onset.step for onset in onsets if onset.kind == kind)
        ends = dict.fromkeys((f"{steps[0]:.0f}", f"{steps[-1]:.0f}"))
        range_text = (" and " if count == 2 else " to ").join(ends)
        words = wording.ONSET_WORDS.get(kind, wording.without_underscores(kind))
        parts.append(f"{words} {range_text} {wording.in_runs(count, len(runs))}")
    no_onset = len(runs) - len(onsets) - too_short
    parts += [f"no onset in {no_onset}"] if no_onset else []
    parts += [f"{TOO_SHORT} {wording.in_runs(too_short, len(runs))}"] if too_short else []
    return ", ".join(parts)


def _ceiling(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    laws = [law(run) for run in runs]
    ceilings = [law.ceiling for law in laws if law.ceiling is not None and law.ceiling_identified]
    if not ceilings:
        return "ceiling not identified" + (" in any run" if len(runs) > 1 else "")
    if len(runs) == 1:
        return f"ceiling {wording.interval(ceilings[0])}"
    identified_text = (
        "" if len(ceilings) == len(runs) else f" (identified in {len(ceilings)} of {len(runs)})"
    )
    pooled = _pooled_ceiling(analysis, runs)
    if pooled is not None:
        return f"ceiling {wording.pooled(pooled)}{identified_text}"
    values = sorted(ceiling.value for ceiling in ceilings)
    ends = dict.fromkeys((wording.number(values[0]), wording.number(values[-1])))
    return f"ceiling {' to '.join(ends)}{identified_text}"


def _pooled_ceiling(analysis: Analysis, runs: Sequence[RunResult]) -> SeedMean | None:
    """Return the ceiling over seeds; None if these runs are not one group or it has no interval."""
    names = {run.run for run in runs}
    for group in analysis.groups:
        if names <= set(group.runs) and group.ceiling.low is not None:
            return group.ceiling
    return None


@dataclass(frozen=True)
class FittedLaw:
    """The law R = -a exp(H) + b of a run. A number that could not be computed is None."""

    a: Interval | None
    b: Interval | None
    ceiling: Interval | None
    n_eff: float | None
    identified: Identifiability
    until: float | None
    """The step before which the law was judged; None if the whole run was."""

    @property
    def a_identified(self) -> bool:
        return self.identified.a

    @property
    def ceiling_identified(self) -> bool:
        return self.ceiling is not None and self.identified.ceiling


def law(run: RunResult) -> FittedLaw:
    """Return the law of a run with status ok, fitted to the rows that its verdict refers to."""
    identified = run.identified or Identifiability(a=False, ceiling=False)
    return FittedLaw(run.a, run.b, run.ceiling, run.n_eff, identified, run.until)


def judged_part(series: RunSeries, fitted: FittedLaw) -> RunSeries:
    """Return the series with only the points that the law was judged on, and the full course."""
    if fitted.until is None:
        return series
    judged = series.steps < fitted.until
    return replace(
        series,
        steps=series.steps[judged],
        entropy=series.entropy[judged],
        reward=series.reward[judged],
    )


def closing(analysis: Analysis, fitted: Sequence[RunResult]) -> list[str]:
    """Return a sentence per level: ceiling, verdicts, onset, comparison with a line in H."""
    return [
        f"{level}: {'; '.join(_sentence(analysis, members))}."
        for level, members in naming.by_level(analysis, fitted).items()
    ]


def _sentence(analysis: Analysis, members: Sequence[RunResult]) -> list[str]:
    counted, _ = _runs_in_means(analysis, members)
    findings = [law_finding(analysis, members), onset_finding(analysis, members)]
    return [finding for finding in [*findings, alternatives.against_linear(counted)] if finding]
