"""Quantities compared between groups, a number for each seed, on one footing for all of them.

The onset is that of the states visited; a study's (`study_metrics`) is that of the probe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.law.compare import scales
from harness.law.compare.groups import Member
from harness.law.compare.pairs import Side
from harness.law.compare.random_effects import Sample, sample, unweighted
from harness.law.estimate import null_control, regime
from harness.law.estimate.interval import Spread
from harness.law.io.clean import Points
from harness.law.io.columns import NO_SERIES, ColumnSeries
from harness.law.io.identity import share_of_run
from harness.law.results import Interval, Onset

QUANTITIES = ("a", "ceiling", "onset", "gain", "fall")
ALIKE = ("gain", "fall")
"""Runs of a group count alike in these. Each knows its own about as well, or, with its reward at a
bound, too well; and at the ends of a short run the errors are too rough to weigh by."""

Values = list[list[Interval | None]]
"""For each group, the value of each of its runs, None where there is none."""


@dataclass(frozen=True)
class Footing:
    """The reward column and the H that the numbers of all compared runs are taken on."""

    column: str | None
    """The reward column; None: that of each run's group."""
    probe: bool = False
    """H on the frozen prefixes instead of the states visited."""

    def column_of(self, member: Member) -> str:
        return self.column or member.column

    def points(self, member: Member) -> Points | None:
        return member.replicate.points_on(self.column_of(member), self.probe)

    def course(self, member: Member) -> ColumnSeries:
        """H at every step that has it."""
        if not self.probe:
            return member.replicate.course
        points = self.points(member)
        return NO_SERIES if points is None else ColumnSeries(points.steps, points.entropy)

    def spread(self, member: Member) -> Spread | None:
        """The law of the run on this footing, with its intervals."""
        law = member.replicate.law(self.column_of(member), self.probe)
        return law.spread if law is not None else None

    def onset(self, member: Member) -> Onset | None:
        """The onset of collapse; an explosion is none."""
        course = member.replicate.probe_course
        found = (course.onset if course else None) if self.probe else member.result.onset
        return found if found is not None and found.is_collapse else None


def slopes(
    groups: Sequence[Side], footing: Footing, range_of: Sequence[Side] | None = None
) -> Values | None:
    """a of each run over the range of H that all of them pass through; None if there is none.

    `range_of`: only these groups settle that range.
    """
    points = [[footing.points(m) for m in group.members] for group in groups]
    settling = [footing.points(m) for group in range_of or groups for m in group.members]
    known = [p for p in settling if p is not None]
    within = scales.shared_range(known) if known else None
    if within is None:
        return None
    return [
        [scales.slope_within(p, within) if p is not None else None for p in of_group]
        for of_group in points
    ]


def slopes_of_own_ranges(groups: Sequence[Side], footing: Footing) -> Values:
    """a of each run over all of its own H."""
    spreads = [[footing.spread(m) for m in group.members] for group in groups]
    return [[s.a if s is not None else None for s in of_group] for of_group in spreads]


def ceilings(groups: Sequence[Side], footing: Footing) -> Values:
    spreads = [[footing.spread(m) for m in group.members] for group in groups]
    return [[s.ceiling if s is not None else None for s in of_group] for of_group in spreads]


def gains(groups: Sequence[Side], footing: Footing) -> Values:
    points = [[footing.points(m) for m in group.members] for group in groups]
    return [[regime.gain(p) if p is not None else None for p in of_group] for of_group in points]


def falls(groups: Sequence[Side], footing: Footing) -> Values:
    courses = [[footing.course(m) for m in group.members] for group in groups]
    return [[null_control.fall(c.values) for c in of_group] for of_group in courses]


def net_of_null(quantity: str, groups: Sequence[Side], footing: Footing) -> Values:
    """That of each run minus that of the null control of its own seed; None without one.

    `quantity` is one of BEYOND_NULL.
    """
    beyond = BEYOND_NULL[quantity]
    return [[beyond(m, footing) for m in group.members] for group in groups]


def _gain_net_of_null(member: Member, footing: Footing) -> Interval | None:
    own, column = footing.points(member), footing.column_of(member)
    known = [null.points_on(column, footing.probe) for null in member.nulls]
    nulls = [points for points in known if points is not None]
    if own is None or not nulls:
        return None
    return null_control.gain_beyond(own, nulls, _shared_until(member))


def _fall_net_of_null(member: Member, footing: Footing) -> Interval | None:
    if not member.nulls:
        return None
    own, nulls = member.replicate.course, [null.course for null in member.nulls]
    return null_control.fall_beyond(own, nulls, _shared_until(member))


def _shared_until(member: Member) -> float:
    """The last step that a run and all of its null controls have done."""
    return min(r.last_step for r in (member.replicate, *member.nulls))


def samples(quantity: str, values: Values) -> list[Sample]:
    """A sample for each group, of the runs that have a value."""
    known = [[v for v in of_group if v is not None] for of_group in values]
    if quantity in ALIKE:
        return [unweighted([v.value for v in of_group]) for of_group in known]
    return [sample(of_group) for of_group in known]


def onsets(groups: Sequence[Side], footing: Footing) -> list[Sample] | None:
    """Each run's onset as a share of the run, within the first part that all of them reached.

    A run without an onset there counts with the whole of it: censored, not dropped. So the means
    are of the smaller of onset and horizon, which every run tells. One that diverged tells of the
    part it did, or where it had its onset by then, of all. None if no run has an onset.
    """
    shares = [[_share_of(m, footing.onset(m)) for m in g.onset_members] for g in groups]
    horizon = _horizon(groups, footing)
    if not any(s is not None and s < horizon for of_group in shares for s in of_group):
        return None
    return [
        unweighted([horizon if s is None else min(s, horizon) for s in of_group])
        for of_group in shares
    ]


def _horizon(groups: Sequence[Side], footing: Footing) -> float:
    whole = [reached(m) for group in groups for m in group.members]
    lost = [reached(m) for g in groups for m in g.diverged if footing.onset(m) is None]
    return min([*whole, *lost], default=1.0)


def onset_share(member: Member) -> float | None:
    """The onset of collapse on the states visited, as a share of the run."""
    return _share_of(member, Footing(None).onset(member))


def reached(member: Member) -> float:
    """The share of its planned steps that a run has done."""
    return share(member, member.replicate.last_step)


def _share_of(member: Member, found: Onset | None) -> float | None:
    return None if found is None else share(member, found.step)


def share(member: Member, step: float) -> float:
    """The place of a step in its run, as a share."""
    run = member.replicate
    return share_of_run(member.identity.config, run.first_step, run.last_step, step)


VALUES: Mapping[str, Callable[[Sequence[Side], Footing], Values | None]] = {
    "a": slopes,
    "ceiling": ceilings,
    "gain": gains,
    "fall": falls,
}
BEYOND_NULL: Mapping[str, Callable[[Member, Footing], Interval | None]] = {
    "gain": _gain_net_of_null,
    "fall": _fall_net_of_null,
}
"""Quantities of which a null control has a number of the same kind, to be taken off."""
