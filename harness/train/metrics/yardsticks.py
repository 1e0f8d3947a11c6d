"""The columns of one level in an evaluation, by which a policy is judged.

Keys are those of harness.records.metrics.EVALUATED; nan is what could not be measured.
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
    """Final emotion / 100, shape (users, repeats); nan where the simulator failed."""
    deaf: FloatArray
    """That of the deaf policy, of any shape; empty if it was not evaluated."""
    strategies: Sequence[Strategies]
    intentions: Sequence[str | None]
    """What each user came for; None where nobody knows."""
    users: Sequence[int]
    share: Callable[[float], float]
    """Share of what listening is worth at the level that a reward has."""


def columns(results: LevelResults) -> dict[str, float]:
    """The level's values by column."""
    outcomes, parts = results.outcomes, repeats.spread(results.outcomes)
    reward = _known_mean(outcomes)
    return {
        "reward": reward,
        "reward_se": parts.se,
        "failed": float(np.isnan(outcomes).sum()),
        "listening": _listening(results),
        "deaf_reward": _known_mean(results.deaf),
        "listening_share": results.share(reward),
        "within_sd": parts.within_sd,
        "between_sd": parts.between_sd,
        **{f"best_at_{k}": repeats.best_of(outcomes, k) for k in REPEATED},
        **{f"success_any_{k}": repeats.success_any(outcomes, k) for k in REPEATED},
        **{f"success_all_{k}": repeats.success_all(outcomes, k) for k in REPEATED},
    }


def listening_by_turn(results: LevelResults) -> dict[str, float]:
    """The level's listening by reply number, as columns; none where no intention is known."""
    parts = listening_by_reply(*_known(results))
    return {f"listening/turn_{number}": nats for number, nats in enumerate(parts, 1)}


def _listening(results: LevelResults) -> float:
    """listening_nats among the users whose intention is known; nan if it is of none."""
    known = _known(results)
    return listening_nats(*known) if known[0] else math.nan


def _known(results: LevelResults) -> tuple[list[Strategies], list[str], list[int]]:
    """Strategies, intention and user of each conversation whose user's intention is known."""
    known = [(n, intention) for n, intention in enumerate(results.intentions) if intention]
    return (
        [results.strategies[n] for n, _ in known],
        [intention for _, intention in known],
        [results.users[n] for n, _ in known],
    )


def _known_mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
