"""Time in the figures: steps, or each run's share of its own where steps would flatten the runs.

One log that counts its steps from a million on, or is a thousand times as long, leaves every
other run a line at the edge of an axis that all share.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from harness.law.results import Floats, Onset, RunSeries

STEP, SHARE = "step", "share"
FLATTENED = 0.1
"""Share of the axis below which the typical run cannot be read."""


@dataclass(frozen=True)
class Clock:
    """What figures have as time."""

    unit: str = STEP
    """STEP or SHARE"""
    spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Run -> first and last step; needed for shares."""

    def series(self, given: RunSeries) -> RunSeries:
        """The points by this clock."""
        if self.unit == STEP:
            return given
        steps, course = (self._at(given.run, s) for s in (given.steps, given.course_steps))
        return replace(given, steps=steps, course_steps=course)

    def onset(self, run: str, given: Onset | None) -> Onset | None:
        """The onset by this clock."""
        if given is None or self.unit == STEP:
            return given
        first, last = self.spans[run]
        whole = (last - first) or 1.0
        step, low, high = ((s - first) / whole for s in (given.step, given.low, given.high))
        return replace(given, step=step, low=low, high=high)

    def _at(self, run: str, steps: Floats) -> Floats:
        first, last = self.spans[run]
        shares: Floats = (steps - first) / ((last - first) or 1.0)
        return shares


STEPS = Clock()


def of(runs: Iterable[RunSeries]) -> Clock:
    """Steps, unless half of the runs would each take up less than FLATTENED of the axis."""
    spans = {r.run: (float(r.course_steps.min()), float(r.course_steps.max())) for r in runs}
    lengths = [last - first for first, last in spans.values() if last > first]
    if not lengths:
        return STEPS
    axis = max(last for _, last in spans.values()) - min(first for first, _ in spans.values())
    return Clock(SHARE, spans) if statistics.median_low(lengths) < FLATTENED * axis else STEPS
