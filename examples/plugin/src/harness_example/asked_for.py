"""A simulator: users who want to be asked, and whom all else leaves cold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.config.run import DifficultyConfig
from harness.simulator.factory import SimulatorPlugIn
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.state import ending, shown_emotions

FEELINGS = ("sad", "tired", "lost", "angry", "lonely", "numb", "afraid", "ashamed", "empty", "low")
TOPICS = (
    "my job", "my father", "the move", "an exam", "my flat", "money", "a friend", "my sleep",
    "the news", "my knee",
)  # fmt: skip
WARM = ("Yes, you see it.", "I had not said that aloud.", "It is good to be asked.")
COLD = ("Hm.", "If you say so.", "That is not it.")
LONGEST_QUESTION = 300
START = 40


@dataclass(frozen=True)
class State:
    """What a user remembers; it travels in the turn, so that nothing here is ever changed."""

    key: ConversationKey
    emotion: int
    turn: int = 0


@dataclass(frozen=True)
class Users:
    """The users of one level."""

    difficulty: DifficultyConfig
    warmth: int

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        return [self._opening(key) for key in keys]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        return [self._answer(turn, reply) for turn, reply in zip(turns, replies, strict=True)]

    def _opening(self, key: ConversationKey) -> UserTurn:
        rng = _rng(replace(key, sample=0), 0)  # a group shares its opening
        text = f"I feel {rng.choice(FEELINGS)} because of {rng.choice(TOPICS)}."
        return UserTurn(text, START, None, START, None, (), False, {}, State(key, START))

    def _answer(self, turn: UserTurn, reply: SupporterReply) -> UserTurn:
        if turn.ended is not None:
            raise ValueError(f"a conversation that has ended ({turn.ended}) can not be answered")
        state: State = turn.state
        rng = _rng(state.key, state.turn + 1)
        helps = asks(reply.text)
        change = int(self.warmth if helps else -3 - rng.integers(3))
        emotion = min(100, max(0, state.emotion + change))
        ended = ending(emotion, state.turn + 1, self.difficulty)
        shown, reported = shown_emotions(emotion, emotion, ended)
        return UserTurn(
            text=str(rng.choice(WARM if helps else COLD)),
            emotion=shown,
            change=shown - state.emotion,
            reported_emotion=reported,
            ended=ended,
            strategies=("question",) if helps else (),
            flagged=False,
            why={"asked": float(helps)},
            state=State(state.key, emotion, state.turn + 1),
        )


@dataclass(frozen=True)
class AskedFor(SimulatorPlugIn):
    """Users who want to be asked."""

    warmth: Annotated[int, Between(1, 50)] = 8
    """Rise of a user's emotion with each question."""

    def users(self, difficulty: DifficultyConfig) -> Users:
        return Users(difficulty, self.warmth)


def asks(text: str) -> bool:
    """Whether a reply is a question to the user."""
    return text.endswith("?") and " you" in text and len(text) <= LONGEST_QUESTION


def _rng(key: ConversationKey, turn: int) -> np.random.Generator:
    """Random numbers of one turn, whichever conversations are held beside it."""
    split = key.split.encode()
    return np.random.default_rng([key.seed, key.step, key.group, key.sample, turn, *split])
