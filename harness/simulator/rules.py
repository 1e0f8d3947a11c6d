"""What every simulator holds to: who comes, when a talk ends, what is reported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from harness.config.run import DifficultyConfig
from harness.simulator.draws import normal, pick, uniforms
from harness.simulator.people import EVERYONE, PEOPLE
from harness.simulator.protocol import ConversationKey
from harness.simulator.state import User

_INDEX = {person.name: number for number, person in enumerate(EVERYONE)}


def who(key: ConversationKey, difficulty: DifficultyConfig) -> tuple[User, tuple[float, ...]]:
    """The user whom the keys of one group share, and the uniform draws left for the opening."""
    u = _group_draws(key.seed, key.split, key.step, key.group)
    user = User(
        _INDEX[pick(PEOPLE[key.split], u[0]).name],
        pick(tuple(difficulty.intentions), u[1]),
        pick(tuple(difficulty.temperaments), u[2]),
    )
    return user, u[3:]


@lru_cache(maxsize=1024)
def _group_draws(seed: int, split: str, step: int, group: int) -> tuple[float, ...]:
    """Kept: each conversation of a group asks for them, and once more when it is recorded."""
    return uniforms("user", seed, split, step, group)


def turn_draws(key: ConversationKey, turn: int) -> tuple[float, ...]:
    """The uniform draws of one turn of a conversation."""
    return uniforms(key.seed, key.split, key.step, key.group, key.sample, turn)


def reported_change(change: int, difficulty: DifficultyConfig, u: Sequence[float]) -> float:
    """The change as the trainer hears of it; the user's own emotion does not know of it.

    `u`: the turn's draws, of which it takes numbers 2, 3 and 15.
    """
    reported: float = -change if u[2] < difficulty.reward_flips else change
    if difficulty.reward_noise:
        reported += difficulty.reward_noise * normal(u[3], u[15])
    return reported


def ending(emotion: int, turn: int, difficulty: DifficultyConfig) -> str | None:
    """How the talk ends after reply number `turn`, if it does."""
    if emotion >= 100:
        return "success"
    if emotion < difficulty.stop_below:
        return "left"
    return "cap" if turn >= difficulty.turn_cap else None


def shown(emotion: int, reported: float, ended: str | None) -> tuple[int, float]:
    """Emotion as it is and as the trainer hears of it. Who leaves ends at 0, seen by everyone."""
    return (0, 0.0) if ended == "left" else (emotion, min(100.0, max(0.0, reported)))
