"""The qualities of a conversation, by which a set of conversations is rewarded (algorithm=vpo)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.simulator.alliance import SOLVING
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.conversation import Conversation, Exchange

GROUNDING = frozenset(("question", "restate", "reflect"))
"""Strategies that make sure of what was meant."""
LONGEST = 20.0
"""Words a reply from which on a conversation counts as not short at all."""
QUALITIES = ("reward", "without solving", "grounding", "shortness")


def qualities(conversations: Sequence[Conversation], rewards: FloatArray) -> FloatArray:
    """QUALITIES of each conversation, each from 0 to 1 as `rewards` are, shape (conversations, 4).

    `rewards`: in the mode in use, shape (conversations,), nan where a conversation has none; its
    row is nan. The others are shares of replies, and 1 - words a reply / LONGEST, at least 0.
    """
    rows = [_of(conversation.exchanges) for conversation in conversations]
    table = np.column_stack([rewards, np.array(rows)])
    table[~np.isfinite(rewards)] = np.nan
    return table


def _of(exchanges: Sequence[Exchange]) -> tuple[float, float, float]:
    count = max(1, len(exchanges))
    solving = sum(not SOLVING.isdisjoint(e.answer.strategies) for e in exchanges)
    grounding = sum(not GROUNDING.isdisjoint(e.answer.strategies) for e in exchanges)
    words = sum(len(e.reply.text.split()) for e in exchanges)
    return 1 - solving / count, grounding / count, max(0.0, 1 - words / count / LONGEST)
