"""The choice of conversations to refine: the worst of each group is continued anew from its most
costly reply on (arXiv 2506.03106).

This part is the same for every kind of policy; tabular_refinement.py and language_refinement.py
draw the new replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.simulator.protocol import ConversationKey
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout import critiques
from harness.train.rollout.conversation import Conversation, StartState

NOT_REFINED: dict[str, float | None] = dict.fromkeys(
    ("refined/groups", "refined/replies", "refined/gain", "refined/failed")
)
"""Metrics of a run that refines no groups."""


@dataclass(frozen=True, slots=True)
class CutPoint:
    """The point from which a conversation is continued anew."""

    conversation: int
    """Number of the conversation in the batch."""
    reply: int
    """Number of the first of the policy's own replies to draw again, from 0."""
    played: tuple[str, ...]
    """The policy's strategies up to and including that reply."""


def cuts_of(
    conversations: Sequence[Conversation],
    rewards: FloatArray,
    played: Sequence[Sequence[str]],
    group_size: int,
) -> list[CutPoint]:
    """Return the cut of the worst conversation of each group; of several worst, the first.

    `played`: the strategy of each reply of each conversation. A group has no cut if it has no
    reward, or if no reply in its worst conversation lowered the emotion.
    """
    cuts = []
    for first in range(0, len(conversations), group_size):
        group_rewards = rewards[first : first + group_size]
        if not np.isfinite(group_rewards).any():
            continue
        worst = first + int(np.nanargmin(group_rewards))
        reply = critiques.most_costly(conversations[worst])
        if reply is not None:
            cuts.append(CutPoint(worst, reply, tuple(played[worst][: reply + 1])))
    return cuts


def begin_again(
    conversations: Sequence[Conversation], cuts: Sequence[CutPoint], group_size: int
) -> tuple[list[ConversationKey], list[StartState]]:
    """Return keys and start states of the continuations.

    Their sample numbers follow the group's, so that the users draw new random numbers.
    """
    old = [conversations[cut.conversation] for cut in cuts]
    keys = [replace(c.key, sample=c.key.sample + group_size) for c in old]
    return keys, [c.until(cut.reply) for c, cut in zip(old, cuts, strict=True)]


def join_at_cut(old: Conversation, cut: CutPoint, new: Conversation) -> Conversation:
    """Return the conversation `old` up to the cut, followed by the exchanges of `new`."""
    return replace(old, key=new.key, exchanges=(*old.exchanges[: cut.reply], *new.exchanges))


class GroupUniforms:
    """Uniform numbers for chosen groups; a group's numbers do not depend on the other choices."""

    def __init__(self, rng: np.random.Generator, groups: int, chosen: Sequence[int]) -> None:
        self._rng, self._groups, self._chosen = rng, groups, list(chosen)

    def random(self, shape: tuple[int, ...], /) -> FloatArray:
        """Draw a row of shape `shape[1:]` for every group and return the rows of those chosen."""
        return self._rng.random((self._groups, *shape[1:]))[self._chosen]


def metrics(
    cuts: Sequence[CutPoint], groups: int, replies: int, before: FloatArray, after: FloatArray
) -> dict[str, float | None]:
    """Return the metrics of a refined batch.

    `groups`: number of groups; `replies`: number of replies drawn again; `before`, `after`: the
    rewards of the whole batch, nan where a served user failed.
    """
    refined = np.array([cut.conversation for cut in cuts], dtype=np.int64)
    gains = (after - before)[refined]
    finite = gains[np.isfinite(gains)]
    return {
        "refined/groups": len(cuts) / groups,
        "refined/replies": float(replies),
        "refined/gain": float(finite.mean()) if len(finite) else None,
        "refined/failed": float((np.isfinite(before) & ~np.isfinite(after))[refined].sum()),
    }
