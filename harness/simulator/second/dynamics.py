"""How a reply moves the second user's mood: an additive mood with a half-life.

    mood' = home + (mood - home) * 2 ** (-1 / HALF_LIFE) + impulse + noise

The form is the one of Gottman, Murray and others for conversations of couples (J. Fam. Psychol. 9,
110, 1995): an uninfluenced set point, inertia, and the influence of the other's turn. The impulse
is a sum over the reply's acts. Each act adds what it provides (Cutrona and Russell's kinds of
support, 1990) times what the user wants, scaled by the number of acts, less its wear by repetition,
which fades with its own half-life. Cruelty counts more than kindness (Baumeister and others, 2001).

All numbers are chosen, not fitted to people. The half-life was chosen so that over eight replies
the supporter matters more than who the user is; the others so that the three levels are close to
the first user's, on the tuning half of the validity set and on training users.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.config.run import DifficultyConfig

Mood = TypeVar("Mood", bound=Any)
"""A number or an array."""

HALF_LIFE = 5.0
"""Number of replies after which half of the distance to the home mood is gone."""
KEPT = 2 ** (-1 / HALF_LIFE)
NOISE = 3.5
"""Standard deviation of the noise of a turn, in points of mood."""
NEEDS = ("attention", "closeness", "worth", "guidance", "sense")
"""Kinds of support: being heard, warmth, esteem, what to do, how to understand it."""
PROVIDES: Mapping[str, tuple[float, ...]] = {
    "ask":       (0.7, 0.0, 0.0, 0.1, 0.3),
    "say_back":  (0.8, 0.1, 0.0, 0.0, 0.4),
    "feel_with": (0.4, 0.9, 0.1, 0.0, 0.1),
    "share":     (0.0, 0.6, 0.3, 0.1, 0.2),
    "credit":    (0.1, 0.2, 1.0, 0.0, 0.0),
    "absolve":   (0.1, 0.4, 0.9, 0.0, 0.1),
    "advise":    (0.0, 0.0, 0.0, 1.0, 0.2),
    "explain":   (0.0, 0.1, 0.1, 0.3, 0.9),
    "weigh":     (0.0, 0.0, 0.0, 0.2, 1.1),
    "stay":      (0.6, 0.6, 0.1, 0.0, 0.0),
    "remark":    (0.0, 0.0, 0.0, 0.0, 0.0),
}  # fmt: skip
"""How much of each of NEEDS an act provides."""
WANTS: Mapping[str, tuple[float, ...]] = {
    "praise":       (0.0, 0.1, 1.0, -0.5, -0.4),
    "not_at_fault": (-0.1, 0.3, 0.9, -0.6, 0.1),
    "venting":      (1.0, 0.3, -0.3, -0.8, -0.5),
    "deep_empathy": (0.1, 1.0, -0.2, -0.7, -0.4),
    "advice":       (0.0, -0.2, -0.3, 1.0, 0.4),
    "dialectic":    (0.1, -0.4, -0.4, 0.3, 1.0),
    "growth":       (0.8, -0.2, -0.3, -0.2, 0.8),
    "motives":      (-0.2, -0.3, -0.3, -0.2, 1.1),
}  # fmt: skip
"""Worth of a unit of each of NEEDS to a user, by intention."""
KINDNESS: Mapping[str, float] = {
    "ask": 0.5, "say_back": 0.45, "feel_with": 0.7, "share": 0.4, "credit": 0.6, "absolve": 0.6,
    "advise": 0.2, "explain": 0.25, "weigh": 0.25, "stay": 0.7, "remark": 0.0,
}  # fmt: skip
"""Kindness of each act, whatever the user's intention."""
INFORMED = frozenset(["advise", "explain", "weigh"])
"""Acts whose worth increases with the number of sentences told."""
ENOUGH_TOLD = 3
"""Number of sentences told from which these acts have their full worth."""
WEAR = 1.2
"""Wear from a use in the last reply. A worn act has 1 / (1 + wear) of its fresh worth."""
WEAR_HALF_LIFE = 1.5
"""Number of replies after which half of the wear is gone."""
TAKEN_UP, TAKEN_UP_BEFORE = 0.25, 0.1
"""Worth of taking up the newest sentence told; or an older one, a feeling or the topic."""
BESIDE = 0.4
"""Penalty for a reply without any act, or about something else."""
TOO_MUCH = 0.5
"""Penalty for a reply that is too long, truncated or full of advice."""
SAID_BEFORE = 0.5
"""Penalty for a reply that repeats a sentence."""
PUZZLED = 1.0
"""Penalty for a reply that is not language."""
CRUELTY = 2.2
"""Penalty for a reply that is certainly cruel."""
SORRY = 0.5
"""Worth of an apology to a user who was hurt before."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How a level values a reply; difficulty.acceptance names one."""

    goal: float
    """Weight of the fit to the user's intention against kindness, 0 to 1."""
    points: float
    """Points of mood per unit of worth."""
    home: float
    """Home mood minus the initial emotion, in points."""


ACCEPTANCES = {
    "any_kindness": Acceptance(0.3, 17.0, -10.0),
    "reasonable": Acceptance(0.7, 20.0, -30.0),
    "goal_fit": Acceptance(0.95, 20.0, -53.0),
}
POINTS_OF_THRESHOLD = 4.0
"""Points by which a unit of difficulty.threshold lowers the home mood."""
TEMPERAMENT = {"negative": -5.0, "passive": 2.0, "avoidant": 3.0}
"""Points that a temperament adds to the home mood."""
EXPRESSION = {"free": 0.95, "hint": 0.79, "never": 0.64}
"""Chance that a user shows what they could show, by difficulty.disclosure. `hint` and `never` are
as published for RLVER's simulators (arXiv 2507.03112, Table 3: 78.6 and 63.6%)."""


def home(difficulty: DifficultyConfig, temperament: str) -> float:
    """Return the home mood, to which the mood decays without influence."""
    level = ACCEPTANCES[difficulty.acceptance].home
    reluctance = POINTS_OF_THRESHOLD * difficulty.threshold
    return difficulty.start_emotion + level + TEMPERAMENT[temperament] - reluctance


def value(act: str, intention: str, goal: float, told_count: int) -> float:
    """Return the worth of an act to a user with `intention`, before wear.

    `goal` is Acceptance.goal, and `told_count` the number of sentences told so far.
    """
    fit = sum(p * w for p, w in zip(PROVIDES[act], WANTS[intention], strict=True))
    if act in INFORMED and fit > 0:
        fit *= min(1.0, (1 + told_count) / (1 + ENOUGH_TOLD))
    return goal * fit + (1 - goal) * KINDNESS[act]


def doubt(hurt: float) -> float:
    """Return how far a reply is taken as cruel, 0 to 1: max(0, 2 P(cruel) - 1)."""
    return max(0.0, math.tanh(hurt / 2))


def wear(act: str, past: Sequence[frozenset[str]]) -> float:
    """Return the wear of an act, given the acts of the replies so far."""
    uses = [ago for ago, acts in enumerate(reversed(past)) if act in acts]
    return WEAR * sum([2 ** (-ago / WEAR_HALF_LIFE) for ago in uses])


def worth_after_wear(worth: float, amount: float) -> float:
    """Return a worth after wear. Only positive worth wears off."""
    return worth / (1 + amount) if worth > 0 else worth


def mean_mood(mood: Mood, home: Mood, impulse: Mood) -> Mood:
    """Return the expected mood after a reply, before noise and clamp."""
    expected: Mood = home + (mood - home) * KEPT + impulse
    return expected


def next_mood(mood: float, expected: float, noise: float, clamp: int) -> float:
    """Return the mood after a reply; `noise` is a standard normal draw."""
    change = expected + NOISE * noise - mood
    return min(100.0, max(0.0, mood + min(float(clamp), max(-float(clamp), change))))


def rise_probability(mood: float, expected: float) -> float:
    """Return the probability that the emotion, which is the rounded mood, rises."""
    least = math.floor(mood + 0.5) + 0.5
    if least > 100:
        return 0.0
    return 0.5 * math.erfc((least - expected) / (NOISE * math.sqrt(2)))
