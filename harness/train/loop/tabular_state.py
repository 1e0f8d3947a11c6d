"""The state of a tabular run between two steps, and its part of a checkpoint.

It contains no random state: each batch and each evaluation has its own generator, seeded by the
run's seed and the step. A resumed run therefore equals one that was never interrupted.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.config.run import MAX_TURNS, RunConfig
from harness.errors import DataError
from harness.policy.tabular import TabularPolicy
from harness.records import atomic
from harness.train.ledger import book
from harness.train.ledger.book import Ledger
from harness.train.loop import carried as carrying
from harness.train.loop import tabular_rounds
from harness.train.loop.carried import CarriedState
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.loop.tabular_rounds import KeptActs
from harness.train.objective import registry
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import InnerStep

FILE = "table.npy"
"""The logits of the run's policy, in a checkpoint."""
FAST_FILE = "fast.npy"
"""The weights that are trained within a task, for algorithms with separate slow weights."""


@dataclass(frozen=True, slots=True)
class TrainState:
    """The state after the last finished step."""

    policy: TabularPolicy
    """The weights that hold the conversations and are trained."""
    carried: CarriedState
    ledger: Ledger
    slow: TabularPolicy | None = None
    """The slow weights, which are the run's policy; None if the algorithm has no outer loop.
    """
    kept: KeptConversations[KeptActs] | None = None
    """The conversations kept in all rounds; None if the algorithm has no rounds."""

    @property
    def evaluated(self) -> TabularPolicy:
        """The run's policy, which evaluations use: the slow weights if there are any."""
        return self.slow or self.policy

    @property
    def is_booked(self) -> bool:
        """Whether the ledger books the step's updates.

        False with slow weights and with rounds, since neither an outer step nor a refit of the
        start policy can be divided into signal, noise and remedy.
        """
        return self.slow is None and self.kept is None

    def save(self, folder: Path) -> None:
        """Write the files that `begin` reads."""
        self.carried.save(folder)
        if self.kept is not None:
            tabular_rounds.save(self.kept, folder)
        self.ledger.save(folder)
        save_table(folder / FILE, self.evaluated.table)
        if self.slow is not None:
            save_table(folder / FAST_FILE, self.policy.table)


def begin(config: RunConfig, checkpoint: Path | None) -> TrainState:
    """Return the state at the start of a run, or as saved in `checkpoint`. Raises DataError."""
    start = start_policy(config)
    policy = load(checkpoint, start) if checkpoint else start
    carried = carrying.begin(config, checkpoint)
    algorithm = carried.stack.algorithm
    slow = policy if algorithm.inner_step(1, config) else None
    if slow and checkpoint:
        policy = fast_weights(checkpoint, slow)
    kept = tabular_rounds.load(checkpoint) if algorithm.refit() else None
    return TrainState(policy, carried, book.load(checkpoint), slow, kept)


def start_policy(config: RunConfig) -> TabularPolicy:
    """Return the policy before the first step."""
    policy, slots = config.policy, registry.algorithm_of(config).slot_count()
    return TabularPolicy.start(
        policy.observation, policy.prior_temperature, policy.warm_start_strategies, slots
    )


def load(folder: Path, start: TabularPolicy) -> TabularPolicy:
    """Return the policy saved in a checkpoint; `start`: the run's start policy.

    Raises DataError if the file does not hold a table of this policy's shape.
    """
    shape = start.table.shape
    by_turn = (MAX_TURNS, shape[0] // MAX_TURNS, shape[1])
    older = by_turn if start.observation == "last_words" else ()
    return replace(start, table=read_table(folder / FILE, shape, older))


def outer_step(
    slow: TabularPolicy | None, fast: TabularPolicy, inner: InnerStep | None
) -> tuple[TabularPolicy | None, TabularPolicy]:
    """Return the slow and the fast weights after a step.

    They differ within a task. At its end the slow weights move towards the fast ones, and both are
    set to the result. Without slow weights or `inner` (no outer loop) nothing changes.
    """
    if slow is None or inner is None or not inner.outer_rate:
        return slow, fast
    table = slow.table + inner.outer_rate * (fast.table - slow.table)
    slow = replace(slow, table=table)
    return slow, slow


def fast_weights(folder: Path, slow: TabularPolicy) -> TabularPolicy:
    """Return the fast weights saved in a checkpoint. Raises DataError if the file is damaged."""
    return replace(slow, table=read_table(folder / FAST_FILE, slow.table.shape))


def read_table(path: Path, shape: tuple[int, ...], older: tuple[int, ...] = ()) -> FloatArray:
    """Return logits of `shape` from a checkpoint's file. Raises DataError for other content.

    `older`: the shape in which earlier versions saved the same numbers; also accepted.
    """
    try:
        table: FloatArray = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: must hold logits as an array, but does not: {error}") from error
    if table.shape == older:
        table = table.reshape(shape)
    if table.shape != shape or table.dtype != np.float64:
        got = f"{table.dtype} of shape {table.shape}"
        raise DataError(f"{path}: must hold float64 logits of shape {shape}, got {got}")
    return table


def save_table(path: Path, table: FloatArray) -> None:
    """Write the file that `read_table` reads."""
    file = io.BytesIO()
    np.save(file, table, allow_pickle=False)
    atomic.write_bytes(path, file.getbuffer(), durable=False)
