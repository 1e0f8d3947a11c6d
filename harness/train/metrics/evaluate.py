"""The common yardstick: the same held-out users at every evaluation, in every run, at every level.

What is measured is the users' own final emotion / 100, never what was reported to the trainer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from harness.config.run import LEVELS, DifficultyConfig, RunConfig
from harness.simulator.factory import make
from harness.simulator.protocol import HELD_OUT, ConversationKey
from harness.train.algorithms.advantages import FloatArray
from harness.train.rollout.conversation import Conversation, InWaves, Speaker, hold
from harness.train.rollout.mixed_levels import SideBySide

USERS = 64
"""Held-out conversations at each level."""
SEED = 20_260_101
"""Of the evaluation's users, and for the speaker given to `evaluate`; no run's own seed."""


def due(step: int, config: RunConfig) -> bool:
    """Whether step `step` is evaluated: 1, every trainer.eval_every after it, and the last."""
    trainer = config.trainer
    return (step - 1) % trainer.eval_every == 0 or step == trainer.steps


def keys(users: int = USERS) -> list[ConversationKey]:
    """The held-out conversations: the same users, and the same draws of theirs, at every level."""
    return [ConversationKey(SEED, 0, user, 0, HELD_OUT) for user in range(users)]


def draws() -> np.random.Generator:
    """The same at every evaluation, for a speaker that draws an act a reply."""
    return np.random.default_rng(SEED)


class ByTurn:
    """The uniforms of a language model's evaluation, by wave and turn alone.

    In one stream a further level would move those of every later turn at all levels.
    """

    def __init__(self, wave: int) -> None:
        self._wave, self._turn = wave, 0

    def random(self, shape: tuple[int, int]) -> FloatArray:
        """Shape (conversations, tokens); a row is the same whatever rows come after it."""
        self._turn += 1
        return np.random.default_rng([SEED, self._wave, self._turn]).random(shape)


def evaluate(config: RunConfig, speaker: Speaker | InWaves[Speaker]) -> dict[str, float]:
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


def lost_shares(values: Mapping[str, float | None]) -> dict[str, float]:
    """Share of the held-out users that an evaluation has lost, by level, the run's own first."""
    names = {"its own": "eval/failed", **{name: f"eval/{name}/failed" for name in LEVELS}}
    return {name: (values.get(key) or 0.0) / USERS for name, key in names.items()}


def finals(
    config: RunConfig, speaker: Speaker | InWaves[Speaker], users: int | None = None
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Final emotion / 100 of each user, shape (users,): at the run's own level, and at each named.

    `users`: at each level; USERS where it is None.

    nan where the simulator failed.

    `speaker` must draw from `draws` or `ByTurn`, which are no run's own, so that an evaluation
    neither moves the training's draws nor depends on when it is held.
    """
    users = USERS if users is None else users
    levels = [getattr(config.levels, name) for name in LEVELS]
    named = [_nameless(level) for level in levels]
    own = _nameless(config.difficulty)
    if own not in named:
        levels.append(config.difficulty)
    owners = [number for number in range(len(levels)) for _ in range(users)]
    side_by_side = SideBySide([make(config.simulator, level) for level in levels], owners)
    held = hold(side_by_side, speaker, keys(users) * len(levels))
    found = np.array([_final(c) for c in held]).reshape(len(levels), users)
    mine = found[named.index(own) if own in named else -1]
    return mine, dict(zip(LEVELS, found, strict=False))


def _final(conversation: Conversation) -> float:
    last = conversation.last
    return math.nan if last.ended == "failed" else last.emotion / 100


def _known_mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _nameless(difficulty: DifficultyConfig) -> DifficultyConfig:
    return replace(difficulty, name="")
