"""The result of a study's link: its verdict, the differences, and what the verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.law.compare.link_tests import VerdictPValues
from harness.law.compare.looks import Pairs
from harness.law.compare.worst_case import LostPair
from harness.law.results import Interval
from harness.records.study_file import Link

SUPPORTED, CONTRADICTED, NO_EFFECT, UNDECIDED = VERDICTS = (
    "supported", "contradicted", "no effect", "undecided",
)  # fmt: skip


@dataclass(frozen=True)
class LinkResult:
    """A link with its verdict; numbers are None if there are too few pairs."""

    link: Link
    verdict: str
    why: str | None
    by_seed: Mapping[int, float]
    """Seed -> the judged difference."""
    plain_by_seed: Mapping[int, float] | None
    """Seed -> the difference before subtracting null controls; None if that is not asked for."""
    own: Mapping[str, Interval | None]
    """Arm -> its mean, without subtracting null controls; None if its spread is not known."""
    own_by_seed: Mapping[str, Mapping[int, float]]
    censored: int | None
    lost: Mapping[int, LostPair]
    """Pairs without a number because one of their runs diverged."""
    judged: Interval | None = None
    plain: Interval | None = None
    p: VerdictPValues | None = None
    """p of each verdict, adjusted for looks and other links."""
    minimum_detectable: float | None = None
    seeds_needed: int | None = None
    seen: Pairs = frozenset()
    """The pairs recorded for later looks; empty if the link was not tested."""
    looks: tuple[int, ...] = ()
    """The number of known pairs at each look so far, including this one."""
    spent: float | None = None
    """Error spent on each verdict up to this look, before any correction for other links."""
    if_lost_at_worst: str | None = None
    """The verdict with diverged pairs at their least favourable values; None if none diverged."""
    at_worst: Interval | None = None
    """The difference in that case; None if it is unbounded."""
    unanswered: Mapping[str, str] = field(default_factory=dict)
    """Run without a number from its probe -> the reason."""
    of_arms: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """For a crossed table: arm -> seed -> the number of its run, for seeds complete in all arms."""

    @property
    def pairs(self) -> int:
        return len(self.by_seed)
