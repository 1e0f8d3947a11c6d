"""The law that a run's verdict is about: of the whole run, or of its part before the onset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.law.results import Interval, RunResult, RunSeries


@dataclass(frozen=True)
class Law:
    """R = -a exp(H) + b, as far as it is known. None where no number could be computed."""

    a: Interval | None
    b: Interval | None
    ceiling: Interval | None
    n_eff: float | None
    identified: Mapping[str, bool]
    """Keys a and ceiling; which of the numbers are known well enough to be quoted."""
    until: float | None
    """The step before which the law was judged; None where it was on the whole run."""

    @property
    def a_identified(self) -> bool:
        return bool(self.identified.get("a"))

    @property
    def ceiling_identified(self) -> bool:
        return self.ceiling is not None and bool(self.identified.get("ceiling"))


def law(run: RunResult) -> Law:
    """Of a run with status ok; where the law holds until the onset, that of the rows before."""
    before = run.until_onset if run.onset is not None else None
    if not before or run.onset is None:
        return Law(run.a, run.b, run.ceiling, run.n_eff, run.identified or {}, None)
    a, b, ceiling = (_interval(before[name]) for name in ("a", "b", "ceiling"))
    return Law(a, b, ceiling, before["n_eff"], before["identified"], run.onset.step)


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


def _interval(given: Mapping[str, Any] | None) -> Interval | None:
    return Interval(**given) if given else None
