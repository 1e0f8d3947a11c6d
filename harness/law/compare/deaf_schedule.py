"""Test whether the arms of a study end above the best deaf schedule of strategies.

A policy below it learnt nothing about its users, so results on such policies may not hold for
policies that listen. Each arm is tested at the level it is judged on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.config.run import LEVELS
from harness.law.compare.groups import Member
from harness.law.compare.random_effects import FEWEST_SEEDS, NORMAL_95, Estimate
from harness.law.io.columns import EVALUATION
from harness.law.result_parts import AnchorRewards, Yardsticks
from harness.law.results import BoundedEstimate
from harness.records.metrics import LEAST_WORTH
from harness.records.outcomes import OWN
from harness.records.study_file import Link

NO_ANCHORS = "no anchors: neither cards.json nor the start event has the best deaf schedule"
LITTLE_TO_HEAR = (
    f"listening is worth less than {LEAST_WORTH:g} at this level, too little to compare"
)
NOT_EVALUATED = "not evaluated at this level, or judged on a reward that is not of an evaluation"
ONE_SEED = "no interval, since only one seed has a number"


@dataclass(frozen=True)
class DeafComparison:
    """The end of an arm minus the best deaf schedule of the level it is judged on."""

    arm: str
    level: str
    """`own`, or a named level."""
    difference: BoundedEstimate | None
    """The difference, with a 95% interval from two seeds on. The error includes the seeds, the
    shared held-out users (if `between_sd` was measured) and the error of the schedule's reward."""
    seeds: int
    why: str | None
    """The reason why there is no difference, or no interval."""

    @property
    def is_above(self) -> bool | None:
        """Whether the arm significantly ends above the schedule; None without an interval."""
        if self.difference is None or self.difference.low is None:
            return None
        return self.difference.low > 0

    @property
    def may_be_above(self) -> bool:
        """Whether the arm is not shown to end above but might with more seeds: its interval reaches
        LEAST_WORTH.
        """
        gap = self.difference
        return self.is_above is False and gap is not None and (gap.high or 0.0) >= LEAST_WORTH


def compare_arms(
    links: Sequence[Link], runs: Mapping[str, Mapping[int, Member]]
) -> tuple[DeafComparison, ...]:
    """Compare each arm of `links` at each level it is judged on. `runs`: arm -> seed -> run."""
    arm_levels = dict.fromkeys(
        (arm, _level(link.evaluation)) for link in links for arm in link.named_arms
    )
    return tuple(_compare_arm(arm, level, list(runs[arm].values())) for arm, level in arm_levels)


def is_about_deaf_policies(arms: Sequence[DeafComparison]) -> bool | None:
    """Return whether no arm is shown to end above.

    None if none is shown to, but some arm has no interval.
    """
    if any(arm.is_above for arm in arms):
        return False
    return None if not arms or any(arm.is_above is None for arm in arms) else True


def _level(evaluation: str) -> str:
    if evaluation == EVALUATION:
        return OWN
    levels = (level for level in LEVELS if evaluation == f"eval/{level}/reward")
    return next(levels, evaluation)


def _compare_arm(arm: str, level: str, members: Sequence[Member]) -> DeafComparison:
    measured = [(member.result.yardsticks or {}).get(level) for member in members]
    ends = [end for end in measured if end is not None and end.reward is not None]
    if not ends:
        return DeafComparison(arm, level, None, 0, NOT_EVALUATED)
    if any(_optimum_minus_deaf(end.anchors) < LEAST_WORTH for end in ends):
        return DeafComparison(arm, level, None, 0, LITTLE_TO_HEAR)
    differences = list(_differences(ends))
    if not differences:
        return DeafComparison(arm, level, None, 0, NO_ANCHORS)
    mean, seeds = float(np.mean(differences)), len(differences)
    if seeds < FEWEST_SEEDS:
        return DeafComparison(arm, level, BoundedEstimate(mean, None, None), seeds, ONE_SEED)
    estimate = _estimate(differences, _shared_error(ends))
    if estimate.error == 0:
        return DeafComparison(arm, level, BoundedEstimate(mean, mean, mean), seeds, None)
    interval = estimate.interval()
    return DeafComparison(
        arm, level, BoundedEstimate(mean, interval.low, interval.high), seeds, None
    )


def _optimum_minus_deaf(anchors: AnchorRewards) -> float:
    """Return the optimum minus the deaf schedule; infinity if either is not known."""
    if anchors.deaf is None or anchors.optimum is None:
        return math.inf
    return anchors.optimum.value - anchors.deaf.value


def _differences(ends: Sequence[Yardsticks]) -> Iterator[float]:
    """Yield reward minus deaf schedule of each run. A run without a schedule uses that of another
    run of the arm at the same level.
    """
    shared = next((end.anchors.deaf for end in ends if end.anchors.deaf is not None), None)
    for end in ends:
        deaf = end.anchors.deaf or shared
        if deaf is not None and end.reward is not None:
            yield end.reward - deaf.value


def _shared_error(ends: Sequence[Yardsticks]) -> float:
    """Return the error that more seeds do not reduce: of the schedule's reward and of the users."""
    anchor = max(_error(end.anchors) for end in ends)
    users = [end.user_se for end in ends if end.user_se is not None]
    return math.hypot(anchor, float(np.mean(users)) if users else 0.0)


def _error(anchors: AnchorRewards) -> float:
    deaf = anchors.deaf
    if deaf is None or deaf.low is None or deaf.high is None:
        return 0.0
    return (deaf.high - deaf.low) / 2 / NORMAL_95


def _estimate(differences: Sequence[float], shared: float) -> Estimate:
    """Return the mean difference. Degrees of freedom: Satterthwaite 1946, shared error known."""
    seeds = len(differences)
    seed_error = float(np.std(differences, ddof=1)) / seeds**0.5
    total = math.hypot(seed_error, shared)
    df = (seeds - 1) * (total / seed_error) ** 4 if seed_error > 0 else math.inf
    return Estimate(float(np.mean(differences)), total, min(df, 1e6))
