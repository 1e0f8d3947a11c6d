"""Represent a pilot: the runs of each level, reduced to the numbers that a plan needs.

A pilot is read from run folders or shipped with the package (`shipped`). Both have this type.
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
from harness.planning.exclusions import EndedEarly, ExcludedRun
from harness.records.study_file import EVALUATION

OWN_USERS = "each level's own users"
BySeed = tuple[float | None, ...]
"""One number per seed, in the order of the level's seeds; None if the log lacks it."""


@dataclass(frozen=True)
class PilotRunCost:
    """The mean cost of a run, in hours of one worker."""

    training_h: float
    evaluating_h: float
    is_cpu: bool
    gpu_h: float | None = None
    """GPU hours of a run by wall clock; None for a run without a GPU."""


@dataclass(frozen=True)
class PilotLevel:
    """The finished runs of one level, which differ only in the seed."""

    config: Mapping[str, Any]
    """Dotted key -> value, without the seed."""
    seeds: tuple[int, ...]
    values: Mapping[str, Mapping[int, BySeed]]
    """Quantity -> last step used -> its value."""
    errors: Mapping[str, BySeed] = field(default_factory=dict)
    """Quantity with weighted runs -> the half-width of each run's own 95% interval."""
    evaluations: tuple[int, ...] = ()
    """The steps at which the reward was evaluated."""
    per_user: float | None = None
    """Seed x user variance of the mean reward of one user; None if the runs have no outcomes."""
    per_conversation: float | None = None
    """The part of `per_user` that decreases with eval.repeats, for one conversation; None with one
    repeat."""
    spent: PilotRunCost | None = None
    of_own_users: Mapping[str, BySeed] = field(default_factory=dict)
    """Quantity that is a reward -> its value at the end on the level's own held-out users; empty
    for shipped levels."""

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
        """Return the values of a quantity at a step, shape (seeds,), NaN where there is none."""
        by_seed = self.values.get(quantity, {}).get(step, (None,) * len(self.seeds))
        return np.array([np.nan if v is None else v for v in by_seed], dtype=float)

    def evaluation_variance(self, users: int, repeats: int) -> float | None:
        """Return the part of the variance over seeds that is due to the size of the evaluation.

        It is the interaction of seed and user. Effects of users alone cancel in differences,
        because all runs use the same users and random draws. A pilot with one repeat does not show
        what more repeats save, so they are assumed to save nothing. None if it is not known.
        """
        if self.per_user is None:
            return None
        if self.per_conversation is None:
            return self.per_user / users
        constant = self.per_user - self.per_conversation / self.repeats
        return max(0.0, constant + self.per_conversation / repeats) / users


@dataclass(frozen=True)
class Pilot:
    """The levels of a comparison, as measured."""

    source: str
    """The origin of the numbers."""
    levels: tuple[PilotLevel, ...]
    column: str | None
    """The reward column that the levels are compared on; None if they share none."""
    tested: tuple[str, ...]
    """The quantities of contrasts that fit-entropy-law can test on these runs; they share the error
    rate."""
    why_not: Mapping[str, str] = field(default_factory=dict)
    """Quantity -> the reason why it cannot be compared between these levels."""
    left_out: tuple[ExcludedRun, ...] = ()
    """Runs of these levels that are not used."""
    ended_early: tuple[EndedEarly, ...] = ()
    """Used runs that trainer.stop_when ended."""

    def column_of(self, quantity: str) -> str | None:
        """Return the reward column of a quantity. Links use an evaluation on common users."""
        if quantity in CONTRASTED or self.column in COMMON:
            return self.column
        return EVALUATION

    def users_of(self, quantity: str) -> str | None:
        """Return the users whose reward a quantity measures, such as `medium's users`.

        None if the quantity is no reward.
        """
        column = self.column_of(quantity)
        if column is None or QUANTITIES[quantity].unit != REWARD:
            return None
        if column in COMMON:
            return f"{column.split('/')[1]}'s users"
        return OWN_USERS if column == HELD_OUT else f"column {column}"

    @property
    def seeds(self) -> int:
        """The smallest number of seeds in a level."""
        return min((len(level.seeds) for level in self.levels), default=0)


def to_json(level: PilotLevel) -> dict[str, Any]:
    return asdict(level)


def from_json(record: Mapping[str, Any]) -> PilotLevel:
    """Parse the output of `to_json`, in which steps have become strings."""
    spent = record["spent"]
    return PilotLevel(
        config=record["config"],
        seeds=tuple(record["seeds"]),
        values={
            quantity: {int(step): tuple(values) for step, values in by_step.items()}
            for quantity, by_step in record["values"].items()
        },
        errors={quantity: tuple(errors) for quantity, errors in record["errors"].items()},
        evaluations=tuple(record["evaluations"]),
        per_user=record["per_user"],
        per_conversation=record["per_conversation"],
        spent=PilotRunCost(**spent) if spent else None,
        of_own_users={q: tuple(v) for q, v in record.get("of_own_users", {}).items()},
    )
