"""The columns of a log: those the law is fitted to, and those beside H and R that explain it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.io.clean import FEWEST_POINTS, HIGHEST_ENTROPY_NATS, Cleaned
from harness.law.io.importers import aliases
from harness.law.io.table import ReadError, Table, ours
from harness.law.results import Floats

EVALUATION = "eval/reward"
_EVALUATED = re.compile(r"eval/(\w+/)?reward")
TRAINING = "reward"
ENTROPY = "entropy"


@dataclass(frozen=True)
class Choice:
    """The columns the user named; None where the choice is the log's."""

    reward: str | None
    entropy: str | None
    forecast_from: float | None = None
    """Share of each run from which its end is to be predicted."""
    step: str | None = None
    reward_range: tuple[float, float] | None = None
    """Lowest and highest value that R can take, as the user declared it."""


@dataclass(frozen=True)
class Chosen:
    """The names the log itself has for them."""

    entropy: str
    reward: str
    """The one the verdict is about."""
    training: str
    """The reward of the same batch."""


def reward_range(column: str, ours: bool, choice: Choice) -> tuple[float, float] | None:
    """Lowest and highest value there can be; None where neither user nor column says."""
    known = (0.0, 1.0) if ours and is_evaluation(column) else None
    return choice.reward_range or known


def is_evaluation(column: str) -> bool:
    """Whether it is the reward on held-out users, as runs of this project call it; its first value
    is that of the policy before its first update.
    """
    return _EVALUATED.fullmatch(column) is not None


def to_read(choice: Choice, beside: Sequence[str]) -> list[str]:
    """Every column a run is read for; what a log calls them otherwise, the reader finds."""
    named = [name for name in (choice.entropy, choice.reward) if name]
    return list(dict.fromkeys(["step", ENTROPY, TRAINING, EVALUATION, *named, *beside]))


def choose(table: Table, choice: Choice, in_run_folder: bool) -> Chosen:
    """`in_run_folder`: whether the log is one of ours, where eval/reward means what we mean.

    Raises ReadError with missing_column, naming what was looked for.
    """
    names = table.names
    entropy = choice.entropy or aliases.first(names, aliases.ENTROPIES)
    training = TRAINING if ours(names) else aliases.first(names, aliases.REWARDS) or TRAINING
    if "step" not in names or choice.step not in (None, *names):
        what = f"a column {choice.step!r}" if choice.step else "a step"
        raise _missing(table, what, aliases.STEPS, "--step")
    if entropy is None or entropy not in names:
        raise _missing(table, _what("policy entropy", entropy), aliases.ENTROPIES, "--entropy")
    reward = choice.reward or _headline(table, entropy, training, in_run_folder)
    if reward not in names:
        raise _missing(table, _what("reward", choice.reward), aliases.REWARDS, "--reward")
    return Chosen(entropy, reward, training)


def _headline(table: Table, entropy: str, training: str, in_run_folder: bool) -> str:
    """Validation is the paper's reward; in another program's log it is fitted on request."""
    if EVALUATION not in table.names or not ours(table.names):
        return training
    if training not in table.names:
        return EVALUATION
    both = np.isfinite(table.columns[EVALUATION]) & np.isfinite(table.columns[entropy])
    return EVALUATION if in_run_folder and both.sum() >= FEWEST_POINTS else training


def _what(quantity: str, named: str | None) -> str:
    return f"a column {named!r}" if named else f"a column of {quantity}"


def _missing(table: Table, what: str, looked_for: tuple[str, ...], option: str) -> ReadError:
    has = ", ".join(table.names[:12]) + (", ..." if len(table.names) > 12 else "")
    looked = "" if "'" in what else f"; looked for {', '.join(looked_for)}"
    hint = f"; {option} COLUMN names another" if option else ""
    message = f"{table.path}: needs {what}, has {has or 'none'}{looked}{hint}"
    return ReadError("missing_column", message)


PROBE = "entropy/probe"
ENTROPY_SE = "entropy_se"
ZERO_VARIANCE = "frac_reward_zero_std"
SILENT = ("groups/below_floor", ZERO_VARIANCE)
"""Shares of groups that carry no signal; the larger one counts."""
AT_ONSET = (ZERO_VARIANCE, "distinct_2", "strategy/entropy")
ACTED = "remedy/acted"
AUXILIARY = tuple(dict.fromkeys((PROBE, ENTROPY_SE, *SILENT, *AT_ONSET, ACTED)))


@dataclass(frozen=True)
class ColumnSeries:
    """One column where it was measured. Steps ascend; arrays have shape (n,), n may be 0."""

    steps: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    def as_entropy(self) -> ColumnSeries:
        """Without the values that no H can have."""
        valid = (self.values >= 0) & (self.values <= HIGHEST_ENTROPY_NATS)
        return ColumnSeries(self.steps[valid], self.values[valid])


NO_SERIES = ColumnSeries(np.empty(0), np.empty(0))


def column_series(table: Table, cleaned: Cleaned, name: str) -> ColumnSeries:
    """The column on the rows with a valid H, one a step; empty where the log does not hold it."""
    if name not in table.names:
        return NO_SERIES
    values = table.columns[name][cleaned.rows]
    measured = np.isfinite(values)
    return ColumnSeries(cleaned.steps[measured], values[measured])


def held_out(table: Table, cleaned: Cleaned, chosen: Chosen) -> ColumnSeries:
    """The reward on held-out users; empty where it is R itself or the log does not hold it."""
    if is_evaluation(chosen.reward):
        return NO_SERIES
    return column_series(table, cleaned, EVALUATION)
