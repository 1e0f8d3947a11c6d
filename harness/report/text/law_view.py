"""The law that a run's verdict is about: of the whole run, or of its part before the onset."""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.law.results import Identified, Interval, RunResult, RunSeries


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
    """Of a run with status ok; where the law holds until the onset, that of the rows before."""
    before = run.until_onset if run.onset is not None else None
    if before is None or run.onset is None:
        known = run.identified or Identified(a=False, ceiling=False)
        return Law(run.a, run.b, run.ceiling, run.n_eff, known, None)
    numbers = (before.a, before.b, before.ceiling, before.n_eff, before.identified)
    return Law(*numbers, run.onset.step)


def part(series: RunSeries, given: Law) -> RunSeries:
    """The points that the law was judged on; the course of H stays whole."""
    if given.until is None:
        return series
    before = series.steps < given.until
    return replace(
        series,
        steps=series.steps[before],
        entropy=series.entropy[before],
        reward=series.reward[before],
    )
