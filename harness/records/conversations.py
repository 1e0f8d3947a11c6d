"""conversations/step-NNNNN.parquet: every turn of a step's conversations, one row a turn."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

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
    """The user's temperament."""
    start_z: float | None = None
    """Of a reply: its surprise under the start policy beyond what its own replies have, in sd."""


def write(folder: Path, step: int, turns: Sequence[TurnRecord]) -> Path:
    """Write the turns of `step`, whole or not at all."""
    import pyarrow.parquet as pq

    target = folder / f"step-{step:05d}.parquet"
    content = io.BytesIO()
    pq.write_table(_table(turns), content)
    with atomic.storage(target):
        folder.mkdir(exist_ok=True)
    atomic.write_bytes(target, content.getbuffer(), durable=False)
    return target


def _table(turns: Sequence[TurnRecord]) -> Any:
    """Through JSON: to look at a list of Python's, pyarrow imports pandas, a third of a short run.

    Typed by the class, not by what is there: a column of nulls keeps its type in every file.
    """
    import pyarrow as pa
    from pyarrow import json as arrow_json

    kinds = {"str": pa.string(), "int": pa.int32(), "float": pa.float64()}
    schema = pa.schema({f.name: kinds[str(f.type).split(" | ")[0]] for f in fields(TurnRecord)})
    if not turns:
        return schema.empty_table()
    names = schema.names
    rows = [{name: getattr(turn, name) for name in names} for turn in turns]
    lines = "\n".join(map(json.dumps, rows)).encode()
    return arrow_json.read_json(
        io.BytesIO(lines),
        arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        arrow_json.ParseOptions(explicit_schema=schema),
    )
