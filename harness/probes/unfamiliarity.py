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
    here = PERSONAS[HELD_OUT]
    values = between(here, PERSONAS[TRAIN])
    return {one.name: float(value) for one, value in zip(here, values, strict=True)}


@cache
def span() -> float:
    """Return the distance between the 10% and 90% quantiles of the held-out personas."""
    low, high = np.quantile(list(of_personas().values()), [FAMILIAR, UNFAMILIAR])
    return float(high - low)


def between(some: Sequence[Persona], known: Sequence[Persona]) -> NDArray[np.float64]:
    """Return 1 minus the largest cosine of each of `some` to any of `known`, shape (some,)."""
    vectors = _vectors([*some, *known])
    cosines = vectors[: len(some)] @ vectors[len(some) :].T
    nearest: NDArray[np.float64] = cosines.max(axis=1)
    return np.clip(1 - nearest, 0.0, 1.0)


def _vectors(everyone: Sequence[Persona]) -> NDArray[np.float64]:
    """Return TF-IDF vectors of length 1 (0 without distinctive stems), shape (personas, stems)."""
    counted = [Counter(stem for one in p.tellable for stem in content(one.text)) for p in everyone]
    stems = {stem: n for n, stem in enumerate(sorted(set().union(*counted)))}
    counts = np.zeros((len(everyone), len(stems)))
    for row, counter in enumerate(counted):
        for stem, count in counter.items():
            counts[row, stems[stem]] = count
    weighed = counts * np.log(len(everyone) / (counts > 0).sum(axis=0))
    lengths = np.linalg.norm(weighed, axis=1, keepdims=True)
    vectors: NDArray[np.float64] = weighed / np.where(lengths > 0, lengths, 1.0)
    return vectors


@dataclass(frozen=True, slots=True)
class PlacedConversation(HeldOutConversation):
    """A conversation with its user's part of the level's slope, see `slope_parts`."""

    part: tuple[float, float] = (0.0, 0.0)


def with_slope_parts(
    saved: SavedPolicy, held: Sequence[HeldOutConversation]
) -> Sequence[PlacedConversation]:
    """Return the conversations, each with its user's part of the slope."""
    levels, simulator = levels_of(saved.config).every, saved.config.simulator
    by_level: dict[int, dict[int, list[HeldOutConversation]]] = {}
    for one in held:
        by_level.setdefault(one.meeting.level, {}).setdefault(one.meeting.user, []).append(one)
    parts = {
        (number, user): part
        for number, by_user in by_level.items()
        for user, part in _parts(by_user, levels[number], simulator).items()
    }
    return [
        PlacedConversation(
            one.meeting, one.conversation, one.divergence, one.choice,
            parts.get((one.meeting.level, one.meeting.user), (0.0, 0.0)),
        )
        for one in held
    ]  # fmt: skip


def _parts(
    by_user: Mapping[int, Sequence[HeldOutConversation]],
    level: DifficultyConfig,
    simulator: SimulatorConfig,
) -> Mapping[int, tuple[float, float]]:
    """Return the part of each user with a known persona and reward; empty if there is no slope."""
    met = {}
    for user, some in by_user.items():
        total, known = reward(some)
        persona = _persona(some[0], level, simulator)
        if known and persona is not None:
            met[user] = (of_personas()[persona] / span(), total / known)
    parts = slope_parts(*np.array(list(met.values())).reshape(-1, 2).T)
    return {} if parts is None else {u: (float(p), 1.0) for u, p in zip(met, parts, strict=True)}


def _persona(
    one: HeldOutConversation, level: DifficultyConfig, simulator: SimulatorConfig
) -> str | None:
    """Return the name of the user's persona; None for users without a built-in persona."""
    if simulator.kind not in OURS:
        return None
    user = user_of(one.meeting.key, level, simulator)
    return user.persona.name if isinstance(user, User) else None


def reward(some: Sequence[HeldOutConversation]) -> tuple[float, float]:
    """Return the sum of final emotions / 100 and the number of conversations that did not fail."""
    last = [one.conversation.last for one in some]
    known = [turn.emotion / 100 for turn in last if turn.ended != "failed"]
    return sum(known), float(len(known))


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
    across, together = float((x**2).sum()), float((x * y).sum())
    lever = x**2 * n / (n - 1)
    if (across - lever).min() <= LEAST_SPREAD:
        return None
    slope = together / across
    without = (together - x * y * n / (n - 1)) / (across - lever)
    parts: NDArray[np.float64] = slope + (n - 1) * (without.mean() - without)
    return parts


def of_user(some: Sequence[PlacedConversation]) -> tuple[float, float]:
    """Return the part of the user of these conversations, and its weight."""
    return some[0].part
