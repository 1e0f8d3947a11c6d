"""Unfamiliarity: how different a held-out persona's sentences are from those of training personas.

A persona is a TF-IDF vector over stems of content words: the number of their sentences (facts and
life) with a stem, times log(personas / personas with the stem). Unfamiliarity is 1 minus the
largest cosine similarity to a training persona: 0 if one tells the same, 1 if none shares a
distinctive stem. The slope of reward on unfamiliarity shows what it costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.probes.over_users import FEWEST_USERS
from harness.simulator.factory import OURS
from harness.simulator.personas import PERSONAS, Persona
from harness.simulator.protocol import HELD_OUT, TRAIN
from harness.simulator.scripted.words import content
from harness.simulator.served.cast import user_of
from harness.simulator.state import User
from harness.train.metrics.held_out import levels_of
from harness.train.saved_policy.policy import HeldOutConversation, SavedPolicy

FAMILIAR, UNFAMILIAR = 0.1, 0.9
"""Quantiles of the held-out personas whose distance is the unit of a slope."""
LEAST_SPREAD = 1e-9
"""Sum of squares about the mean, in units of `span`, below which a slope is a rounding error."""


@cache
def of_personas() -> Mapping[str, float]:
    """Return the unfamiliarity of each held-out persona by name, in [0, 1]."""
    personas = PERSONAS[HELD_OUT]
    values = between(personas, PERSONAS[TRAIN])
    return {persona.name: float(value) for persona, value in zip(personas, values, strict=True)}


@cache
def span() -> float:
    """Return the distance between the 10% and 90% quantiles of the held-out personas."""
    low, high = np.quantile(list(of_personas().values()), [FAMILIAR, UNFAMILIAR])
    return float(high - low)


def between(personas: Sequence[Persona], references: Sequence[Persona]) -> NDArray[np.float64]:
    """Return 1 minus the largest cosine of each persona to any reference, shape (personas,)."""
    vectors = _vectors([*personas, *references])
    cosines = vectors[: len(personas)] @ vectors[len(personas) :].T
    nearest: NDArray[np.float64] = cosines.max(axis=1)
    return np.clip(1 - nearest, 0.0, 1.0)


def _vectors(everyone: Sequence[Persona]) -> NDArray[np.float64]:
    """Return TF-IDF vectors of length 1 (0 without distinctive stems), shape (personas, stems)."""
    counters = [
        Counter(stem for sentence in p.tellable for stem in content(sentence.text))
        for p in everyone
    ]
    stems = {stem: n for n, stem in enumerate(sorted(set().union(*counters)))}
    counts = np.zeros((len(everyone), len(stems)))
    for row, counter in enumerate(counters):
        for stem, count in counter.items():
            counts[row, stems[stem]] = count
    weighted = counts * np.log(len(everyone) / (counts > 0).sum(axis=0))
    lengths = np.linalg.norm(weighted, axis=1, keepdims=True)
    vectors: NDArray[np.float64] = weighted / np.where(lengths > 0, lengths, 1.0)
    return vectors


@dataclass(frozen=True, slots=True)
class PlacedConversation(HeldOutConversation):
    """A conversation with its user's part of the level's slope, see `slope_parts`."""

    part: tuple[float, float] = (0.0, 0.0)


def with_slope_parts(
    saved: SavedPolicy, conversations: Sequence[HeldOutConversation]
) -> Sequence[PlacedConversation]:
    """Return the conversations, each with its user's part of the slope."""
    levels, simulator = levels_of(saved.config).every, saved.config.simulator
    by_level: dict[int, dict[int, list[HeldOutConversation]]] = {}
    for held_out in conversations:
        by_user = by_level.setdefault(held_out.meeting.level, {})
        by_user.setdefault(held_out.meeting.user, []).append(held_out)
    parts = {
        (number, user): part
        for number, by_user in by_level.items()
        for user, part in _parts(by_user, levels[number], simulator).items()
    }
    return [
        PlacedConversation(
            held_out.meeting, held_out.conversation, held_out.divergence, held_out.choice,
            parts.get((held_out.meeting.level, held_out.meeting.user), (0.0, 0.0)),
        )
        for held_out in conversations
    ]  # fmt: skip


def _parts(
    by_user: Mapping[int, Sequence[HeldOutConversation]],
    level: DifficultyConfig,
    simulator: SimulatorConfig,
) -> Mapping[int, tuple[float, float]]:
    """Return the part of each user with a known persona and reward; empty if there is no slope."""
    points = {}
    for user, conversations in by_user.items():
        total, count = reward(conversations)
        persona = _persona(conversations[0], level, simulator)
        if count and persona is not None:
            points[user] = (of_personas()[persona] / span(), total / count)
    parts = slope_parts(*np.array(list(points.values())).reshape(-1, 2).T)
    return {} if parts is None else {u: (float(p), 1.0) for u, p in zip(points, parts, strict=True)}


def _persona(
    held_out: HeldOutConversation, level: DifficultyConfig, simulator: SimulatorConfig
) -> str | None:
    """Return the name of the user's persona; None for users without a built-in persona."""
    if simulator.kind not in OURS:
        return None
    user = user_of(held_out.meeting.key, level, simulator)
    return user.persona.name if isinstance(user, User) else None


def reward(conversations: Sequence[HeldOutConversation]) -> tuple[float, float]:
    """Return the sum of final emotions / 100 and the number of conversations that did not fail."""
    last_turns = [held_out.conversation.last for held_out in conversations]
    rewards = [turn.emotion / 100 for turn in last_turns if turn.ended != "failed"]
    return sum(rewards), float(len(rewards))


def slope_parts(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return each user's part of the least-squares slope of y on x, shape (users,).

    It is the user's jackknife pseudo-value, shifted so that the mean over users is the slope. The
    jackknife of this mean is the jackknife of the slope, and likewise for the difference of two
    slopes (pseudo-values: Miller 1974, The jackknife: a review). None for fewer than three users,
    or if x hardly varies without one of them.
    """
    n = len(x)
    if n < FEWEST_USERS:
        return None
    x, y = x - x.mean(), y - y.mean()
    squares, products = float((x**2).sum()), float((x * y).sum())
    leverage = x**2 * n / (n - 1)
    if (squares - leverage).min() <= LEAST_SPREAD:
        return None
    slope = products / squares
    leave_one_out = (products - x * y * n / (n - 1)) / (squares - leverage)
    parts: NDArray[np.float64] = slope + (n - 1) * (leave_one_out.mean() - leave_one_out)
    return parts


def of_user(conversations: Sequence[PlacedConversation]) -> tuple[float, float]:
    """Return the part of the user of these conversations, and its weight."""
    return conversations[0].part
