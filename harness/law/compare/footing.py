"""The footing that numbers of compared runs are taken on, chosen by whoever compares them.

A contrast takes the reward column that all its runs share (`scales.column_for`), a study the one
its link names. H is that of the states visited or that of the probe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.law.compare import scales
from harness.law.compare.groups import Member
from harness.law.compare.pairs import Side
from harness.law.compare.scales import Range
from harness.law.estimate.interval import Spread
from harness.law.io.clean import Points
from harness.law.io.columns import NO_SERIES, ColumnSeries
from harness.law.io.identity import share_of_run
from harness.law.results import Onset


@dataclass(frozen=True)
class Footing:
    """The reward column, the H and the part of the runs that numbers are taken on."""

    column: str | None
    """The reward column; None: that of each run's group."""
    probe: bool = False
    """H on the frozen prefixes instead of the states visited."""
    horizon: float = 1.0
    """Share of the planned steps that all compared runs have done: later onsets do not count."""
    within: Range | None = None
    """The range of H that a is fitted over; None: all of the run's own."""
    until: float | None = None
    """The last step that counts; None: that of the run."""

    def column_of(self, member: Member) -> str:
        return self.column or member.column

    def points(self, member: Member) -> Points | None:
        points = member.replicate.points_on(self.column_of(member), self.probe)
        if points is None or self.until is None:
            return points
        return points.where(points.steps <= self.until)

    def course(self, member: Member) -> ColumnSeries:
        """H at every step that has it."""
        if self.probe:
            points = self.points(member)
            return NO_SERIES if points is None else ColumnSeries(points.steps, points.entropy)
        return self.cut(member.replicate.course)

    def cut(self, series: ColumnSeries) -> ColumnSeries:
        """The series up to the last step that counts."""
        if self.until is None:
            return series
        inside = series.steps <= self.until
        return ColumnSeries(series.steps[inside], series.values[inside])

    def law_points(self, member: Member) -> Points | None:
        """The points of the part in which the law was judged; None where it fails."""
        points = member.replicate.law_points(self.column_of(member), self.probe)
        if points is None or self.until is None:
            return points
        return points.where(points.steps <= self.until)

    def law_fails(self, member: Member) -> bool:
        """Whether the run follows no law on the column of this footing."""
        return member.replicate.span(self.column_of(member)).fails

    def spread(self, member: Member) -> Spread | None:
        """The law of a run on this footing, in the part where it was judged, with its intervals;
        None where it fails.
        """
        law = member.replicate.law(self.column_of(member), self.probe)
        return law.spread if law is not None else None

    def onset(self, member: Member) -> Onset | None:
        """The onset of collapse; an explosion is none."""
        course = member.replicate.probe_course
        onset = (course.onset if course else None) if self.probe else member.result.onset
        return onset if onset is not None and onset.is_collapse else None

    def share_at(self, member: Member, step: float | None) -> float:
        """The place of a step in its run, as a share; the horizon where it comes later or never."""
        return self.horizon if step is None else min(share(member, step), self.horizon)


def share(member: Member, step: float) -> float:
    """The place of a step in its run, as a share of the planned steps."""
    run = member.replicate
    return share_of_run(member.identity.config, run.first_step, run.last_step, step)


def reached(member: Member) -> float:
    """The share of its planned steps that a run has done."""
    return share(member, member.replicate.last_step)


def onset_share(member: Member) -> float | None:
    """The onset of collapse on the states visited, as a share of the run; None without one."""
    onset = Footing(None).onset(member)
    return None if onset is None else share(member, onset.step)


def horizon(members: Iterable[Member]) -> float:
    """The share of their planned steps that all of the runs have done."""
    return min(map(reached, members), default=1.0)


def up_to_horizon(sides: Sequence[Side], footing: Footing) -> Footing | None:
    """The footing of an onset, within the first part that all runs reached; None if none has one.

    A run without an onset there counts with the whole of that part: censored, not dropped. So the
    means are of the smaller of onset and horizon, which every run tells. One that diverged tells of
    the part it did, or where it had its onset by then, of all.
    """
    finished = [member for side in sides for member in side.members]
    diverged = [m for side in sides for m in side.diverged if footing.onset(m) is None]
    shared = replace(footing, horizon=horizon([*finished, *diverged]))
    onsets = [(m, footing.onset(m)) for side in sides for m in side.onset_members]
    shares = [shared.share_at(m, onset.step) for m, onset in onsets if onset is not None]
    return shared if min(shares, default=shared.horizon) < shared.horizon else None


def over_shared_range(
    sides: Sequence[Side], footing: Footing, range_of: Sequence[Side] | None = None
) -> Footing | None:
    """The footing of a, over the range of H that all runs pass through where their law was
    judged; None if there is none. Runs whose law fails do not narrow it.

    `range_of`: only these groups settle that range.
    """
    points = [footing.law_points(m) for side in range_of or sides for m in side.members]
    settling = [p for p in points if p is not None and len(p)]
    within = scales.shared_range(settling) if settling else None
    return None if within is None else replace(footing, within=within)
