"""How a reply moves the second user's mood: an additive mood with a half-life.

    mood' = home + (mood - home) * 2 ** (-1 / HALF_LIFE) + impulse + noise

The form is that of Gottman, Murray and others for talk between spouses (J. Fam. Psychol. 9, 110,
1995): an uninfluenced set point, inertia, and what the other's turn adds. The impulse is the sum
over what a reply does of what it provides (Cutrona and Russell's kinds of support, 1990) times what
this user came for, shared out over its parts, less each part's wear by repetition, which fades with
a half-life of its own. Cruelty counts more than kindness (Baumeister and others, 2001).

All numbers are chosen, not fitted to people: the half-life so that a supporter of eight replies
matters more than who the user is, the others so that the three levels lie near those of the first
user, on the tuned half of the validity set and on training users.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.config.run import DifficultyConfig

Mood = TypeVar("Mood", bound=Any)
"""A number, or an array of them."""

HALF_LIFE = 5.0
"""Replies after which half of the way back to the home mood is gone."""
KEPT = 2 ** (-1 / HALF_LIFE)
NOISE = 3.5
"""Standard deviation of a turn's mood, points."""
NEEDS = ("attention", "closeness", "worth", "guidance", "sense")
"""What a supporter can provide: being heard, warmth, esteem, what to do, how to see it."""
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
"""By act, how much of each of NEEDS it provides."""
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
"""By what a user came for, how much a unit of each of NEEDS is worth to them."""
KINDNESS: Mapping[str, float] = {
    "ask": 0.5, "say_back": 0.45, "feel_with": 0.7, "share": 0.4, "credit": 0.6, "absolve": 0.6,
    "advise": 0.2, "explain": 0.25, "weigh": 0.25, "stay": 0.7, "remark": 0.0,
}  # fmt: skip
"""By act, its kindness to anyone."""
INFORMED = frozenset(["advise", "explain", "weigh"])
"""Acts that are worth the more, the more the supporter has been told."""
ENOUGH_TOLD = 3
"""Sentences told from which on they are worth all they can be."""
WEAR = 1.2
"""Wear by one use in the last reply: a worn act is worth 1 / (1 + wear) of a fresh one."""
WEAR_HALF_LIFE = 1.5
"""Replies after which half of the wear is gone."""
TAKEN_UP, TAKEN_UP_BEFORE = 0.25, 0.1
"""Worth of taking up the newest thing told; or an older one, a feeling or the topic."""
BESIDE = 0.4
"""Lost by a reply in which nothing that it does is heard, or that speaks of something else."""
TOO_MUCH = 0.5
"""Lost by a reply that is far too long or orders several things."""
SAID_BEFORE = 0.5
"""Lost by a reply of which a sentence was said before."""
PUZZLED = 1.0
"""Lost by a reply that is no language."""
CRUELTY = 2.2
"""Lost by a reply that is cruel beyond doubt."""
SORRY = 0.5
"""Worth of an apology to who was hurt before."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a level makes of a reply; difficulty.acceptance names one."""

    goal: float
    """Weight of what the user came for, against kindness to anyone."""
    points: float
    """Points of mood that a worth of 1 is."""
    home: float
    """Points by which the home mood lies above the start."""


ACCEPTANCES = {
    "any_kindness": Acceptance(0.3, 17.0, -10.0),
    "reasonable": Acceptance(0.7, 20.0, -30.0),
    "goal_fit": Acceptance(0.95, 20.0, -53.0),
}
POINTS_OF_THRESHOLD = 4.0
"""Points of home mood that a unit of difficulty.threshold takes away."""
TEMPERAMENT = {"negative": -5.0, "passive": 2.0, "avoidant": 3.0}
"""Points by which a temperament's home mood lies above that of others."""
EXPRESSION = {"free": 0.95, "hint": 0.79, "never": 0.64}
"""By difficulty.disclosure, the chance that something shows that could: the middle and the last as
published for RLVER's simulators (arXiv 2507.03112, Table 3: 78.6 and 63.6%)."""


def home(difficulty: DifficultyConfig, temperament: str) -> float:
    """Return the mood that a user goes back to when nobody says anything."""
    level = ACCEPTANCES[difficulty.acceptance].home
    reluctance = POINTS_OF_THRESHOLD * difficulty.threshold
    return difficulty.start_emotion + level + TEMPERAMENT[temperament] - reluctance


def value(act: str, intention: str, goal: float, told: int) -> float:
    """Return what an act is worth to a user who came for `intention`, before any wear."""
    fit = sum(p * w for p, w in zip(PROVIDES[act], WANTS[intention], strict=True))
    if act in INFORMED and fit > 0:
        fit *= min(1.0, (1 + told) / (1 + ENOUGH_TOLD))
    return goal * fit + (1 - goal) * KINDNESS[act]


def doubt(hurt: float) -> float:
    """Return how far a reply is taken for cruel, 0 to 1: 2 P(cruel) - 1 where cruel is likelier."""
    return max(0.0, math.tanh(hurt / 2))


def wear(act: str, past: Sequence[frozenset[str]]) -> float:
    """Return the wear of an act by its uses in the replies so far, in order."""
    uses = [ago for ago, acts in enumerate(reversed(past)) if act in acts]
    return WEAR * sum([2 ** (-ago / WEAR_HALF_LIFE) for ago in uses])


def worn(worth: float, amount: float) -> float:
    """Return what is left of a worth by wear: pleasure wears off, annoyance does not."""
    return worth / (1 + amount) if worth > 0 else worth


def mean_mood(mood: Mood, home: Mood, impulse: Mood) -> Mood:
    """Return the mood to be expected after a reply, before noise and clamp."""
    expected: Mood = home + (mood - home) * KEPT + impulse
    return expected


def next_mood(mood: float, expected: float, noise: float, clamp: int) -> float:
    """Return the mood after a reply, `noise` a standard normal draw."""
    change = expected + NOISE * noise - mood
    return min(100.0, max(0.0, mood + min(float(clamp), max(-float(clamp), change))))


def rise_probability(mood: float, expected: float) -> float:
    """Return P(the emotion, which is the rounded mood, rises)."""
    least = math.floor(mood + 0.5) + 0.5
    if least > 100:
        return 0.0
    return 0.5 * math.erfc((least - expected) / (NOISE * math.sqrt(2)))
