"""Texts of the warm start: dialogues of simulated users, most of them about other things.

The users are answered by an undecided supporter, who speaks through the phrase grammar. In the
dialogues that come first, the replies are replaced by others that say more of the user's words
back: half of their tokens are copied, where it is a third of an undecided supporter's.
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
from harness.train.warm_start.retelling import retold
from harness.train.warm_start.supervised import WeightedRow

USERS = (
    DifficultyConfig(disclosure="free", acceptance="any_kindness"),
    DifficultyConfig(disclosure="hint", acceptance="reasonable"),
    DifficultyConfig(disclosure="never", acceptance="goal_fit"),
)
"""Users of all kinds, as in the code whatever conf/ says: every run starts from one model."""
PLAIN = PolicyConfig()
"""The keys of the warm start at their defaults."""
SEED = 20_260_103
"""Seed of the warm start's users and replies; no run has it."""
AT_ONCE = 100
"""Dialogues with users of one kind before the next kind."""
TELLINGS = 6
"""Dialogues that are made of one conversation, each about other matters."""
USER_WEIGHT = 0.2
"""Weight of the user's tokens in the loss: most of what users tell cannot be foreseen."""
SLOT_WEIGHT = 1.5
"""Weight of tokens that a reply takes from the user's words: the fewest, and the hardest."""


class GrammarSpeaker:
    """An undecided supporter: any strategy, now and then two, rarely something poor."""

    def __init__(self, rng: np.random.Generator, width: str = PLAIN.warm_start_strategies) -> None:
        """`width`: of the strategies that it knows well, as policy.warm_start_strategies."""
        self._rng, self._width = rng, width

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """A random reply in each conversation of `live`."""
        replies = []
        for i, words in zip(live, heard, strict=True):
            self._heard[i].append(words)
            text = grammar.random_reply(self._heard[i], self._rng.random, self._width)
            replies.append(SupporterReply(text))
        return replies


def generate(count: int) -> list[list[str]]:
    """`count` dialogues with training users of all three kinds, most of them retold."""
    return retell(conversations(-(-count // TELLINGS)), count)


def retell(
    conversations: Sequence[Conversation],
    count: int,
    saying_back: bool = False,
    policy: PolicyConfig = PLAIN,
) -> list[list[str]]:
    """`count` dialogues, each conversation told several times if there are fewer.

    With `saying_back`, the replies are replaced by others that say back what the user said.
    `policy`: its share of retold dialogues, and the strategies of those replies.
    """
    rng = np.random.default_rng([SEED, saying_back])
    tellings = -(-count // len(conversations))
    told = [c for c in conversations for _ in range(tellings)][:count]
    share = policy.warm_start_retold
    dialogues = [retold(texts(c), c.opening.state.user.persona, rng, share) for c in told]
    if saying_back:
        for turns in dialogues:
            for n in range(1, len(turns), 2):
                heard, width = turns[:n:2], policy.warm_start_strategies
                turns[n] = grammar.saying_back(heard, rng.random, width)
    return dialogues


def conversations(count: int, width: str = PLAIN.warm_start_strategies) -> list[Conversation]:
    """`count` conversations with training users of all three kinds; `width`: of GrammarSpeaker."""
    held: list[Conversation] = []
    for batch in range(-(-count // AT_ONCE)):
        users = make(SimulatorConfig(), USERS[batch % len(USERS)])
        keys = [ConversationKey(SEED, batch, n, 0) for n in range(min(AT_ONCE, count - len(held)))]
        speaker = GrammarSpeaker(np.random.default_rng([SEED, batch]), width)
        held.extend(rollout(users, speaker, keys))
    return held


def texts(conversation: Conversation) -> list[str]:
    """The turns of a conversation, the user's first and the policy's last."""
    turns = [text for e in conversation.exchanges for text in (e.reply.text, e.answer.text)]
    return [conversation.opening.text, *turns[:-1]]


def to_row(turns: Sequence[str], chat: Chat) -> WeightedRow:
    """The ids of a whole dialogue; user and policy take turns, and the policy has the last."""
    row = WeightedRow([], [], [])
    for number, text in enumerate(turns):
        if number % 2:
            spans = grammar.slot_spans(text, turns[:number:2])
            for token, begin, end in chat.placed(text):
                copied = any(begin <= until and end > since for since, until in spans)
                row.extend([token], SLOT_WEIGHT if copied else 1.0, own=True)
            row.extend([chat.end], 1.0, own=True)
        else:
            row.extend(chat.following(text) if number else chat.opening(text), USER_WEIGHT)
    return row
