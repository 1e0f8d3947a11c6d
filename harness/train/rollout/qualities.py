"""The qualities of a conversation, by which a set of conversations is rewarded (algorithm=vpo)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.simulator.alliance import SOLVING
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.conversation import Conversation, Exchange

GROUNDING = frozenset(("question", "restate", "reflect"))
"""Strategies that check what the user meant."""
LONGEST = 20.0
"""Mean words per reply from which on shortness is 0."""
QUALITIES = ("reward", "without solving", "grounding", "shortness")


def qualities(conversations: Sequence[Conversation], rewards: FloatArray) -> FloatArray:
    """Return the QUALITIES of each conversation, each from 0 to 1, shape (conversations, 4).

    `rewards`: rewards in the configured mode, shape (conversations,); where one is nan, the whole
    row is nan. "without solving" and "grounding" are shares of replies; "shortness" is
    max(0, 1 - mean words per reply / LONGEST).
    """
    rows = [_measure(conversation.exchanges) for conversation in conversations]
    table = np.column_stack([rewards, np.array(rows)])
    table[~np.isfinite(rewards)] = np.nan
    return table


def _measure(exchanges: Sequence[Exchange]) -> tuple[float, float, float]:
    count = max(1, len(exchanges))
    solving = sum(not SOLVING.isdisjoint(e.answer.strategies) for e in exchanges)
    grounding = sum(not GROUNDING.isdisjoint(e.answer.strategies) for e in exchanges)
    words = sum(len(e.reply.text.split()) for e in exchanges)
    return 1 - solving / count, grounding / count, max(0.0, 1 - words / count / LONGEST)
