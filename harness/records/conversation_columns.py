"""Reads conversations/*.parquet files of any version into the columns of this version.

Version 1 joined strategies by + and stored the user's appraisal as JSON. It lacks the user's
attributes except the temperament, the reward, `taken_up`, and the reported emotion.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import DataError, VersionError
from harness.records import conversations, plain_file
from harness.records.conversations import SCHEMA, SCHEMA_KEY, schema_of_turns

KEPT = (
    "persona", "topic", "voice", "temperament", "intention", "level", "reward", "taken_up",
    "is_cut", "reported_emotion", "rise_probability",
)  # fmt: skip
"""Columns that files of version 1 lack, all or some of them."""
ADDED = ("path",)
"""Columns added to this version later; they are null in files written before."""
ALWAYS = ("group", "sample", "turn", "speaker", "text")
"""Columns that contain no null."""
WORTH_WEIGHT = 2.2
"""Log-odds of a unit of `worth` in the appraisal of a scripted user."""
REST = "rest"
"""Name for the remainder of the log-odds: the effects of the user and their state."""


def read(path: Path) -> tuple[Any, int, tuple[str, ...]]:
    """Read a file of any version as a pyarrow.Table with the columns of this version.

    Returns the table, the version of the file, and the columns that the file lacks. Raises
    DataError for a missing or damaged file, VersionError for one of a newer version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open(path, "rb", opener=plain_file.opener) as file:
            parquet = pq.ParquetFile(io.BytesIO(file.read()), pre_buffer=False)
        # read_table imports pandas, and a process that ends while Arrow starts threads is aborted
        table, metadata = parquet.read(use_threads=False), parquet.metadata.metadata or {}
    except (OSError, ValueError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or plain_file.one_line(error)
        raise DataError(f"{path}: must be a parquet file of conversations: {why}") from error
    expected = schema_of_turns()
    with as_written(path):
        schema = int(metadata.get(SCHEMA_KEY.encode(), b"1"))
        if schema > SCHEMA:
            rule = f"schema must be at most {SCHEMA}, got {schema}"
            raise VersionError(f"{path}: {rule}: a newer version of harness wrote it and reads it")
        lacks = tuple(name for name in KEPT if name not in table.column_names)
        if schema < SCHEMA:
            rows = _upgrade(table.to_pylist(), expected.names)
            turns = conversations.table(rows)
        else:
            for name in {*ADDED} - {*table.column_names}:
                table = table.append_column(name, pa.nulls(len(table), expected.field(name).type))
            turns = table.select(expected.names).cast(expected)
        for name in ALWAYS:
            if turns.column(name).null_count:
                raise ValueError(f"{name} must not be null")
    return turns, schema, lacks


@contextlib.contextmanager
def as_written(path: Path) -> Iterator[None]:
    """Turn the errors of malformed rows into a DataError that names the file."""
    try:
        yield
    except (
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
        AttributeError,
        NotImplementedError,
    ) as error:
        rule = "must have the columns of a run's conversations"
        raise DataError(f"{path}: {rule}: {plain_file.one_line(error)}") from error


def _upgrade(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Convert rows of version 1 to the columns `names`; None for columns that it lacks.

    Raises ValueError, TypeError or KeyError for malformed rows.
    """
    return [
        {**dict.fromkeys(names), **_kept_columns(row, names), **_changed_columns(row)}
        for row in rows
    ]


def _kept_columns(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}


def _changed_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns whose format has changed."""
    before, after = row["emotion_before"], row["emotion_after"]
    joined, is_reply = row["strategy"], row["speaker"] != "user"
    return {
        "strategies": (joined.split("+") if joined else []) if is_reply else None,
        "change": after - before if None not in (before, after) else None,
        "why": None,
        **_appraisal(row["why"]),
    }


def _appraisal(content: str | None) -> dict[str, Any]:
    if content is None:
        return {}
    values = json.loads(content)
    effects = {part: float(v) for part, v in values.items() if not isinstance(v, str)}
    total = effects.pop("logit", None)
    if total is not None:
        effects["worth"] *= WORTH_WEIGHT
        effects[REST] = total - sum(effects.values())
    unit = "points" if total is None else "log_odds"
    reasons = [{"part": part, "effect": round(v, 6)} for part, v in effects.items() if v]
    return {
        "why": reasons,
        "why_unit": unit if reasons else None,
        "reason": values.get("reason"),
        "fit": values.get("target_fit"),
        "not_language": values.get("rule"),
        "fault": values.get("fault"),
    }
