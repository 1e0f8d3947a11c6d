"""What a plan knows: runs of each level, reduced to the numbers that a plan follows from.

A pilot is read from run folders, or shipped with the package (`shipped`); both are this one type,
so that nothing is planned from one that could not be planned from the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from harness.law.compare.quantities import CONTRASTED, QUANTITIES, REWARD
from harness.law.compare.replicates import COMMON
from harness.law.io.columns import EVALUATION as HELD_OUT
from harness.law.results import Floats
from harness.planning.exclusions import EndedEarly, LeftOut
from harness.records.study_file import EVALUATION

OWN_USERS = "each level's own users"
BySeed = tuple[float | None, ...]
"""A number of each seed, in the order of the level's seeds; None where its log does not tell."""


@dataclass(frozen=True)
class Spent:
    """What a run cost, in hours of one worker, mean over the seeds."""

    training_h: float
    evaluating_h: float
    is_cpu: bool
    gpu_h: float | None = None
    """Wall clock of a run that held a GPU; None for one that held none."""


@dataclass(frozen=True)
class Level:
    """The finished runs of one level, alike in all but the seed."""

    config: Mapping[str, Any]
    """Dotted key -> value, without the seed."""
    seeds: tuple[int, ...]
    values: Mapping[str, Mapping[int, BySeed]]
    """Quantity -> last step that counts -> its value."""
    errors: Mapping[str, BySeed] = field(default_factory=dict)
    """Quantity whose runs are weighed -> the half-width of each run's own 95% interval."""
    evaluations: tuple[int, ...] = ()
    """The steps at which the reward was evaluated."""
    per_user: float | None = None
    """Variance over seeds of one user's mean reward that is the seed's and user's together; None
    where the runs do not tell."""
    per_conversation: float | None = None
    """The part of it that falls with eval.repeats, of one conversation; None with one repeat."""
    spent: Spent | None = None
    of_own_users: Mapping[str, BySeed] = field(default_factory=dict)
    """Quantity that is a reward -> its value on the level's own held-out users, at the end; shipped
    levels have none."""

    @property
    def steps(self) -> int:
        return int(self.config["trainer.steps"])

    @property
    def users(self) -> int:
        return int(self.config["eval.users"])

    @property
    def repeats(self) -> int:
        return int(self.config["eval.repeats"])

    def at(self, quantity: str, step: int) -> Floats:
        """The values, shape (seeds,), NaN where there is none."""
        held = self.values.get(quantity, {}).get(step, (None,) * len(self.seeds))
        return np.array([np.nan if v is None else v for v in held], dtype=float)

    def evaluation_variance(self, users: int, repeats: int) -> float | None:
        """The variance over seeds of a run's mean reward that is that of its evaluation: users by
        chance liked by one seed's policy and not by another's. Every run meets the same users with
        the same draws, so what they share is in no difference. None where it is not known.
        """
        if self.per_user is None:
            return None
        if self.per_conversation is None:
            return self.per_user / users if repeats == self.repeats else None
        always = self.per_user - self.per_conversation / self.repeats
        return max(0.0, always + self.per_conversation / repeats) / users


@dataclass(frozen=True)
class Pilot:
    """The levels of a comparison, as measured."""

    source: str
    """Where the numbers are from."""
    levels: tuple[Level, ...]
    column: str | None
    """The reward column that the levels are compared on; None where they share none."""
    tested: tuple[str, ...]
    """The contrasted quantities that these runs let fit-entropy-law test: they share its error."""
    why_not: Mapping[str, str] = field(default_factory=dict)
    """Quantity -> why it cannot be compared between these levels."""
    left_out: tuple[LeftOut, ...] = ()
    """Runs of these levels that are not in it."""
    ended_early: tuple[EndedEarly, ...] = ()
    """Runs in it that trainer.stop_when ended."""

    def column_of(self, quantity: str) -> str | None:
        """The reward column that a quantity is taken on: of a link one on common users."""
        if quantity in CONTRASTED or self.column in COMMON:
            return self.column
        return EVALUATION

    def users_of(self, quantity: str) -> str | None:
        """`medium's users`: whose reward a quantity is of; None of one that is no reward."""
        column = self.column_of(quantity)
        if column is None or QUANTITIES[quantity].unit != REWARD:
            return None
        if column in COMMON:
            return f"{column.split('/')[1]}'s users"
        return OWN_USERS if column == HELD_OUT else f"column {column}"

    @property
    def seeds(self) -> int:
        """The fewest of a level."""
        return min((len(level.seeds) for level in self.levels), default=0)


def to_json(level: Level) -> dict[str, Any]:
    return asdict(level)


def from_json(held: Mapping[str, Any]) -> Level:
    """The inverse of `to_json`, whose steps became text."""
    spent = held["spent"]
    return Level(
        config=held["config"],
        seeds=tuple(held["seeds"]),
        values={
            quantity: {int(step): tuple(values) for step, values in by_step.items()}
            for quantity, by_step in held["values"].items()
        },
        errors={quantity: tuple(errors) for quantity, errors in held["errors"].items()},
        evaluations=tuple(held["evaluations"]),
        per_user=held["per_user"],
        per_conversation=held["per_conversation"],
        spent=Spent(**spent) if spent else None,
        of_own_users={q: tuple(v) for q, v in held.get("of_own_users", {}).items()},
    )
