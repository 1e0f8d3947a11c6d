"""Conversations of the reference policies at one level, and the dynamics of emotion in them.

Besides the named references there is a population of supporters of graded skill. They are attentive
in a share of their replies and random in the rest. Their mean final emotions span the scale, as
those of language models do; the dynamics of emotion are pooled over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.calibration.interval import ConfidenceInterval, Floats, correlation, share
from harness.calibration.users import Reader, simulated
from harness.config.run import DifficultyConfig
from harness.simulator.protocol import HELD_OUT, ConversationKey, UserTurn
from harness.simulator.reference import REFERENCES, Reference, attentive, converse, random_supporter
from harness.simulator.scripted.sentence_reader import LEXICAL

NAMED = ("attentive", "neutral", "advice_only", "praising", "dismissive", "silent", "random")
"""The reference policies of a card."""
SKILLS = (-0.2, 0.0, 0.2, 0.4, 0.6)
"""Skills of the population: the share of attentive replies, or, if negative, of neutral ones."""
SEED = 1
TINY_STD = 0.05
"""Standard deviation of final emotion / 100 in a group, below which variance counts as tiny.

Advantages then reflect differences of a point or two.
"""


@dataclass(frozen=True)
class Conversations:
    """Conversations of one policy, each with a different user."""

    turns: tuple[tuple[UserTurn, ...], ...]

    def first(self, count: int) -> Conversations:
        """Return the first `count` conversations."""
        return Conversations(self.turns[:count])

    @property
    def finals(self) -> Floats:
        """Final emotions, 0-100, shape (conversations,)."""
        return np.array([turns[-1].emotion for turns in self.turns], float)

    def ended(self, ending: str) -> NDArray[np.bool_]:
        """Return a mask of the conversations that ended by success, left or cap."""
        return np.array([turns[-1].ended == ending for turns in self.turns])

    @property
    def changes(self) -> list[tuple[Floats, Floats]]:
        """(emotion before each reply, change by the reply) of each conversation."""
        return [
            (
                np.array([turn.state.emotion for turn in turns[:-1]], float),
                np.array([turn.change for turn in turns[1:]], float),
            )
            for turns in self.turns
        ]


def skilled(skill: float) -> Reference:
    """Return a policy that is attentive in a share `skill` of its replies and random in the others.

    For a negative `skill`, a share of `-skill` is neutral instead of attentive.
    """
    alternative = attentive if skill > 0 else REFERENCES["neutral"]

    def reply(turns: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
        return (alternative if u[-1] < abs(skill) else random_supporter)(turns, replies, u)

    return reply


def converse_with(
    users: range, level: DifficultyConfig, policy: Reference, reader: Reader = LEXICAL
) -> Conversations:
    """Simulate one conversation with each of the held-out `users`.

    A number identifies the same user for every policy.
    """
    keys = [ConversationKey(SEED, 0, number, 0, HELD_OUT) for number in users]
    return _converse(level, policy, keys, reader)


def converse_with_reference(
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
    """Return the standard deviation of final emotion / 100 in each group of random supporters.

    It is exactly 0 where all are equal: their mean may differ from them in the last bit.
    """
    keys = [
        ConversationKey(SEED, 1, group, sample, HELD_OUT)
        for group in range(groups)
        for sample in range(group_size)
    ]
    finals = _converse(level, random_supporter, keys, reader).finals / 100
    by_group = finals.reshape(groups, group_size)
    return np.where(np.ptp(by_group, axis=1) > 0, by_group.std(axis=1), 0.0)


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
"""P(rise) by decade of emotion, over 9,425 turns of twelve language models with one simulator.
Computed from the logs published with SAGE (arXiv 2505.02847), whose simulator RLVER's extends."""
PUBLISHED_LAG1 = 0.59


@dataclass(frozen=True)
class EmotionDecade:
    """Statistics of replies given at an emotion of `emotion` to `emotion` + 9."""

    emotion: int
    n: int
    p_rise: ConfidenceInterval | None
    mean_change: float | None


def by_decade(groups: Sequence[Conversations]) -> list[EmotionDecade]:
    """Return the statistics of each decade of emotion, pooled over the policies of `groups`."""
    pairs = [pair for group in groups for pair in group.changes]
    before = np.concatenate([emotions for emotions, _ in pairs]) if pairs else np.array([])
    change = np.concatenate([changes for _, changes in pairs]) if pairs else np.array([])
    return [_decade(emotion, change[before // 10 * 10 == emotion]) for emotion in DECADES]


def lag1(groups: Sequence[Conversations]) -> ConfidenceInterval | None:
    """Return the lag-1 correlation of changes within conversations."""
    changes = [change for group in groups for _, change in group.changes if len(change) > 1]
    return correlation([(change[:-1], change[1:]) for change in changes])


def _decade(emotion: int, change: Floats) -> EmotionDecade:
    mean_change = float(change.mean()) if change.size else None
    return EmotionDecade(emotion, int(change.size), share(change > 0), mean_change)
