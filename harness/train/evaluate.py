"""The common yardstick: the same held-out users at every evaluation, in every run, at every level.

What is measured is the users' own final emotion / 100, never what was reported to the trainer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.config import LEVELS, DifficultyConfig, RunConfig
from harness.simulator.factory import make
from harness.simulator.protocol import (
    HELD_OUT,
    ConversationKey,
    SupporterReply,
    UserSimulator,
    UserTurn,
)
from harness.train.advantages import FloatArray
from harness.train.conversation import Conversation, Speaker, hold

USERS = 64
"""Held-out conversations at each level."""
SEED = 20_260_101
"""Of the evaluation's users, and for the speaker given to `evaluate`; no run's own seed."""


def due(step: int, config: RunConfig) -> bool:
    """Whether step `step` is evaluated: 1, every trainer.eval_every after it, and the last."""
    trainer = config.trainer
    return (step - 1) % trainer.eval_every == 0 or step == trainer.steps


def keys(users: int = USERS) -> list[ConversationKey]:
    """The held-out conversations: the same users, and the same draws, at every level."""
    return [ConversationKey(SEED, 0, user, 0, HELD_OUT) for user in range(users)]


def evaluate(config: RunConfig, speaker: Speaker) -> dict[str, float]:
    """eval/reward, its standard error, and eval/LEVEL/reward, from one batch of conversations."""
    mine, named = finals(config, speaker)
    known = mine[np.isfinite(mine)]
    error = float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.nan
    return {
        "eval/reward": _known_mean(mine),
        "eval/reward_se": error,
        "eval/failed": float(np.isnan(mine).sum()),
        **{f"eval/{name}/reward": _known_mean(final) for name, final in named.items()},
        **{f"eval/{name}/failed": float(np.isnan(final).sum()) for name, final in named.items()},
    }


def finals(
    config: RunConfig, speaker: Speaker, users: int = USERS
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Final emotion / 100 of each user, shape (users,): at the run's own level, and at each named.

    nan where the simulator failed.

    `speaker` must draw from a generator of its own, seeded by SEED, so that an evaluation
    neither moves the training's draws nor depends on when it is held.
    """
    levels = [getattr(config.levels, name) for name in LEVELS]
    named = [_nameless(level) for level in levels]
    own = _nameless(config.difficulty)
    if own not in named:
        levels.append(config.difficulty)
    side_by_side = SideBySide([make(config.simulator, level) for level in levels], users)
    held = hold(side_by_side, speaker, keys(users) * len(levels))
    found = np.array([_final(c) for c in held]).reshape(len(levels), users)
    mine = found[named.index(own) if own in named else -1]
    return mine, dict(zip(LEVELS, found, strict=False))


class SideBySide:
    """Several simulators as one: conversation i belongs to simulator i // `each`."""

    def __init__(self, simulators: Sequence[UserSimulator], each: int) -> None:
        self._simulators, self._each = simulators, each

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Openings; each turn's state remembers whose it is."""
        turns: list[UserTurn] = []
        for number, simulator in enumerate(self._simulators):
            mine = keys[number * self._each : (number + 1) * self._each]
            turns.extend(_marked(number, turn) for turn in simulator.open(mine))
        return turns

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Each reply answered by the simulator that its conversation belongs to."""
        answers: list[UserTurn] = list(turns)
        for number, simulator in enumerate(self._simulators):
            mine = [i for i, turn in enumerate(turns) if turn.state[0] == number]
            plain = [replace(turns[i], state=turns[i].state[1]) for i in mine]
            given = simulator.answer(plain, [replies[i] for i in mine])
            for i, turn in zip(mine, given, strict=True):
                answers[i] = _marked(number, turn)
        return answers


def _marked(number: int, turn: UserTurn) -> UserTurn:
    return replace(turn, state=(number, turn.state))


def _final(conversation: Conversation) -> float:
    last = conversation.last
    return math.nan if last.ended == "failed" else last.emotion / 100


def _known_mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _nameless(difficulty: DifficultyConfig) -> DifficultyConfig:
    return replace(difficulty, name="")
