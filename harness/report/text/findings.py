"""Findings on a level, in one sentence: the titles of panels and the closing lines.

All functions take runs that could be read: status ok.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.law.group_results import Analysis, Pooled
from harness.law.results import Identified, Interval, RunResult, RunSeries
from harness.report.text import alternatives, naming, wording


def law_finding(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    """`ceiling 0.81 [0.78, 0.84], law holds`; `ceiling not identified, law undetermined`.

    Identified are numbers, what holds is the relation: R may follow exp(H) in so few or so noisy
    points that where it leads is open. Of several runs those that are left out of means are
    counted, and nothing is said of them.
    """
    finished, out = _in_means(analysis, runs)
    found = f"{_ceiling(analysis, finished)}, {wording.verdicts(finished)}{_same_batch(finished)}"
    return f"{found}{_noise(finished)}{_deaf(finished)}{_invalid_users(finished)}{out}"


def _in_means(analysis: Analysis, runs: Sequence[RunResult]) -> tuple[Sequence[RunResult], str]:
    """The runs a sentence is about; all, where none is finished."""
    finished = analysis.counted(runs)
    out = len(runs) - len(finished)
    if not finished:
        return runs, ", unfinished"
    return finished, f", {out} unfinished left out" if out else ""


def _same_batch(runs: Sequence[RunResult]) -> str:
    """` (same batch in 2)` of several runs: there the law is expected to fit."""
    count = sum(run.same_batch is True for run in runs)
    if count == 0:
        return ""
    return " (same batch" + (f" {wording.in_runs(count, len(runs))})" if len(runs) > 1 else ")")


def _noise(runs: Sequence[RunResult]) -> str:
    """`, noise driven in 2` of several runs, by their null controls."""
    driven = sum(run.noise_driven is True for run in runs)
    if driven == 0:
        return ""
    return ", noise driven" + (f" {wording.in_runs(driven, len(runs))}" if len(runs) > 1 else "")


def _deaf(runs: Sequence[RunResult]) -> str:
    """`, policy a template in 2` of several runs, `, policy deaf`."""
    words = {"template": "a template", "deaf": "deaf"}
    told = []
    for verdict, word in words.items():
        count = sum(run.policy_verdict == verdict for run in runs)
        where = f" {wording.in_runs(count, len(runs))}" if len(runs) > 1 else ""
        if count:
            told.append(f", policy {word}{where}")
    return "".join(told)


def _invalid_users(runs: Sequence[RunResult]) -> str:
    """`, users not valid in 2` of several runs."""
    count = sum(any(not one.valid for one in (run.validity or {}).values()) for run in runs)
    if count == 0:
        return ""
    return ", users not valid" + (f" {wording.in_runs(count, len(runs))}" if len(runs) > 1 else "")


def onset_finding(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    """`collapse from step 212 [205, 220]`; `no onset`; how many of several runs have one."""
    finished, out = _in_means(analysis, runs)
    return f"{_onsets(finished)}{out}{_diverged(analysis, runs)}"


def _diverged(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    """`, 2 diverged`."""
    lost = {run for group in analysis.groups for run in group.diverged}
    count = sum(run.run in lost for run in runs)
    return f", {count} diverged" if count else ""


def _onsets(runs: Sequence[RunResult]) -> str:
    if len(runs) == 1:
        return wording.onset(runs[0].onset)
    onsets = [run.onset for run in runs if run.onset is not None]
    if not onsets:
        return "no onset in any run"
    kinds = Counter(onset.kind for onset in onsets)
    parts = []
    for kind, count in kinds.most_common():
        at = sorted(onset.step for onset in onsets if onset.kind == kind)
        ends = dict.fromkeys((f"{at[0]:.0f}", f"{at[-1]:.0f}"))
        where = (" and " if count == 2 else " to ").join(ends)
        words = wording.ONSET_WORDS.get(kind, wording.plain(kind))
        parts.append(f"{words} {where} {wording.in_runs(count, len(runs))}")
    without = len(runs) - len(onsets)
    return ", ".join([*parts, f"no onset in {without}"] if without else parts)


def _ceiling(analysis: Analysis, runs: Sequence[RunResult]) -> str:
    laws = [law(run) for run in runs]
    ceilings = [law.ceiling for law in laws if law.ceiling is not None and law.ceiling_identified]
    if not ceilings:
        return "ceiling not identified" + (" in any run" if len(runs) > 1 else "")
    if len(runs) == 1:
        return f"ceiling {wording.interval(ceilings[0])}"
    of = "" if len(ceilings) == len(runs) else f" (identified in {len(ceilings)} of {len(runs)})"
    pooled = _pooled_ceiling(analysis, runs)
    if pooled is not None:
        return f"ceiling {wording.pooled(pooled)}{of}"
    values = sorted(ceiling.value for ceiling in ceilings)
    ends = dict.fromkeys((wording.number(values[0]), wording.number(values[-1])))
    return f"ceiling {' to '.join(ends)}{of}"


def _pooled_ceiling(analysis: Analysis, runs: Sequence[RunResult]) -> Pooled | None:
    """The ceiling over seeds, if these runs are one group and it is known with an interval."""
    wanted = {run.run for run in runs}
    for group in analysis.groups:
        if wanted <= set(group.runs) and group.ceiling.low is not None:
            return group.ceiling
    return None


@dataclass(frozen=True)
class Law:
    """R = -a exp(H) + b, as far as it is known. None where no number could be computed."""

    a: Interval | None
    b: Interval | None
    ceiling: Interval | None
    n_eff: float | None
    identified: Identified
    until: float | None
    """The step before which the law was judged; None where it was on the whole run."""

    @property
    def a_identified(self) -> bool:
        return self.identified.a

    @property
    def ceiling_identified(self) -> bool:
        return self.ceiling is not None and self.identified.ceiling


def law(run: RunResult) -> Law:
    """Return the law of a run with status ok: of the rows that its verdict speaks of."""
    identified = run.identified or Identified(a=False, ceiling=False)
    return Law(run.a, run.b, run.ceiling, run.n_eff, identified, run.until)


def part(series: RunSeries, fitted: Law) -> RunSeries:
    """The points that the law was judged on; the course of H stays whole."""
    if fitted.until is None:
        return series
    before = series.steps < fitted.until
    return replace(
        series,
        steps=series.steps[before],
        entropy=series.entropy[before],
        reward=series.reward[before],
    )


def closing(analysis: Analysis, fitted: Sequence[RunResult]) -> list[str]:
    """One sentence a level: ceiling, verdicts, onset, and whether a line in H does as well."""
    return [
        f"{level}: {'; '.join(_sentence(analysis, members))}."
        for level, members in naming.by_level(analysis, fitted).items()
    ]


def _sentence(analysis: Analysis, members: Sequence[RunResult]) -> list[str]:
    counted, _ = _in_means(analysis, members)
    findings = [law_finding(analysis, members), onset_finding(analysis, members)]
    return [finding for finding in [*findings, alternatives.against_linear(counted)] if finding]
