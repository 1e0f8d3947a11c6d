"""Whether the arms of a study end above the best schedule that hears nothing.

A policy below it was taught nothing about its users: what a study finds of such policies may not
hold for ones that listen. Each arm stands at the level that it is judged on.
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
from harness.law.result_parts import Anchors, Yardsticks
from harness.law.results import Bounded
from harness.records.metrics import LEAST_WORTH
from harness.records.outcomes import OWN
from harness.records.study_file import Link

NO_ANCHORS = "no anchors: neither a card in cards.json nor the start event tells the deaf schedule"
LITTLE_TO_HEAR = f"listening is worth less than {LEAST_WORTH:g} there, so no policy stands out"
NOT_EVALUATED = "not evaluated there, or judged on a reward that is no evaluation"
ONE_SEED = "a seed is the replicate, and only one has a number"


@dataclass(frozen=True)
class AboveDeaf:
    """The end of an arm minus the best deaf schedule of the level it is judged on."""

    arm: str
    level: str
    """`own`, or a named level."""
    difference: Bounded | None
    """With a 95% interval from two seeds on; its error is of the seeds, of the held-out users that
    all runs share where `between_sd` was measured, and of the schedule's own reward."""
    seeds: int
    why: str | None
    """Why there is no difference, or no interval."""

    @property
    def above(self) -> bool | None:
        """Whether it is shown to end above; None where there is no interval."""
        if self.difference is None or self.difference.low is None:
            return None
        return self.difference.low > 0

    @property
    def may_be_above(self) -> bool:
        """Whether it is not shown to end above, and its interval reaches LEAST_WORTH: with more
        seeds it might be.
        """
        gap = self.difference
        return self.above is False and gap is not None and (gap.high or 0.0) >= LEAST_WORTH


def of_arms(
    links: Sequence[Link], runs: Mapping[str, Mapping[int, Member]]
) -> tuple[AboveDeaf, ...]:
    """One for each arm of `links` and each level they judge it on; `runs`: arm -> seed -> run."""
    places = dict.fromkeys(
        (arm, _level(link.evaluation)) for link in links for arm in link.named_arms
    )
    return tuple(_of_arm(arm, level, list(runs[arm].values())) for arm, level in places)


def about_deaf_policies(arms: Sequence[AboveDeaf]) -> bool | None:
    """Whether no arm is shown to end above; None where none is, and of some it is not known."""
    if any(arm.above for arm in arms):
        return False
    return None if not arms or any(arm.above is None for arm in arms) else True


def _level(evaluation: str) -> str:
    if evaluation == EVALUATION:
        return OWN
    named = (level for level in LEVELS if evaluation == f"eval/{level}/reward")
    return next(named, evaluation)


def _of_arm(arm: str, level: str, members: Sequence[Member]) -> AboveDeaf:
    measured = [(m.result.yardsticks or {}).get(level) for m in members]
    ends = [end for end in measured if end is not None and end.reward is not None]
    if not ends:
        return AboveDeaf(arm, level, None, 0, NOT_EVALUATED)
    if any(_worth(end.anchors) < LEAST_WORTH for end in ends):
        return AboveDeaf(arm, level, None, 0, LITTLE_TO_HEAR)
    differences = list(_differences(ends))
    if not differences:
        return AboveDeaf(arm, level, None, 0, NO_ANCHORS)
    mean, seeds = float(np.mean(differences)), len(differences)
    if seeds < FEWEST_SEEDS:
        return AboveDeaf(arm, level, Bounded(mean, None, None), seeds, ONE_SEED)
    estimate = _estimate(differences, _shared_error(ends))
    if estimate.error == 0:
        return AboveDeaf(arm, level, Bounded(mean, mean, mean), seeds, None)
    interval = estimate.interval()
    return AboveDeaf(arm, level, Bounded(mean, interval.low, interval.high), seeds, None)


def _worth(anchors: Anchors) -> float:
    """What the optimum earns more than the deaf schedule; infinity where one is not known."""
    if anchors.deaf is None or anchors.optimum is None:
        return math.inf
    return anchors.optimum.value - anchors.deaf.value


def _differences(ends: Sequence[Yardsticks]) -> Iterator[float]:
    """Of the runs whose deaf schedule is known, or that of a run at the same level of the arm."""
    shared = next((end.anchors.deaf for end in ends if end.anchors.deaf is not None), None)
    for end in ends:
        deaf = end.anchors.deaf or shared
        if deaf is not None and end.reward is not None:
            yield end.reward - deaf.value


def _shared_error(ends: Sequence[Yardsticks]) -> float:
    """The error that more seeds do not lessen: of the schedule's reward, of the choice of users."""
    anchor = max(_error(end.anchors) for end in ends)
    users = [end.user_se for end in ends if end.user_se is not None]
    return math.hypot(anchor, float(np.mean(users)) if users else 0.0)


def _error(anchors: Anchors) -> float:
    deaf = anchors.deaf
    if deaf is None or deaf.low is None or deaf.high is None:
        return 0.0
    return (deaf.high - deaf.low) / 2 / NORMAL_95


def _estimate(differences: Sequence[float], shared: float) -> Estimate:
    """Degrees of freedom: Satterthwaite 1946, the shared error as known."""
    seeds = len(differences)
    of_seeds = float(np.std(differences, ddof=1)) / seeds**0.5
    total = math.hypot(of_seeds, shared)
    free = (seeds - 1) * (total / of_seeds) ** 4 if of_seeds > 0 else math.inf
    return Estimate(float(np.mean(differences)), total, min(free, 1e6))
