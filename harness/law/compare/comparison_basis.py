"""Define the common basis on which numbers of compared runs are measured, chosen by the caller.

A contrast uses the reward column that all its runs share (`scales.column_for`), a study the column
named by its link. H is that of the visited states or that of the probe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.law.compare import scales
from harness.law.compare.groups import Member
from harness.law.compare.pairs import ComparedGroup
from harness.law.compare.scales import Range
from harness.law.estimate.interval import LawIntervals
from harness.law.io.clean import Points
from harness.law.io.columns import NO_SERIES, ColumnSeries
from harness.law.io.identity import share_of_run
from harness.law.results import Onset


@dataclass(frozen=True)
class ComparisonBasis:
    """The reward column, the H and the part of the runs that numbers are measured on."""

    column: str | None
    """The reward column; None for that of each run's group."""
    probe: bool = False
    """H on the frozen prefixes instead of the states visited."""
    horizon: float = 1.0
    """Share of the planned steps that all compared runs have done. Later onsets are ignored."""
    within: Range | None = None
    """The range of H over which a is fitted; None for the whole range of the run."""
    until: float | None = None
    """The last step used; None for the last step of the run."""

    def column_of(self, member: Member) -> str:
        return self.column or member.column

    def points(self, member: Member) -> Points | None:
        points = member.replicate.points_on(self.column_of(member), self.probe)
        if points is None or self.until is None:
            return points
        return points.where(points.steps <= self.until)

    def entropy_series(self, member: Member) -> ColumnSeries:
        """Return H at every step with a value."""
        if self.probe:
            points = self.points(member)
            return NO_SERIES if points is None else ColumnSeries(points.steps, points.entropy)
        return self.cut(member.replicate.course)

    def cut(self, series: ColumnSeries) -> ColumnSeries:
        """Return the series up to `until`."""
        if self.until is None:
            return series
        inside = series.steps <= self.until
        return ColumnSeries(series.steps[inside], series.values[inside])

    def law_points(self, member: Member) -> Points | None:
        """Return the points of the part in which the law was judged; None if it fails."""
        points = member.replicate.law_points(self.column_of(member), self.probe)
        if points is None or self.until is None:
            return points
        return points.where(points.steps <= self.until)

    def law_fails(self, member: Member) -> bool:
        """Return whether the law fails on the column of this basis."""
        return member.replicate.span(self.column_of(member)).fails

    def law_intervals(self, member: Member) -> LawIntervals | None:
        """Return the law of a run on this basis with its intervals, fitted to the part in which
        it was judged; None if it fails.
        """
        law = member.replicate.law(self.column_of(member), self.probe)
        return law.spread if law is not None else None

    def onset(self, member: Member) -> Onset | None:
        """Return the onset of collapse; None if there is none or it is an explosion."""
        course = member.replicate.probe_course
        onset = (course.onset if course else None) if self.probe else member.result.onset
        return onset if onset is not None and onset.is_collapse else None

    def share_at(self, member: Member, step: float | None) -> float:
        """Return the position of a step as a share of the planned steps, at most the horizon.

        It is the horizon if `step` is None.
        """
        return self.horizon if step is None else min(share(member, step), self.horizon)


def share(member: Member, step: float) -> float:
    """Return the position of a step as a share of the planned steps of its run."""
    run = member.replicate
    return share_of_run(member.identity.config, run.first_step, run.last_step, step)


def share_done(member: Member) -> float:
    """Return the share of its planned steps that a run has done."""
    return share(member, member.replicate.last_step)


def onset_share(member: Member) -> float | None:
    """Return the onset of collapse on the visited states as a share of the run, None if none."""
    onset = ComparisonBasis(None).onset(member)
    return None if onset is None else share(member, onset.step)


def horizon(members: Iterable[Member]) -> float:
    """Return the share of the planned steps that all runs have done."""
    return min(map(share_done, members), default=1.0)


def restrict_to_horizon(
    sides: Sequence[ComparedGroup], basis: ComparisonBasis
) -> ComparisonBasis | None:
    """Restrict the basis to the part that all runs reached; None if no run has an onset there.

    A run without an onset in that part is censored and counts with the horizon. So the means are
    those of min(onset, horizon), which is known for every run. A diverged run limits the horizon to
    the part it did, unless it had its onset before.
    """
    finished = [member for side in sides for member in side.members]
    diverged = [member for side in sides for member in side.diverged if basis.onset(member) is None]
    shared = replace(basis, horizon=horizon([*finished, *diverged]))
    onsets = [(member, basis.onset(member)) for side in sides for member in side.onset_members]
    shares = [shared.share_at(member, onset.step) for member, onset in onsets if onset is not None]
    return shared if min(shares, default=shared.horizon) < shared.horizon else None


def restrict_to_shared_range(
    sides: Sequence[ComparedGroup],
    basis: ComparisonBasis,
    range_of: Sequence[ComparedGroup] | None = None,
) -> ComparisonBasis | None:
    """Restrict the basis of a to the range of H that all runs pass through.

    Only the part of each run in which its law was judged counts. Runs whose law fails do not narrow
    the range. None if there is no common range. `range_of`: only these groups determine the range.
    """
    points = [basis.law_points(member) for side in range_of or sides for member in side.members]
    with_points = [
        run_points for run_points in points if run_points is not None and len(run_points)
    ]
    within = scales.shared_range(with_points) if with_points else None
    return None if within is None else replace(basis, within=within)
