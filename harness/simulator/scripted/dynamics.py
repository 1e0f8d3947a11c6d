"""Formulas for how an appraised reply moves emotion and trust; no text, no random draws.

The logit form (momentum, cubic runaway, offsets by intention and temperament) reproduces the public
statistics of LLM-played users: the rise rate by decade of emotion, the lag-1 correlation of
changes, and the order of intentions and temperaments (RLVER, arXiv 2507.03112; SAGE, 2505.02847).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.config.run import INTENTIONS, STRATEGIES, DifficultyConfig
from harness.simulator.scripted import paths

BASE = 0.08
FIT_WEIGHT = 2.2
MOMENTUM = 1.75
RUNAWAY = 0.069
NEUTRAL_EMOTION = 45
NOISE = 0.01
"""Share of changes whose direction is a coin toss."""
LARGE_CHANCE, LARGE_CHANCE_PER_WORTH = 0.3, 0.3
"""Chance that a change has the larger size at a worth of 0, and its increase per unit of worth in
the direction of the change."""
HIGH_EMOTION, LARGE_CHANCE_AT_HIGH = 75, 0.1
"""Emotion from which a rise is rarely large, and the chance that it is."""
LAST, PREVIOUS, EARLIER = 3.4, 1.0, 0.5
"""Fatigue in logits for a strategy used in the last reply, the reply before it, or earlier."""
INTENTION_OFFSET = {
    "praise": 0.91, "not_at_fault": 0.21, "venting": 0.22, "deep_empathy": -0.21,
    "advice": 0.06, "dialectic": 0.41, "growth": -0.37, "motives": -1.23,
}  # fmt: skip
TEMPERAMENT_OFFSET = {"negative": -0.51, "passive": 0.22, "avoidant": 0.29}
GOAL_LINE = 0.5
"""A reply whose fit is below this does not serve the user's intention."""


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, which caches do faster
class AcceptanceRule:
    """Weights that decide whether a reply helps; difficulty.acceptance names one."""

    goal_weight: float
    """Weight of the fit against kindness: 0 counts kindness alone, 1 the fit alone."""
    gate: float
    """Penalty on the worth of a reply that does not serve the intention."""


@dataclass(frozen=True, slots=True, eq=False)
class DisclosureRule:
    """How openly a user shows their need; difficulty.disclosure names one."""

    expression: float
    """Chance that the user tells what they could tell, and shows a feeling as it is."""
    lines: str
    """free: the user names the need; hint: they hint at it; oblique: they show only its kind."""


ACCEPTANCES = {
    "any_kindness": AcceptanceRule(0.3, 0.0),
    "reasonable": AcceptanceRule(0.65, 0.4),
    "goal_fit": AcceptanceRule(0.9, 1.64),
}
DISCLOSURES = {
    "free": DisclosureRule(0.955, "free"),
    "hint": DisclosureRule(0.81, "hint"),
    "never": DisclosureRule(0.645, "oblique"),
}


def worth(fit: float, kindness: float, rule: AcceptanceRule) -> float:
    """Return the worth of a reply: the weighted mean of fit and kindness, minus the gate."""
    gate = rule.gate if fit < GOAL_LINE else 0.0
    return rule.goal_weight * fit + (1 - rule.goal_weight) * kindness - gate


def logit(value: float, extra: float, offset: float, emotion: int, momentum: int) -> float:
    """Return the log-odds that the emotion rises.

    `value` comes from `worth`, `offset` is the user's offset minus the threshold, and `extra` is
    added unscaled.
    """
    return BASE + offset + FIT_WEIGHT * value + extra + runaway(emotion) + MOMENTUM * momentum


def runaway(emotion: int) -> float:
    """Return the log-odds from the emotion: a high emotion favours a rise, a low one a fall."""
    return RUNAWAY * ((emotion - NEUTRAL_EMOTION) / 10) ** 3


def rise_probability(x: float) -> float:
    """Return P(rise) at log-odds `x`."""
    p = 1 / (1 + math.exp(-x)) if x > -700 else 0.0
    return (1 - NOISE) * p + NOISE / 2


def large_probability(rises: bool, value: float, emotion: int) -> float:
    """Return the chance that a change has the larger of the two sizes."""
    if rises and emotion >= HIGH_EMOTION:
        return LARGE_CHANCE_AT_HIGH
    strength = max(value if rises else -value, 0.0)
    return min(1.0, LARGE_CHANCE + LARGE_CHANCE_PER_WORTH * strength)


def change_size(large: bool, difficulty: DifficultyConfig) -> int:
    """Return the size of a change in points: one or two steps, at most the clamp."""
    return min(difficulty.clamp, difficulty.step_size * (2 if large else 1))


KINDNESS = dict(zip(STRATEGIES, (0.4, 0.4, 0.7, 0.3, 0.7, 0.1, 0.1, 0.6), strict=True))
"""Kindness of each strategy, 0 to 1, whatever the user's intention."""

#                 question restate reflect disclose affirm suggest inform other
_EARLY = {
    "praise":       (0.1, 0.6, 0.2, -0.2, 0.8, -0.8, -0.6, 0.6),
    "not_at_fault": (-0.3, 0.6, 0.8, 0.1, 0.6, -0.8, -0.4, 0.1),
    "venting":      (0.6, 0.2, 0.6, -0.5, -0.3, -1.0, -0.8, 0.8),
    "deep_empathy": (0.0, 0.1, 0.8, 0.6, -0.4, -0.9, -0.8, 0.6),
    "advice":       (0.8, 0.2, -0.4, -0.2, -0.4, 0.6, 0.6, -0.5),
    "dialectic":    (0.3, 0.8, -0.4, 0.0, -0.5, -0.2, 0.6, -0.4),
    "growth":       (0.8, 0.2, 0.6, 0.6, -0.4, -0.3, -0.2, -0.2),
    "motives":      (0.3, 0.6, -0.3, 0.0, -0.4, -0.4, 0.8, -0.3),
}  # fmt: skip
_LATE = {
    "praise":       (-0.5, 0.1, 0.0, 0.6, 1.0, -0.7, -0.6, 0.7),
    "not_at_fault": (-0.7, 0.0, 0.2, 0.7, 1.0, -0.8, 0.6, 0.0),
    "venting":      (-0.1, 0.7, 0.6, -0.2, -0.4, -1.0, -0.9, 1.0),
    "deep_empathy": (-0.3, 0.0, 1.0, 0.7, -0.5, -0.9, -0.8, 0.6),
    "advice":       (0.1, -0.3, -0.6, 0.6, -0.5, 1.0, 0.7, -0.6),
    "dialectic":    (0.6, 0.0, -0.6, -0.2, -0.6, 0.7, 1.0, -0.6),
    "growth":       (1.0, 0.7, -0.2, 0.1, 0.0, 0.6, 0.0, -0.6),
    "motives":      (0.6, 0.7, -0.4, 0.0, -0.6, -0.3, 1.0, -0.5),
}  # fmt: skip

LATE_TRUST = 2
"""Trust from which the fits of _LATE apply: the user wants what they came for."""
MAX_TRUST = 3


def strategy_fits(intention: str, trust: int, path: str | None = None) -> tuple[float, ...]:
    """Return the fit of each strategy to `intention`, -1 to 1, in the order of STRATEGIES.

    While a user on an adversarial `path` tests the supporter, the path's fits apply instead.
    """
    if path is not None and paths.is_testing(path, trust):
        return paths.FITS[path]
    return (_LATE if trust >= LATE_TRUST else _EARLY)[intention]


assert set(_EARLY) == set(_LATE) == set(INTENTIONS)


TRUST_GROWTH = dict(zip(STRATEGIES, (0.8, 0.6, 0.7, 0.4, 0.4, 0.2, 0.2, 0.6), strict=True))
"""Chance that a strategy wins a point of trust, before scaling by expression."""
TRUST_LOSS = 0.7
"""Chance that a hurtful or unintelligible reply loses a point of trust."""


@lru_cache(maxsize=256)
def trust_growth_probability(strategy: str, rule: DisclosureRule) -> float:
    """Return the chance that `strategy` wins a point of trust; it increases with expression."""
    return min(1.0, TRUST_GROWTH[strategy] * (0.25 + 0.95 * rule.expression))


def reluctance(path: str | None, trust: int) -> float:
    """Return the log-odds that a reply loses because the user tests the supporter, else 0."""
    return paths.RELUCTANCE if paths.is_testing(path, trust) else 0.0


def stands_test(strategy: str, path: str | None, trust: int) -> bool:
    """Return whether `strategy` passes the user's test; True if they are not testing."""
    if path is None or not paths.is_testing(path, trust):
        return True
    return paths.FITS[path][STRATEGIES.index(strategy)] >= GOAL_LINE


def next_trust(
    trust: int,
    strategies: Sequence[str],
    offended: bool,
    rule: DisclosureRule,
    u: float,
    path: str | None = None,
) -> int:
    """Return the trust, 0 to MAX_TRUST, after a reply with `strategies`."""
    if offended:
        return max(0, trust - 1) if u < TRUST_LOSS else trust
    strategies = [s for s in strategies if stands_test(s, path, trust)]
    chance = max([trust_growth_probability(strategy, rule) for strategy in strategies], default=0.0)
    return min(MAX_TRUST, trust + 1) if u < chance else trust


HURTFUL_FROM = 0.3
"""Evidence in nats above which a reply is heard as hurtful. Of the caring sentences in unseen
batches, 11% are above it; without those written as twins of a cruel sentence, 8%."""
DOUBTED_FROM = -0.3
"""Evidence above which a reply that is not heard as hurtful still leaves suspicion."""
FADING = 0.7
"""Share of the suspicion that remains after a turn."""
MOST_GOODWILL, MOST_SUSPICION = 2.0, 4.0
PRIOR_OF_SUSPICION = 0.5
"""Nats of evidence per nat of suspicion: after hurt a user takes an unclear reply ill, after
kindness well."""
FORGIVEN = 0.5
"""Share of the suspicion that an apology removes."""


def next_suspicion(suspicion: float, evidence: float, apologises: bool) -> float:
    """Return the suspicion after a reply, -MOST_GOODWILL to MOST_SUSPICION nats.

    Suspicion is a decaying cumulative sum (CUSUM; Page, Biometrika 41, 1954) of the evidence that
    the supporter means ill. `evidence` is the log-odds that the reply is hurtful.
    """
    faded = FADING * suspicion
    if apologises and faded > 0:
        faded *= 1 - FORGIVEN
    return min(MOST_SUSPICION, max(-MOST_GOODWILL, faded + evidence - DOUBTED_FROM))
