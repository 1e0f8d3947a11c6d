"""Conversations of the reference policies at one level, and how emotion moves in them.

Beside the named references, supporters of graded skill who attend to the user in a share of their
replies and pick at random in the rest: their mean final emotions span the scale, as those of
language models do, and the dynamics of emotion are pooled over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.calibration.interval import Floats, Interval, correlation, share
from harness.calibration.users import Reader, simulated
from harness.config.run import DifficultyConfig
from harness.simulator.protocol import HELD_OUT, ConversationKey, UserTurn
from harness.simulator.reference import REFERENCES, Reference, attentive, converse, random_supporter
from harness.simulator.scripted.sentence_reader import LEXICAL

NAMED = ("attentive", "neutral", "advice_only", "praising", "dismissive", "silent", "random")
"""The reference policies of a card."""
SKILLS = (-0.2, 0.0, 0.2, 0.4, 0.6)
"""By member of the population: the share of attentive replies, or, below zero, of empty ones."""
SEED = 1
TINY_STD = 0.05
"""Standard deviation of final emotion / 100 within a group.

Below it, advantages are differences of a point or two.
"""


@dataclass(frozen=True)
class Conversations:
    """Conversations of one policy, each with a user of its own."""

    turns: tuple[tuple[UserTurn, ...], ...]

    def first(self, count: int) -> Conversations:
        """The first `count` of them."""
        return Conversations(self.turns[:count])

    @property
    def finals(self) -> Floats:
        """Final emotion, 0-100."""
        return np.array([t[-1].emotion for t in self.turns], float)

    def ended(self, how: str) -> NDArray[np.bool_]:
        """Return which conversations ended so: success, left or cap."""
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
    """Return a policy that is attentive in a share `skill` of its replies and random in the others.

    Of a negative `skill`, that share is neutral.
    """
    other = attentive if skill > 0 else REFERENCES["neutral"]

    def reply(turns: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
        return (other if u[-1] < abs(skill) else random_supporter)(turns, replies, u)

    return reply


def converse_with(
    users: range, level: DifficultyConfig, policy: Reference, reader: Reader = LEXICAL
) -> Conversations:
    """Simulate one conversation with each of the held-out `users`.

    A number is the same user everywhere.
    """
    keys = [ConversationKey(SEED, 0, number, 0, HELD_OUT) for number in users]
    return _converse(level, policy, keys, reader)


def named(
    level: DifficultyConfig, name: str, count: int, reader: Reader = LEXICAL
) -> Conversations:
    """Simulate the reference policy `name` with `count` users."""
    return converse_with(range(count), level, REFERENCES[name], reader)


def population(
    level: DifficultyConfig, count: int, reader: Reader = LEXICAL
) -> dict[float, Conversations]:
    """Simulate each member of the population with the same `count` users, by skill."""
    users = range(count)
    return {skill: converse_with(users, level, skilled(skill), reader) for skill in SKILLS}


def group_std(
    level: DifficultyConfig, group_size: int, groups: int, reader: Reader = LEXICAL
) -> Floats:
    """Return the standard deviation of final emotion / 100 in each group of random supporters."""
    keys = [
        ConversationKey(SEED, 1, group, sample, HELD_OUT)
        for group in range(groups)
        for sample in range(group_size)
    ]
    finals = _converse(level, random_supporter, keys, reader).finals / 100
    return np.asarray(finals.reshape(groups, group_size).std(axis=1))


def _converse(
    level: DifficultyConfig,
    policy: Reference,
    keys: list[ConversationKey],
    reader: Reader,
) -> Conversations:
    turns = converse(simulated(level, reader), policy, keys)
    return Conversations(tuple(map(tuple, turns)))


DECADES = tuple(range(10, 100, 10))
PUBLISHED_RISE = (0.044, 0.151, 0.327, 0.528, 0.670, 0.766, 0.904, 0.965, 0.990)
"""P(rise) by decade of emotion, over 9,425 turns of twelve language models with one simulator:
computed from the logs published with SAGE (arXiv 2505.02847), which RLVER's simulator extends."""
PUBLISHED_LAG1 = 0.59


@dataclass(frozen=True)
class Decade:
    """Statistics of replies that met the user at an emotion of `emotion` to `emotion` + 9."""

    emotion: int
    n: int
    p_rise: Interval | None
    mean_change: float | None


def by_decade(groups: Sequence[Conversations]) -> list[Decade]:
    """Return the statistics of each decade of emotion, pooled over the policies of `groups`."""
    pairs = [pair for group in groups for pair in group.changes]
    before = np.concatenate([b for b, _ in pairs]) if pairs else np.array([])
    change = np.concatenate([c for _, c in pairs]) if pairs else np.array([])
    return [_decade(emotion, change[before // 10 * 10 == emotion]) for emotion in DECADES]


def lag1(groups: Sequence[Conversations]) -> Interval | None:
    """Return the correlation of each change with the next of the same conversation."""
    changes = [change for group in groups for _, change in group.changes if len(change) > 1]
    return correlation([(c[:-1], c[1:]) for c in changes])


def _decade(emotion: int, change: Floats) -> Decade:
    mean_change = float(change.mean()) if change.size else None
    return Decade(emotion, int(change.size), share(change > 0), mean_change)
