"""Fixed evaluations: held-out users, and frozen prefixes, the same in every run at every level.

Held-out users measure the final emotion / 100, never what was reported to the trainer. H of a batch
is taken over the states a run visits, and a hard user steers to other states: the prefixes, the
same for every difficulty and seed, hold the states still.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from harness.config.run import LEVELS, STRATEGIES, DifficultyConfig, RunConfig, SimulatorConfig
from harness.policy.grammar import speak
from harness.simulator.factory import make
from harness.simulator.protocol import HELD_OUT, ConversationKey, SupporterReply
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.batch import SideBySide
from harness.train.rollout.conversation import Conversation, InWaves, Speaker, rollout

USERS = 64
"""Held-out conversations at each level."""
SEED = 20_260_101
"""Seed of the held-out users and of the speaker given to `evaluate`; no run has it."""
OPENERS = 32
MID_CONVERSATION = 32
PROBE_SEED = 20_260_102
"""Seed of the prefixes' users and replies; no run has it."""
LONGEST = 4
"""Replies in the longest prefixes; the shortest mid-conversation ones have one."""


def due(step: int, config: RunConfig) -> bool:
    """Whether step `step` is evaluated: 1, every trainer.eval_every after it, and the last."""
    trainer = config.trainer
    return (step - 1) % trainer.eval_every == 0 or step == trainer.steps


def keys(users: int = USERS) -> list[ConversationKey]:
    """Keys of the held-out conversations: the same users, with the same draws, at every level."""
    return [ConversationKey(SEED, 0, user, 0, HELD_OUT) for user in range(users)]


def evaluation_rng() -> np.random.Generator:
    """A generator that is the same at every evaluation, for a speaker that draws acts."""
    return np.random.default_rng(SEED)


class ByTurn:
    """The uniforms of a language model's evaluation, keyed by wave and turn alone.

    In one stream, a further level would shift those of every later turn at all levels.
    """

    def __init__(self, wave: int) -> None:
        self._wave, self._turn = wave, 0

    def random(self, shape: tuple[int, int]) -> FloatArray:
        """Uniforms of shape (conversations, tokens); a row does not depend on those after it."""
        self._turn += 1
        return np.random.default_rng([SEED, self._wave, self._turn]).random(shape)


def evaluate(config: RunConfig, speaker: Speaker | InWaves[Speaker]) -> dict[str, float]:
    """eval/*: rewards with the standard error of the run's own level, and lost users, by level."""
    own, by_level = finals(config, speaker)
    known = own[np.isfinite(own)]
    error = float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.nan
    return {
        "eval/reward": _known_mean(own),
        "eval/reward_se": error,
        "eval/failed": float(np.isnan(own).sum()),
        **{f"eval/{name}/reward": _known_mean(final) for name, final in by_level.items()},
        **{f"eval/{name}/failed": float(np.isnan(final).sum()) for name, final in by_level.items()},
    }


def lost_shares(values: Mapping[str, float | None]) -> dict[str, float]:
    """Share of held-out users lost in an evaluation's `values`, by level, the run's own first."""
    names = {"its own": "eval/failed", **{name: f"eval/{name}/failed" for name in LEVELS}}
    return {name: (values.get(key) or 0.0) / USERS for name, key in names.items()}


def finals(
    config: RunConfig, speaker: Speaker | InWaves[Speaker], users: int | None = None
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Final emotion / 100 of each user: at the run's own level, and by name at the others.

    Shapes (users,), nan where the simulator failed; `users`: at each level, USERS if None.

    `speaker` must draw from `evaluation_rng` or `ByTurn`, so that an evaluation neither shifts the
    training's random numbers nor depends on when it happens.
    """
    users = USERS if users is None else users
    levels = [getattr(config.levels, name) for name in LEVELS]
    nameless = [_nameless(level) for level in levels]
    own = _nameless(config.difficulty)
    if own not in nameless:
        levels.append(config.difficulty)
    owners = [number for number in range(len(levels)) for _ in range(users)]
    side_by_side = SideBySide([make(config.simulator, level) for level in levels], owners)
    conversations = rollout(side_by_side, speaker, keys(users) * len(levels))
    by_level = np.array([_final(c) for c in conversations]).reshape(len(levels), users)
    own_level = by_level[nameless.index(own) if own in nameless else -1]
    return own_level, dict(zip(LEVELS, by_level, strict=False))


def _final(conversation: Conversation) -> float:
    last = conversation.last
    return math.nan if last.ended == "failed" else last.emotion / 100


def _known_mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _nameless(difficulty: DifficultyConfig) -> DifficultyConfig:
    return replace(difficulty, name="")


@dataclass(frozen=True, slots=True)
class Prefix:
    """A conversation up to the policy's next reply."""

    turns: tuple[tuple[str, str], ...]
    """(speaker, text), speaker being user or policy; the first and the last are the user's."""
    strategies: tuple[str, ...]
    """The strategy of each of the policy's replies."""

    @property
    def heard(self) -> tuple[str, ...]:
        """The user's turns."""
        return tuple(text for speaker, text in self.turns if speaker == "user")


@lru_cache(maxsize=1)
def prefixes() -> tuple[Prefix, ...]:
    """The frozen prefixes: OPENERS openings, then MID_CONVERSATION with one to LONGEST replies.

    Users have the code's default difficulty, medium, whatever conf/ says; replies come from the
    phrase grammar, each with a strategy drawn uniformly.
    """
    replies = [0] * OPENERS + [1 + n % LONGEST for n in range(MID_CONVERSATION)]
    return tuple(_prefix(number, count) for number, count in enumerate(replies))


def _prefix(number: int, replies: int) -> Prefix:
    """Prefix `number`, shorter than `replies` only if its user left earlier."""
    simulator = make(SimulatorConfig(), DifficultyConfig())
    rng = np.random.default_rng([PROBE_SEED, number])
    turn = simulator.open([ConversationKey(PROBE_SEED, 0, number, 0)])[0]
    turns, strategies = [("user", turn.text)], list[str]()
    for _ in range(replies):
        strategy = STRATEGIES[rng.integers(len(STRATEGIES))]
        heard = [text for speaker, text in turns if speaker == "user"]
        text = speak(strategy, heard, rng.random)
        answer = simulator.answer([turn], [SupporterReply(text)])[0]
        if answer.ended is not None:
            break
        turn = answer
        turns += [("policy", text), ("user", turn.text)]
        strategies.append(strategy)
    return Prefix(tuple(turns), tuple(strategies))
