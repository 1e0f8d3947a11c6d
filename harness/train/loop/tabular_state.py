"""A tabular run between two steps: how it begins, and what its checkpoints hold.

There is no random state in it: each batch and each evaluation draws from a generator of its own,
seeded by the run's seed and the step. So a resumed run is equal to one that was never interrupted.
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
from harness.train.loop import kept_conversations
from harness.train.loop.carried import Carried
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.objective import registry
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import InnerStep

FILE = "table.npy"
"""The logits of the run's policy, in a checkpoint."""
FAST_FILE = "fast.npy"
"""Beside them, the weights that talk and learn within a task, where an algorithm has slow ones."""


@dataclass(frozen=True, slots=True)
class TrainState:
    """As of the last finished step."""

    policy: TabularPolicy
    """The weights that talk and learn."""
    carried: Carried
    ledger: Ledger
    slow: TabularPolicy | None = None
    """The slow weights, which are the run's policy; None where the algorithm has no outer loop."""
    kept: KeptConversations | None = None
    """Of all rounds; None where the algorithm has no rounds."""

    @property
    def evaluated(self) -> TabularPolicy:
        """The run's policy: what evaluations meet users with."""
        return self.slow or self.policy

    @property
    def is_booked(self) -> bool:
        """Whether the ledger books the step's updates: neither an outer step nor a policy that is
        fitted anew from the start is signal, noise or remedy.
        """
        return self.slow is None and self.kept is None

    def save(self, folder: Path) -> None:
        """Write what `begin` reads."""
        self.carried.save(folder)
        if self.kept is not None:
            self.kept.save(folder)
        self.ledger.save(folder)
        save_table(folder / FILE, self.evaluated.table)
        if self.slow is not None:
            save_table(folder / FAST_FILE, self.policy.table)


def begin(config: RunConfig, checkpoint: Path | None) -> TrainState:
    """The state before the first step, or after that of `checkpoint`. Raises DataError."""
    start = start_policy(config)
    policy = load(checkpoint, start) if checkpoint else start
    carried = carrying.begin(config, checkpoint)
    algorithm = carried.stack.algorithm
    slow = policy if algorithm.inner_step(1, config) else None
    if slow and checkpoint:
        policy = fast_weights(checkpoint, slow)
    kept = kept_conversations.load(checkpoint) if algorithm.refit() else None
    return TrainState(policy, carried, book.load(checkpoint), slow, kept)


def start_policy(config: RunConfig) -> TabularPolicy:
    """The policy before the first step."""
    policy, slots = config.policy, registry.algorithm_of(config).slot_count()
    return TabularPolicy.start(
        policy.observation, policy.prior_temperature, policy.warm_start_strategies, slots
    )


def load(folder: Path, start: TabularPolicy) -> TabularPolicy:
    """The policy of a checkpoint of a run that began as `start`.

    Raises DataError for what is no table of this policy, though its manifest says so.
    """
    shape = start.table.shape
    by_turn = (MAX_TURNS, shape[0] // MAX_TURNS, shape[1])
    older = by_turn if start.observation == "last_words" else ()
    return replace(start, table=read_table(folder / FILE, shape, older))


def outer_step(
    slow: TabularPolicy | None, fast: TabularPolicy, inner: InnerStep | None
) -> tuple[TabularPolicy | None, TabularPolicy]:
    """The slow and the fast weights after a step: apart within a task, the same after it.

    Without slow weights or `inner`, as without an outer loop, they stay as they are.
    """
    if slow is None or inner is None or not inner.outer_rate:
        return slow, fast
    moved = slow.table + inner.outer_rate * (fast.table - slow.table)
    slow = replace(slow, table=moved)
    return slow, slow


def fast_weights(folder: Path, slow: TabularPolicy) -> TabularPolicy:
    """The weights that go on from a checkpoint with these slow ones. Raises DataError."""
    return replace(slow, table=read_table(folder / FAST_FILE, slow.table.shape))


def read_table(path: Path, shape: tuple[int, ...], older: tuple[int, ...] = ()) -> FloatArray:
    """The logits of `shape` from a checkpoint's file; `older`: a shape of earlier versions with
    the same numbers. Raises DataError.
    """
    try:
        table: FloatArray = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: must hold logits as an array, and does not: {error}") from error
    if table.shape == older:
        table = table.reshape(shape)
    if table.shape != shape or table.dtype != np.float64:
        got = f"{table.dtype} of shape {table.shape}"
        raise DataError(f"{path}: must hold float64 logits of shape {shape}, got {got}")
    return table


def save_table(path: Path, table: FloatArray) -> None:
    """Write what `read_table` reads."""
    file = io.BytesIO()
    np.save(file, table, allow_pickle=False)
    atomic.write_bytes(path, file.getbuffer(), durable=False)
