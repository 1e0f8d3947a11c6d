"""conversations/step-NNNNN.parquet: every turn of a step's conversations, one row a turn.

Every simulator and every policy writes the same columns; what one does not have is null.
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
"""Version of the columns. 1, which no file states, had the appraisal as JSON."""
SCHEMA_KEY = "harness.conversations"
"""Key of the version in a file's metadata."""


@record
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
    strategies: Sequence[str] | None = None
    """Of a reply: those that the user heard, in order."""
    taken_up: Sequence[str] | None = None
    """Of a reply: what it took up of what the user had told."""
    is_cut: bool | None = None
    """Of a reply: ended by the token limit."""
    entropy_nats: float | None = None
    advantage: float | None = None
    start_nll: float | None = None
    start_z: float | None = None
    """Of a reply: its surprise under the start policy beyond what its own replies have, in sd."""
    emotion_before: int | None = None
    emotion_after: int | None = None
    change: int | None = None
    """By the reply, before who left is put at 0."""
    reported_emotion: float | None = None
    ended: str | None = None
    why: Sequence[Mapping[str, str | float]] | None = None
    """What moved the emotion: `part` of the appraisal and its `effect`, in `why_unit`."""
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
    """What the user came for and does not say."""
    path: str | None = None
    """Of difficulty.paths: how the user puts the supporter to the test."""
    reward: float | None = None
    """The reward in use that the conversation earned."""


COLUMNS = tuple(field.name for field in fields(TurnRecord))


def write(folder: Path, step: int, turns: Sequence[TurnRecord]) -> Path:
    """Write the turns of `step`, whole or not at all."""
    import pyarrow.parquet as pq

    target = folder / f"step-{step:05d}.parquet"
    content, made = io.BytesIO(), table([_known(turn) for turn in turns])
    # the types are the format's own and nobody seeks in a file: it is a quarter smaller so
    lean = {"compression": "zstd", "store_schema": False, "write_statistics": False}
    with pq.ParquetWriter(content, made.schema, **lean) as writer:
        writer.add_key_value_metadata({SCHEMA_KEY: str(SCHEMA)})
        writer.write_table(made)
    with atomic.storage(target):
        folder.mkdir(exist_ok=True)
    atomic.write_bytes(target, content.getbuffer(), durable=False)
    return target


def _known(turn: TurnRecord) -> dict[str, Any]:
    """The columns of a turn that are not null, which the schema fills in."""
    return {name: value for name in COLUMNS if (value := getattr(turn, name)) is not None}


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows with the keys of TurnRecord as a pyarrow.Table.

    Through JSON: to look at a list of Python's, pyarrow imports pandas, a third of a short run.
    Typed by the class, not by what is there: a column of nulls keeps its type in every file.
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
    """Return the pyarrow.Schema of a file."""
    import pyarrow as pa

    effects = pa.struct({"part": pa.string(), "effect": pa.float64()})
    kinds = {
        "str": pa.string(), "int": pa.int32(), "float": pa.float64(), "bool": pa.bool_(),
        "Sequence[str]": pa.list_(pa.string()),
        "Sequence[Mapping[str, str": pa.list_(effects),
    }  # fmt: skip
    types = {f.name: kinds[str(f.type).split(" | ")[0]] for f in fields(TurnRecord)}
    return pa.schema(types)
