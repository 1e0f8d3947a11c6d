"""Texts of the warm start: rows that teach copying, then dialogues of simulated users.

A copying row is some random tokens, then spans of them again. Nothing can be remembered, so the
model must find the token before in the row and repeat what followed it: the induction heads of
arXiv 2209.11895. Dialogues alone did not bring them about within 1,000 steps of a small model; on
these rows they appear within 500 short steps, and stay. The dialogues' users are answered by an
undecided supporter, who speaks through the phrase grammar.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.policy.chat import Chat
from harness.policy.grammar import random_reply
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.train.engines.scoring import TokenRow
from harness.train.rollout.conversation import Conversation, rollout
from harness.train.warm_start.retelling import retold

USERS = (
    DifficultyConfig(disclosure="free", acceptance="any_kindness"),
    DifficultyConfig(disclosure="hint", acceptance="reasonable"),
    DifficultyConfig(disclosure="never", acceptance="goal_fit"),
)
"""Users of all kinds, as in the code whatever conf/ says: every run starts from one model."""
SEED = 20_260_103
"""Seed of the warm start's users and replies; no run has it."""
AT_ONCE = 100
"""Dialogues with users of one kind before the next kind."""


class GrammarSpeaker:
    """An undecided supporter: any strategy, now and then two, rarely something poor."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """A random reply in each conversation of `live`."""
        replies = []
        for i, words in zip(live, heard, strict=True):
            self._heard[i].append(words)
            replies.append(SupporterReply(random_reply(self._heard[i], self._rng.random)))
        return replies


def generate(count: int) -> list[list[str]]:
    """`count` dialogues with training users of all three kinds, most of them retold."""
    conversations: list[Conversation] = []
    for batch in range(-(-count // AT_ONCE)):
        users = make(SimulatorConfig(), USERS[batch % len(USERS)])
        keys = [
            ConversationKey(SEED, batch, n, 0)
            for n in range(min(AT_ONCE, count - len(conversations)))
        ]
        speaker = GrammarSpeaker(np.random.default_rng([SEED, batch]))
        conversations.extend(rollout(users, speaker, keys))
    rng = np.random.default_rng(SEED)
    return [retold(texts(c), c.opening.state.user.persona, rng) for c in conversations]


def texts(conversation: Conversation) -> list[str]:
    """The turns of a conversation, the user's first and the policy's last."""
    turns = [text for e in conversation.exchanges for text in (e.reply.text, e.answer.text)]
    return [conversation.opening.text, *turns[:-1]]


def to_row(turns: Sequence[str], chat: Chat) -> TokenRow:
    """The ids of a whole dialogue; user and policy take turns, and the policy has the last."""
    row = TokenRow()
    for number, text in enumerate(turns):
        if number % 2:
            row.extend([*chat.words(text), chat.end], turn=number // 2 + 1)
        else:
            row.extend(chat.following(text) if number else chat.opening(text))
    return row


SOURCE = (8, 16)
"""Fewest random tokens, and one more than the most."""
SPANS = 3
SPAN = (3, 7)
"""Fewest tokens of a span, and one more than the most."""


def copy_rows(count: int, ids: range, seed: int) -> list[TokenRow]:
    """`count` rows of tokens from `ids`; their own tokens are those that can be copied."""
    rng = np.random.default_rng(seed)
    return [_copy_row(ids, rng) for _ in range(count)]


def _copy_row(ids: range, rng: np.random.Generator) -> TokenRow:
    source = rng.integers(ids.start, ids.stop, rng.integers(*SOURCE)).tolist()
    row = TokenRow()
    row.extend(source)
    for span in range(SPANS):
        length = int(rng.integers(*SPAN))
        start = int(rng.integers(len(source) - length + 1))
        row.extend(source[start : start + 1])
        row.extend(source[start + 1 : start + length], turn=span + 1)
    return row
