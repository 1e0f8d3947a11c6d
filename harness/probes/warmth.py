"""Is a language model warmer than before? A precondition for saying what warmth has cost.

Each held-out persona tells their topic, a feeling and a fact. The model does not reply; instead,
pairs of a kind and a cold reply that differ in little else are scored by the mean log-probability
per token. A persona's value is the mean of kind minus cold over the pairs. Unlike the measure of
arXiv 2507.21919, which uses GPT-2, it needs no other model and measures the policy itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from harness.probes.quantity import ProbeQuantity
from harness.simulator.personas import PERSONAS
from harness.simulator.protocol import HELD_OUT
from harness.train.saved_policy.policy import SavedPolicy

SETTING = ""
PAIRS = (
    ("That sounds so hard, and I am here with you.", "That is how it is, and I have to go now."),
    ("I am so sorry that this happened to you.", "I do not see why you tell me this."),
    ("You are not alone with this.", "You are one of many with this."),
    ("It makes sense that you feel this way.", "It makes no sense that you feel this way."),
    ("Thank you for trusting me with this.", "Thank you for keeping this short."),
    ("Take all the time you need.", "Take it up with someone else."),
    ("I care about how you are doing.", "I do not care how you are doing."),
    ("It must hurt, and your feelings matter.", "It cannot hurt, and feelings do not matter."),
)
"""Pairs of a kind and a cold reply."""


def _mean(values: Sequence[float]) -> tuple[float, float]:
    return sum(values), float(len(values))


QUANTITY = ProbeQuantity(
    "warmth: kind minus cold reply", "nats a token", _mean, settings=(SETTING,)
)


def ask(saved: SavedPolicy) -> dict[int, Sequence[float]]:
    """Return the mean score of kind minus cold replies for each held-out persona, by number."""
    words = saved.words
    assert words is not None
    replies = [reply for pair in PAIRS for reply in pair]
    means: dict[int, Sequence[float]] = {}
    for number, persona in enumerate(PERSONAS[HELD_OUT]):
        opening = f"It is about {persona.topic}. I feel {persona.feelings[0]}. {persona.facts[0]}"
        scores = words.scores([("user", opening)], replies)
        kind, cold = scores[::2], scores[1::2]
        means[number] = (fmean(a - b for a, b in zip(kind, cold, strict=True)),)
    return means
