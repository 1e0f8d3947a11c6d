"""Texts of the warm start: dialogues with simulated users, most of them retold.

An undecided supporter answers the users through the phrase grammar. In the first part of the warm
start, the replies are replaced by others that repeat more of the user's words: half of their tokens
are copied, against a third of the undecided supporter's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.config.run import DifficultyConfig, PolicyConfig, SimulatorConfig
from harness.policy import grammar
from harness.policy.chat import Chat
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.train.rollout.conversation import Conversation, rollout
from harness.train.warm_start.retelling import retell_dialogue
from harness.train.warm_start.supervised import WeightedRow

USERS = (
    DifficultyConfig(disclosure="free", acceptance="any_kindness"),
    DifficultyConfig(disclosure="hint", acceptance="reasonable"),
    DifficultyConfig(disclosure="never", acceptance="goal_fit"),
)
"""Users of all kinds, independent of conf/, so that every run starts from the same model."""
PLAIN = PolicyConfig()
"""The keys of the warm start at their defaults."""
SEED = 20_260_103
"""Seed of the warm start's users and replies, which no run uses."""
AT_ONCE = 100
"""Number of dialogues with one kind of user before the next kind."""
TELLINGS = 6
"""Number of dialogues made from one conversation, each about other matters."""
USER_WEIGHT = 0.2
"""Weight of the user's tokens in the loss, small since most of them cannot be predicted."""
SLOT_WEIGHT = 1.5
"""Weight of tokens that a reply copies from the user's words, which are few and hard to learn."""


class GrammarSpeaker:
    """An undecided supporter: random strategies, sometimes two, and rarely a poor reply."""

    def __init__(self, rng: np.random.Generator, width: str = PLAIN.warm_start_strategies) -> None:
        """`width`: the strategies that it knows well, as policy.warm_start_strategies."""
        self._rng, self._width = rng, width

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Return a random reply in each conversation of `live`."""
        replies = []
        for i, message in zip(live, heard, strict=True):
            self._heard[i].append(message)
            text = grammar.random_reply(self._heard[i], self._rng.random, self._width)
            replies.append(SupporterReply(text))
        return replies


def generate(count: int) -> list[list[str]]:
    """Return `count` dialogues with training users of all three kinds, most of them retold."""
    return retell(conversations(-(-count // TELLINGS)), count)


def retell(
    conversations: Sequence[Conversation],
    count: int,
    saying_back: bool = False,
    policy: PolicyConfig = PLAIN,
) -> list[list[str]]:
    """Return `count` dialogues; fewer conversations are told several times each.

    With `saying_back`, the replies are replaced by others that repeat the user's words. `policy`
    sets the share of retold dialogues and the strategies of these replies.
    """
    rng = np.random.default_rng([SEED, saying_back])
    tellings = -(-count // len(conversations))
    repeated = [c for c in conversations for _ in range(tellings)][:count]
    share = policy.warm_start_retold
    dialogues = [
        retell_dialogue(texts(c), c.opening.state.user.persona, rng, share) for c in repeated
    ]
    if saying_back:
        for turns in dialogues:
            for n in range(1, len(turns), 2):
                messages, width = turns[:n:2], policy.warm_start_strategies
                turns[n] = grammar.saying_back(messages, rng.random, width)
    return dialogues


def conversations(count: int, width: str = PLAIN.warm_start_strategies) -> list[Conversation]:
    """Hold `count` conversations with training users of all three kinds.

    `width`: as in GrammarSpeaker.
    """
    finished: list[Conversation] = []
    for batch in range(-(-count // AT_ONCE)):
        users = make(SimulatorConfig(), USERS[batch % len(USERS)])
        keys = [
            ConversationKey(SEED, batch, n, 0) for n in range(min(AT_ONCE, count - len(finished)))
        ]
        speaker = GrammarSpeaker(np.random.default_rng([SEED, batch]), width)
        finished.extend(rollout(users, speaker, keys))
    return finished


def texts(conversation: Conversation) -> list[str]:
    """Return the turns of a conversation, from the user's first to the policy's last."""
    turns = [text for e in conversation.exchanges for text in (e.reply.text, e.answer.text)]
    return [conversation.opening.text, *turns[:-1]]


def to_row(turns: Sequence[str], chat: Chat) -> WeightedRow:
    """Return the tokens and weights of a dialogue, in which user and policy alternate."""
    row = WeightedRow([], [], [])
    for index, text in enumerate(turns):
        if index % 2:
            spans = grammar.slot_spans(text, turns[:index:2])
            for token, begin, end in chat.placed(text):
                is_copied = any(begin <= stop and end > start for start, stop in spans)
                row.extend([token], SLOT_WEIGHT if is_copied else 1.0, own=True)
            row.extend([chat.end], 1.0, own=True)
        else:
            row.extend(chat.following(text) if index else chat.opening(text), USER_WEIGHT)
    return row
