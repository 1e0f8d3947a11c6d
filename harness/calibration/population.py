"""Conversations of the reference policies at one level: what difficulty does to whom.

Beside the named references, supporters of graded skill who attend to the user in a share of their
replies and pick at random in the rest: their mean final emotions span the scale, as those of
language models do, and the dynamics of emotion are pooled over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.config.run import DifficultyConfig
from harness.simulator.protocol import HELD_OUT, ConversationKey, UserTurn
from harness.simulator.reference import REFERENCES, Reference, attentive, random_supporter, talk
from harness.simulator.scripted.user import ScriptedSimulator

Floats = NDArray[np.float64]

NAMED = ("attentive", "neutral", "advice_only", "praising", "dismissive", "silent", "random")
"""The reference policies of a card."""
SKILLS = (-0.2, 0.0, 0.2, 0.4, 0.6)
"""Of the population's members: the share of attentive replies, or, below zero, of empty ones."""
SEED = 1
TINY_STD = 0.05
"""Of final emotion / 100 within a group: below it, advantages are differences of a point or two."""


@dataclass(frozen=True)
class Conversations:
    """Conversations of one policy, each with a user of its own."""

    turns: tuple[tuple[UserTurn, ...], ...]

    @property
    def finals(self) -> Floats:
        """Final emotion, 0-100."""
        return np.array([t[-1].emotion for t in self.turns], float)

    def ended(self, how: str) -> NDArray[np.bool_]:
        return np.array([t[-1].ended == how for t in self.turns])

    @property
    def changes(self) -> list[tuple[Floats, Floats]]:
        """By conversation: emotion before each reply, and its change by it."""
        return [
            (
                np.array([turn.state.emotion for turn in t[:-1]], float),
                np.array([turn.change for turn in t[1:]], float),
            )
            for t in self.turns
        ]


def skilled(skill: float) -> Reference:
    """Attentive, or neutral if `skill` is negative, in so large a share of replies; else random."""
    other = attentive if skill > 0 else REFERENCES["neutral"]

    def reply(heard: Sequence[str], said: Sequence[str], u: Sequence[float]) -> str:
        return (other if u[-1] < abs(skill) else random_supporter)(heard, said, u)

    return reply


def hold(level: DifficultyConfig, policy: Reference, users: range) -> Conversations:
    """One conversation with each of the held-out `users`; a number is the same user everywhere."""
    keys = [ConversationKey(SEED, 0, number, 0, HELD_OUT) for number in users]
    return _talks(level, policy, keys)


def named(level: DifficultyConfig, name: str, count: int) -> Conversations:
    return hold(level, REFERENCES[name], range(count))


def population(level: DifficultyConfig, count: int) -> dict[float, Conversations]:
    """By skill."""
    return {skill: hold(level, skilled(skill), range(count)) for skill in SKILLS}


def group_std(level: DifficultyConfig, group_size: int, groups: int) -> Floats:
    """Standard deviation of final emotion / 100 in each group of random supporters."""
    keys = [
        ConversationKey(SEED, 1, group, sample, HELD_OUT)
        for group in range(groups)
        for sample in range(group_size)
    ]
    finals = _talks(level, random_supporter, keys).finals / 100
    return np.asarray(finals.reshape(groups, group_size).std(axis=1))


def _talks(
    level: DifficultyConfig, policy: Reference, keys: list[ConversationKey]
) -> Conversations:
    held = talk(ScriptedSimulator(level), policy, keys)
    return Conversations(tuple(map(tuple, held)))
