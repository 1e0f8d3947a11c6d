"""How an appraised reply moves the emotion: the formulas, without text and without draws.

The logit form (momentum, cubic runaway, offsets by intention and temperament) reproduces the public
statistics of LLM-played users: the rise rate by decade of emotion, the lag-1 correlation of
changes, and the order of intentions and temperaments (RLVER, arXiv 2507.03112; SAGE, 2505.02847).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.config.run import DifficultyConfig

BASE = -0.05
FIT_WEIGHT = 2.2
MOMENTUM = 1.75
RUNAWAY = 0.069
NEUTRAL_EMOTION = 45
NOISE = 0.01
"""Share of changes that are a coin toss."""
LAST, PREVIOUS, EARLIER = 3.4, 1.0, 0.5
"""Fatigue: lost for a strategy used in the last reply, the one before, or earlier in the talk."""
INTENTION_OFFSET = {
    "praise": 0.91, "not_at_fault": 0.21, "venting": 0.22, "deep_empathy": -0.21,
    "advice": 0.06, "dialectic": 0.41, "growth": -0.37, "motives": -1.23,
}  # fmt: skip
TEMPERAMENT_OFFSET = {"negative": -0.51, "passive": 0.22, "avoidant": 0.29}
GOAL_LINE = 0.5
"""A fit below this does not serve what the user came for."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What decides whether a reply helps."""

    goal_weight: float
    """0: kindness alone; 1: only what the user came for."""
    gate: float
    """Lost, as fit, by a reply that does not serve the intention."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """How much shows of what the user needs."""

    expression: float
    """Chance that what could be told is told, and that a feeling shows as it is."""
    lines: str
    """free: says what is needed; hint: lets it be guessed; oblique: only of which kind it is."""


ACCEPTANCES = {
    "any_kindness": Acceptance(0.3, 0.0),
    "reasonable": Acceptance(0.65, 0.4),
    "goal_fit": Acceptance(0.9, 1.7),
}
DISCLOSURES = {
    "free": Disclosure(0.955, "free"),
    "hint": Disclosure(0.81, "hint"),
    "never": Disclosure(0.645, "oblique"),
}


def worth(fit: float, kindness: float, rule: Acceptance) -> float:
    """What a reply is worth to a user: its fit to the goal against kindness, less the gate."""
    gate = rule.gate if fit < GOAL_LINE else 0.0
    return rule.goal_weight * fit + (1 - rule.goal_weight) * kindness - gate


def logit(value: float, extra: float, offset: float, emotion: int, momentum: int) -> float:
    """Log-odds that the emotion rises.

    `value` from `worth`; `offset` of the user, less the threshold; `extra` is added as it is.
    """
    runaway = RUNAWAY * ((emotion - NEUTRAL_EMOTION) / 10) ** 3
    return BASE + offset + FIT_WEIGHT * value + extra + runaway + MOMENTUM * momentum


def rise_probability(x: float) -> float:
    """P(rise) at log-odds `x`."""
    p = 1 / (1 + math.exp(-x)) if x > -700 else 0.0
    return (1 - NOISE) * p + NOISE / 2


def large_probability(rises: bool, value: float, emotion: int) -> float:
    """Chance that a change is of the larger of the two sizes."""
    if rises and emotion >= 75:
        return 0.1
    return min(1.0, 0.3 + 0.3 * max(value if rises else -value, 0.0))


def change_size(large: bool, difficulty: DifficultyConfig) -> int:
    """Size of a change in points: one or two steps, within the clamp."""
    return min(difficulty.clamp, difficulty.step_size * (2 if large else 1))
