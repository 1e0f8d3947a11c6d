"""Which conversations are spoken again, and from where: the worst of each group, before its most
costly reply (arXiv 2506.03106).

The same for every rung of policy; what is drawn then is in tabular_refinement.py and
language_refinement.py.
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
"""Columns of a run whose groups stay as they were drawn."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation is taken over."""

    conversation: int
    """Its number in the batch."""
    reply: int
    """The policy's own reply that is spoken again, from 0."""
    played: tuple[str, ...]
    """The policy's strategies up to that reply."""


def cuts_of(
    conversations: Sequence[Conversation],
    rewards: FloatArray,
    played: Sequence[Sequence[str]],
    group_size: int,
) -> list[Cut]:
    """Where the worst conversation of each group is taken over, the first where several are.

    `played`: the strategy of each reply of each conversation. A group without a reward, or in whose
    worst conversation no reply lowered the emotion, has none.
    """
    cuts = []
    for first in range(0, len(conversations), group_size):
        mine = rewards[first : first + group_size]
        if not np.isfinite(mine).any():
            continue
        worst = first + int(np.nanargmin(mine))
        reply = critiques.most_costly(conversations[worst])
        if reply is not None:
            cuts.append(Cut(worst, reply, tuple(played[worst][: reply + 1])))
    return cuts


def begin_again(
    conversations: Sequence[Conversation], cuts: Sequence[Cut], group_size: int
) -> tuple[list[ConversationKey], list[StartState]]:
    """Keys and starts of what is spoken again: of the users' draws, a sample beyond the group's."""
    old = [conversations[cut.conversation] for cut in cuts]
    keys = [replace(c.key, sample=c.key.sample + group_size) for c in old]
    return keys, [c.until(cut.reply) for c, cut in zip(old, cuts, strict=True)]


def joined(old: Conversation, cut: Cut, new: Conversation) -> Conversation:
    """The conversation as it was until the cut, and as it went on then."""
    return replace(old, key=new.key, exchanges=(*old.exchanges[: cut.reply], *new.exchanges))


class GroupUniforms:
    """Uniforms of some groups, which do not depend on which the others are."""

    def __init__(self, rng: np.random.Generator, groups: int, chosen: Sequence[int]) -> None:
        self._rng, self._groups, self._chosen = rng, groups, list(chosen)

    def random(self, shape: tuple[int, ...], /) -> FloatArray:
        """A row, of shape `shape[1:]`, a group, of which those that are chosen are used."""
        return self._rng.random((self._groups, *shape[1:]))[self._chosen]


def metrics(
    cuts: Sequence[Cut], groups: int, replies: int, before: FloatArray, after: FloatArray
) -> dict[str, float | None]:
    """The columns of a batch of so many groups, in which `replies` were drawn again.

    `before`, `after`: the rewards of the whole batch, nan where a served user was lost.
    """
    again = np.array([cut.conversation for cut in cuts], dtype=np.int64)
    gains = (after - before)[again]
    known = gains[np.isfinite(gains)]
    return {
        "refined/groups": len(cuts) / groups,
        "refined/replies": float(replies),
        "refined/gain": float(known.mean()) if len(known) else None,
        "refined/failed": float((np.isfinite(before) & ~np.isfinite(after))[again].sum()),
    }
