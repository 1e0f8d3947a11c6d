"""The slow weights of a tabular run whose algorithm has an outer loop.

The run's policy, which is evaluated and stands in a checkpoint as any table does, is the slow one;
the weights that talk and learn within a task are beside it in `FILE`.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.errors import DataError
from harness.policy.tabular import TabularPolicy
from harness.records import atomic
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import InnerStep

FILE = "fast.npy"


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
    return replace(slow, table=read_table(folder / FILE, slow.table.shape))


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
