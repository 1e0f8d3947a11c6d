"""conversations/step-NNNNN.parquet: every turn of a step's conversations, one row per turn.

All simulators and policies write the same columns; values that one does not have are null.
saved_conversations.py reads them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from harness.records import atomic
from harness.utils.record import record

SCHEMA = 2
"""Version of the columns. Files of version 1 do not state it and store the appraisal as JSON."""
SCHEMA_KEY = "harness.conversations"
"""Key of the version in a file's metadata."""


@record
class TurnRecord:
    """One utterance. The policy's replies have entropy and advantage, the user's turns emotions."""

    group: int
    sample: int
    turn: int
    """The policy's reply n and the user's answer to it share n; the user's turn before reply 1 is
    0. Earlier turns count down from there: the reference's last reply is 0, the one before -1."""
    speaker: str
    """user, policy, or reference (the supporter before the policy took over)."""
    text: str
    strategies: Sequence[str] | None = None
    """Replies only: the strategies that the user recognised, in order."""
    taken_up: Sequence[str] | None = None
    """Replies only: the parts of the user's account that the reply took up."""
    is_cut: bool | None = None
    """Replies only: whether the token limit ended the reply."""
    entropy_nats: float | None = None
    advantage: float | None = None
    start_nll: float | None = None
    start_z: float | None = None
    """Replies only: surprise under the start policy beyond what its own replies would have, in
    standard deviations."""
    emotion_before: int | None = None
    emotion_after: int | None = None
    change: int | None = None
    """Effect of the reply on the emotion, before the emotion of a user who left is set to 0."""
    reported_emotion: float | None = None
    ended: str | None = None
    why: Sequence[Mapping[str, str | float]] | None = None
    """Causes of the change: `part` of the appraisal and its `effect`, in `why_unit`."""
    why_unit: str | None = None
    """log_odds or points."""
    rise_probability: float | None = None
    reason: str | None = None
    fit: str | None = None
    not_language: str | None = None
    fault: str | None = None
    level: str | None = None
    """Name of the difficulty."""
    persona: str | None = None
    topic: str | None = None
    voice: str | None = None
    temperament: str | None = None
    intention: str | None = None
    """The user's hidden intention."""
    path: str | None = None
    """One of difficulty.paths: how the user tests the supporter."""
    reward: float | None = None
    """The conversation's reward, under the run's reward mode."""


COLUMNS = tuple(field.name for field in fields(TurnRecord))


def write(folder: Path, step: int, turns: Sequence[TurnRecord]) -> Path:
    """Write the turns of `step` atomically and return the file's path."""
    import pyarrow.parquet as pq

    target = folder / f"step-{step:05d}.parquet"
    content, turn_table = io.BytesIO(), table([_known_columns(turn) for turn in turns])
    # a quarter smaller: parquet's own types suffice, and readers always read the whole file
    options = {"compression": "zstd", "store_schema": False, "write_statistics": False}
    with pq.ParquetWriter(content, turn_table.schema, **options) as writer:
        writer.add_key_value_metadata({SCHEMA_KEY: str(SCHEMA)})
        writer.write_table(turn_table)
    with atomic.storage_errors(target):
        folder.mkdir(exist_ok=True)
    atomic.write_bytes(target, content.getbuffer(), durable=False)
    return target


def _known_columns(turn: TurnRecord) -> dict[str, Any]:
    """Return the columns of a turn that are not null; the schema adds the others."""
    return {name: value for name in COLUMNS if (value := getattr(turn, name)) is not None}


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows with the keys of TurnRecord as a pyarrow.Table.

    Goes through JSON: for a Python list pyarrow would import pandas, which takes a third of a short
    run. The types come from the class, so that a column of nulls has the same type in every file.
    """
    from pyarrow import json as arrow_json

    schema = schema_of_turns()
    if not rows:
        return schema.empty_table()
    lines = "\n".join(map(json.JSONEncoder(check_circular=False).encode, rows)).encode()
    return arrow_json.read_json(
        io.BytesIO(lines),
        arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        arrow_json.ParseOptions(explicit_schema=schema),
    )


def schema_of_turns() -> Any:
    """Return the pyarrow.Schema of the columns."""
    import pyarrow as pa

    effects = pa.struct({"part": pa.string(), "effect": pa.float64()})
    kinds = {
        "str": pa.string(), "int": pa.int32(), "float": pa.float64(), "bool": pa.bool_(),
        "Sequence[str]": pa.list_(pa.string()),
        "Sequence[Mapping[str, str": pa.list_(effects),
    }  # fmt: skip
    types = {f.name: kinds[str(f.type).split(" | ")[0]] for f in fields(TurnRecord)}
    return pa.schema(types)
