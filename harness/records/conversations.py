"""conversations/step-NNNNN.parquet: every turn of a step's conversations, one row a turn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from harness.records import atomic


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One utterance. The policy's carry entropy and advantage; the user's carry emotion."""

    group: int
    sample: int
    turn: int
    """0 is what the policy first replies to, reply n and the answer to it share n, and what another
    had said before has negative numbers, up to its last reply at 0."""
    speaker: str
    """user, policy, or reference: who spoke before the policy took over"""
    text: str
    strategy: str | None
    """Recognised strategies of a reply, joined by +."""
    emotion_before: int | None
    emotion_after: int | None
    entropy_nats: float | None
    advantage: float | None
    start_nll: float | None
    ended: str | None
    why: str | None
    """The user's appraisal of the reply, as JSON."""
    level: str | None = None
    """Name of the difficulty."""
    temperament: str | None = None
    """Of the user."""


def write(folder: Path, step: int, turns: Sequence[TurnRecord]) -> Path:
    """Write the turns of `step`, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = folder / f"step-{step:05d}.parquet"
    scratch = folder / f".{target.name}.{os.getpid()}.tmp"
    kinds = {"str": pa.string(), "int": pa.int32(), "float": pa.float64()}
    # Typed by the class, not by what is there: a column of nulls keeps its type in every file.
    types = {f.name: kinds[str(f.type).split(" | ")[0]] for f in fields(TurnRecord)}
    table = pa.Table.from_pylist([asdict(t) for t in turns], pa.schema(types))
    with atomic.storage(target):
        folder.mkdir(exist_ok=True)
        try:
            pq.write_table(table, scratch)
            scratch.replace(target)
        finally:
            scratch.unlink(missing_ok=True)
    return target
