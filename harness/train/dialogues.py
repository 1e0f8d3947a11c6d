"""Dialogues for the warm start: simulated users answered by an undecided supporter's grammar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.config import DifficultyConfig, SimulatorConfig
from harness.policy.chat import Chat
from harness.policy.grammar import random_reply
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.train.conversation import Conversation, hold
from harness.train.token_rows import TokenRow

USERS = (
    DifficultyConfig(disclosure="free", acceptance="any_kindness"),
    DifficultyConfig(disclosure="hint", acceptance="reasonable"),
    DifficultyConfig(disclosure="never", acceptance="goal_fit"),
)
"""Users of all kinds, as the code has them whatever conf/ says: every run starts from one model."""
SEED = 20_260_103
"""Of the warm start's users and replies; no run's own seed."""


class GrammarSpeaker:
    """An undecided supporter: any strategy, now and then two, rarely something poor."""

    def __init__(self, draws: np.random.Generator) -> None:
        self._draws = draws

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """A random reply in each conversation of `live`."""
        replies = []
        for i, words in zip(live, heard, strict=True):
            self._heard[i].append(words)
            replies.append(SupporterReply(random_reply(self._heard[i], self._draws.random)))
        return replies


def generate(count: int, batch: int) -> list[Conversation]:
    """`count` conversations with training users of all three kinds; batch `batch` of the stream."""
    held: list[Conversation] = []
    for number, users in enumerate(USERS):
        share = (count + number) // len(USERS)
        keys = [ConversationKey(SEED, batch, len(held) + n, 0) for n in range(share)]
        speaker = GrammarSpeaker(np.random.default_rng([SEED, batch, number]))
        held.extend(hold(make(SimulatorConfig(), users), speaker, keys))
    return held


def texts(conversation: Conversation) -> list[str]:
    """All that was said in it."""
    said = [text for e in conversation.exchanges for text in (e.reply.text, e.answer.text)]
    return [conversation.opening.text, *said]


def to_row(conversation: Conversation, chat: Chat) -> TokenRow:
    """The ids of a whole conversation; it ends with the policy's last reply."""
    row = TokenRow()
    row.extend(chat.opening(conversation.opening.text))
    for number, exchange in enumerate(conversation.exchanges, start=1):
        row.extend([*chat.words(exchange.reply.text), chat.end], turn=number)
        if exchange.answer.ended is None:
            row.extend(chat.following(exchange.answer.text))
    return row
