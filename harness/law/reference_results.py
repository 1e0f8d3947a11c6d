"""The end of a run beside what reference policies reach there."""

from __future__ import annotations

from dataclasses import dataclass

from harness.law.intervals import Bounded

POLICY_VERDICTS = ("listens", "template", "deaf")


@dataclass(frozen=True, slots=True)
class LevelEnds:
    """Mean reward at a named level, at the first evaluation and at the last."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Anchors:
    """What reference policies reach at a level, from its difficulty card; None where the card
    does not say. Rewards 0-1, listening in nats.
    """

    deaf: Bounded | None = None
    """The best fixed schedule of strategies, which hears nothing."""
    attentive: Bounded | None = None
    attentive_listening: float | None = None
    optimum: Bounded | None = None
    random: Bounded | None = None


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """The end of a run at one level, mean of the last tenth of its evaluations, beside what
    reference policies reach there. None where it was not measured.
    """

    reward: float | None
    listening: float | None
    """Mutual information of strategy and hidden intention given the reply number, nats."""
    deaf_reward: float | None
    """Reward where the policy hears the words of another user."""
    share: float | None
    """(reward - best deaf schedule) / (optimum - best deaf schedule)"""
    user_se: float | None
    """Standard error of the reward that the choice of held-out users causes: the same in all runs
    that meet them."""
    anchors: Anchors
