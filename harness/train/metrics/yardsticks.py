"""The metrics of one level in an evaluation.

Keys are those of harness.records.metrics.EVALUATED. A metric that could not be measured is nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.calibration.listening import Strategies, listening_by_reply, listening_nats
from harness.records.metrics import REPEATED
from harness.train.metrics import repeats
from harness.train.policy_gradient.advantages import FloatArray


@dataclass(frozen=True, slots=True)
class LevelResults:
    """The conversations of one level; the sequences run over them."""

    outcomes: FloatArray
    """Final emotion / 100, shape (users, repeats); nan if the simulator failed."""
    deaf: FloatArray
    """Final emotion / 100 of the deaf policy, in any shape; empty if it was not evaluated."""
    strategies: Sequence[Strategies]
    intentions: Sequence[str | None]
    """What each user came for; None if unknown."""
    users: Sequence[int]
    share: Callable[[float], float]
    """Maps a reward to its share of what listening is worth at this level."""


def columns(results: LevelResults) -> dict[str, float]:
    """Return the level's metrics."""
    outcomes, parts = results.outcomes, repeats.variance_components(results.outcomes)
    reward = _finite_mean(outcomes)
    return {
        "reward": reward,
        "reward_se": parts.se,
        "failed": float(np.isnan(outcomes).sum()),
        "listening": _listening(results),
        "deaf_reward": _finite_mean(results.deaf),
        "listening_share": results.share(reward),
        "within_sd": parts.within_sd,
        "between_sd": parts.between_sd,
        **{f"best_at_{k}": repeats.best_of(outcomes, k) for k in REPEATED},
        **{f"success_any_{k}": repeats.success_any(outcomes, k) for k in REPEATED},
        **{f"success_all_{k}": repeats.success_all(outcomes, k) for k in REPEATED},
    }


def listening_by_turn(results: LevelResults) -> dict[str, float]:
    """Return the level's listening by reply number; empty if no intention is known."""
    parts = listening_by_reply(*_with_intention(results))
    return {f"listening/turn_{number}": nats for number, nats in enumerate(parts, 1)}


def _listening(results: LevelResults) -> float:
    """Return listening_nats among users whose intention is known; nan if there are none."""
    inputs = _with_intention(results)
    return listening_nats(*inputs) if inputs[0] else math.nan


def _with_intention(results: LevelResults) -> tuple[list[Strategies], list[str], list[int]]:
    """Return strategies, intentions and users of the conversations with a known intention."""
    pairs = [(n, intention) for n, intention in enumerate(results.intentions) if intention]
    return (
        [results.strategies[n] for n, _ in pairs],
        [intention for _, intention in pairs],
        [results.users[n] for n, _ in pairs],
    )


def _finite_mean(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else math.nan
