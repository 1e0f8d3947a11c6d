"""Choose the columns of a log that the law is fitted to, and read auxiliary columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.io.clean import FEWEST_POINTS, HIGHEST_ENTROPY_NATS, Cleaned
from harness.law.io.importers import aliases
from harness.law.io.table import LogTable, ReadError, is_ours
from harness.law.results import Floats

EVALUATION = "eval/reward"
_EVALUATED = re.compile(r"eval/(\w+/)?reward")
TRAINING = "reward"
ENTROPY = "entropy"


@dataclass(frozen=True)
class ColumnOptions:
    """The columns and options the user gave; None for those chosen from the log."""

    reward: str | None
    entropy: str | None
    forecast_from: float | None = None
    """Share of each run from which its end is predicted."""
    step: str | None = None
    reward_range: tuple[float, float] | None = None
    """Lowest and highest possible R, as declared by the user."""


@dataclass(frozen=True)
class LogColumns:
    """The chosen columns, by their names in the log."""

    entropy: str
    reward: str
    """The reward column that the verdict refers to."""
    training: str
    """The reward column of the training batch."""


def reward_range(
    column: str, in_run_folder: bool, options: ColumnOptions
) -> tuple[float, float] | None:
    """Return the lowest and highest possible reward; None if neither user nor column states it."""
    default = (0.0, 1.0) if in_run_folder and is_evaluation(column) else None
    return options.reward_range or default


def is_evaluation(column: str) -> bool:
    """Return whether the column is the reward on held-out users, by its name in our own logs.

    The first value of such a column belongs to the policy before its first update.
    """
    return _EVALUATED.fullmatch(column) is not None


def columns_to_read(options: ColumnOptions, auxiliary: Sequence[str]) -> list[str]:
    """Return the names of all columns to read. The reader resolves aliases."""
    chosen = [name for name in (options.entropy, options.reward) if name]
    return list(dict.fromkeys(["step", ENTROPY, TRAINING, EVALUATION, *chosen, *auxiliary]))


def choose_columns(table: LogTable, options: ColumnOptions, in_run_folder: bool) -> LogColumns:
    """Choose the columns of H, R and the training reward.

    `in_run_folder`: whether the log is one of ours, in which eval/reward has the known meaning.
    Raise ReadError with missing_column, which names the columns tried.
    """
    names = table.names
    entropy = options.entropy or aliases.first_accepted(names, aliases.ENTROPIES)
    training = (
        TRAINING if is_ours(names) else aliases.first_accepted(names, aliases.REWARDS) or TRAINING
    )
    if "step" not in names or options.step not in (None, *names):
        needed = f"a column {options.step!r}" if options.step else "a step"
        raise _missing(table, needed, aliases.STEPS, "--step")
    if entropy is None or entropy not in names:
        raise _missing(
            table, _needed_column("policy entropy", entropy), aliases.ENTROPIES, "--entropy"
        )
    reward = options.reward or _headline(table, entropy, training, in_run_folder)
    if reward not in names:
        raise _missing(table, _needed_column("reward", options.reward), aliases.REWARDS, "--reward")
    return LogColumns(entropy, reward, training)


def _headline(table: LogTable, entropy: str, training: str, in_run_folder: bool) -> str:
    """Return the default reward column: eval/reward if our log has enough of it, else `training`.

    The paper uses the validation reward. In logs of other programs it is fitted only on request.
    """
    if EVALUATION not in table.names or not is_ours(table.names):
        return training
    if training not in table.names:
        return EVALUATION
    measured = np.isfinite(table.columns[EVALUATION]) & np.isfinite(table.columns[entropy])
    return EVALUATION if in_run_folder and measured.sum() >= FEWEST_POINTS else training


def _needed_column(quantity: str, name: str | None) -> str:
    return f"a column {name!r}" if name else f"a column of {quantity}"


def _missing(table: LogTable, needed: str, tried: tuple[str, ...], option: str) -> ReadError:
    has = ", ".join(table.names[:12]) + (", ..." if len(table.names) > 12 else "")
    tried_names = "" if "'" in needed else f"; looked for {', '.join(tried)}"
    hint = f"; {option} COLUMN names another" if option else ""
    message = f"{table.path}: needs {needed}, has {has or 'none'}{tried_names}{hint}"
    return ReadError("missing_column", message)


PROBE = "entropy/probe"
ENTROPY_SE = "entropy_se"
ZERO_VARIANCE = "frac_reward_zero_std"
SILENT = ("groups/below_floor", ZERO_VARIANCE)
"""Columns with shares of groups without a signal. The one with the larger mean is used."""
AT_ONSET = (ZERO_VARIANCE, "distinct_2", "strategy/entropy")
ACTED = "remedy/acted"
AUXILIARY = tuple(dict.fromkeys((PROBE, ENTROPY_SE, *SILENT, *AT_ONSET, ACTED)))


@dataclass(frozen=True)
class ColumnSeries:
    """The measured values of one column. Steps ascend; arrays have shape (n,), n may be 0."""

    steps: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    def as_entropy(self) -> ColumnSeries:
        """Return the series without values outside the valid range of H."""
        valid = (self.values >= 0) & (self.values <= HIGHEST_ENTROPY_NATS)
        return ColumnSeries(self.steps[valid], self.values[valid])


NO_SERIES = ColumnSeries(np.empty(0), np.empty(0))


def column_series(table: LogTable, cleaned: Cleaned, name: str) -> ColumnSeries:
    """Return the column on the rows with a valid H, one per step; empty if the log lacks it."""
    if name not in table.names:
        return NO_SERIES
    values = table.columns[name][cleaned.rows]
    measured = np.isfinite(values)
    return ColumnSeries(cleaned.steps[measured], values[measured])


def held_out(table: LogTable, cleaned: Cleaned, columns: LogColumns) -> ColumnSeries:
    """Return the reward on held-out users; empty if it is R itself or the log lacks it."""
    if is_evaluation(columns.reward):
        return NO_SERIES
    return column_series(table, cleaned, EVALUATION)
