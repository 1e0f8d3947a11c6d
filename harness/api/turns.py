"""The turns of a run's saved conversations as one data frame."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.records import conversation_columns


def frame(paths: Mapping[int, Path]) -> pd.DataFrame:
    """Return one row per utterance in the files of the given steps, at least one, in their order.

    Each part of the appraisal is a column `why_PART`: 0 if it had no effect, NaN without an
    appraisal. Parts without a name or a finite effect are left out, as by `view`. Raises DataError
    for a damaged file.
    """
    import pyarrow as pa

    tables = []
    for step, path in paths.items():
        table, _, _ = conversation_columns.read(path)
        tables.append(table.add_column(0, "step", pa.array(np.full(table.num_rows, step))))
    combined = pa.concat_tables(tables)
    turns: pd.DataFrame = combined.drop_columns(["why"]).to_pandas()
    for name in ("strategies", "taken_up"):
        lists = [None if value is None else tuple(value) for value in turns[name]]
        turns[name] = pd.Series(lists, index=turns.index, dtype=object)
    effects = pd.DataFrame(_effects(combined.column("why").combine_chunks()), index=turns.index)
    return pd.concat([turns, effects], axis=1)


def _effects(why: Any) -> dict[str, Any]:
    """Return `why_PART` -> its values, shape (turns,)."""
    import pyarrow.compute as pc

    turn_indices = pc.list_parent_indices(why).to_numpy()
    effects = why.flatten()
    parts = effects.field("part").to_pylist()
    values = effects.field("effect").to_numpy(zero_copy_only=False)
    no_effect = np.where(why.is_valid().to_numpy(zero_copy_only=False), 0.0, np.nan)
    columns = {part: no_effect.copy() for part in sorted({*parts} - {None})}
    for part, turn, value in zip(parts, turn_indices, values, strict=True):
        if part is not None and np.isfinite(value):
            columns[part][turn] = value
    return {f"why_{part}": column for part, column in columns.items()}
