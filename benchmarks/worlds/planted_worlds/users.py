"""Scripted users in short talks, changed in ways whose effect on a study is known beforehand.

Each talk has two replies, with steps twice as large, so that a run is cheap. A change acts on what
users say, on what they report or on what is left of it, never on how they take a reply: that is the
scripted user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

from harness.config.ranges import Between, OneOf, Unit
from harness.config.run import DifficultyConfig
from harness.simulator.draws import normal, uniforms
from harness.simulator.factory import SimulatorPlugIn
from harness.simulator.protocol import (
    HELD_OUT,
    TRAIN,
    ConversationKey,
    SupporterReply,
    UserSimulator,
    UserTurn,
)
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.state import User, draw_user

REPLIES, STEP, CLAMP = 2, 10, 20
SALTED = 1_000_000
"""Between the seeds of two salts: no study has so many."""
SILENT_WORDS = "I feel sad."
TOSSED_SHARE = 0.25
"""Share of replies that are heard as advice where a coin decides."""


@dataclass(frozen=True)
class Planted(SimulatorPlugIn):
    """The scripted users of the level, with what is planted in them."""

    salt: Annotated[int, Between(0, 1000)] = 0
    """Draws the training users, and all that is random about them, by other numbers. Runs that
    differ in nothing else follow one law, and differ by chance alone."""
    words: Annotated[str, OneOf(("level", "open", "none"))] = "level"
    """What users say: as the level has it, what they came for outright, or always the same."""
    carried: Annotated[float, Between(0, 1)] = 1.0
    """Share of the change by a talk that held-out users keep. Training knows nothing of it."""
    shared_noise: Annotated[float, Between(0, 100), Unit("points")] = 0.0
    """Standard deviation of what is added to the reports of a whole group of training users alike,
    which a group's mean takes off again."""
    advice: Annotated[str, OneOf(("heard", "tossed"))] = "heard"
    """tossed: whether a reply is heard as advice is drawn, whatever it says."""
    account: bool = True
    """Whether an answer says by what the reply moved the user, of which a critique is made."""

    def users(self, difficulty: DifficultyConfig) -> UserSimulator:
        return PlantedUsers(self, _scripted(self.level(difficulty)))

    def user(self, key: ConversationKey, difficulty: DifficultyConfig) -> User:
        return draw_user(self.salted(key), self.level(difficulty))[0]

    def level(self, difficulty: DifficultyConfig) -> DifficultyConfig:
        """The level that is met instead of `difficulty`."""
        disclosure = "free" if self.words == "open" else difficulty.disclosure
        return replace(
            difficulty, turn_cap=REPLIES, step_size=STEP, clamp=CLAMP, disclosure=disclosure
        )

    def salted(self, key: ConversationKey) -> ConversationKey:
        """The key that a training user is drawn by; held-out users are the same in every run."""
        return key if key.split == HELD_OUT else replace(key, seed=key.seed + self.salt * SALTED)


@dataclass(frozen=True)
class PlantedUsers:
    """The users of one level."""

    planted: Planted
    scripted: ScriptedSimulator

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        turns = self.scripted.open([self.planted.salted(key) for key in keys])
        return [self._told(turn) for turn in turns]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        return [self._told(turn) for turn in self.scripted.answer(turns, replies)]

    def _told(self, turn: UserTurn) -> UserTurn:
        """The turn as the trainer and the policy get it."""
        planted, key = self.planted, turn.state.key
        if planted.words == "none":
            turn = replace(turn, text=SILENT_WORDS if turn.ended is None else "")
        if planted.carried < 1 and key.split == HELD_OUT and turn.ended is not None:
            turn = replace(turn, emotion=self._carried(turn.emotion))
        if planted.shared_noise and key.split == TRAIN:
            u = uniforms("shared", key.seed, key.step, key.group)
            shared = planted.shared_noise * normal(u[0], u[1])
            turn = replace(turn, reported_emotion=turn.reported_emotion + shared)
        if planted.advice == "tossed" and turn.change is not None:
            turn = replace(turn, strategies=_tossed(key, turn.state.turn))
        return turn if planted.account else replace(turn, why={})

    def _carried(self, emotion: int) -> int:
        start = self.scripted.difficulty.start_emotion
        return round(start + self.planted.carried * (emotion - start))


def _tossed(key: ConversationKey, turn: int) -> tuple[str]:
    u = uniforms("tossed", key.seed, key.split, key.step, key.group, key.sample, turn)
    return ("suggest",) if u[0] < TOSSED_SHARE else ("other",)


def _scripted(difficulty: DifficultyConfig) -> ScriptedSimulator:
    """Kept, since a simulator remembers what held-out users said to what they hear again."""
    return _kept(_Level(difficulty))


@dataclass(frozen=True, eq=False)
class _Level:
    """A level told apart by its values, which hold lists."""

    difficulty: DifficultyConfig

    def __hash__(self) -> int:
        return hash(repr(self.difficulty))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Level) and repr(self.difficulty) == repr(other.difficulty)


@lru_cache(maxsize=8)
def _kept(level: _Level) -> ScriptedSimulator:
    return ScriptedSimulator(level.difficulty)
