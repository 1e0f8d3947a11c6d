"""What the remedy frontier reads off the runs of one cell: numbers by quantity and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import harness
from benchmarks.frontier_plan import Cell, Size

HELD_OUT = ("reward", "best_at_16", "listening")
"""Of the level's held-out users."""


@dataclass(frozen=True)
class Measured:
    """The numbers of a cell: by quantity, of each seed."""

    name: str
    method: str
    strength: str
    level: str
    is_rate: bool
    values: Mapping[str, Mapping[int, float]]

    def mean(self, quantity: str) -> float | None:
        """Mean over the seeds that have it; None where none has."""
        numbers = list(self.values.get(quantity, {}).values())
        return float(np.mean(numbers)) if numbers else None


def measured(folder: Path, cell: Cell, size: Size) -> Measured:
    """The numbers of a cell's finished runs; a run that failed has none."""
    values: dict[str, dict[int, float]] = {}
    table = harness.load(str(folder / cell.name)).metrics()
    for seed, rows in table.groupby("seed"):
        if rows["step"].max() < size.steps + 1:
            continue
        for quantity, value in _of_run(rows.set_index("step"), cell.level, size).items():
            if pd.notna(value):
                values.setdefault(quantity, {})[int(str(seed))] = float(value)
    words = (w.split("=", 1) for w in cell.method.strengths[cell.strength - 1])
    strength = " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in words)
    return Measured(cell.name, cell.method.name, strength, cell.level, cell.method.is_rate, values)


def _of_run(rows: pd.DataFrame, level: str, size: Size) -> dict[str, float]:
    at, last = (dict[str, Any](rows.loc[step]) for step in (size.steps + 1, rows.index.max()))
    found = {name: float(at[f"eval/{level}/{name}"]) for name in HELD_OUT}
    found["entropy"] = float(at["entropy/probe"])
    if level == "medium" and rows.index.max() == size.steps + size.more_steps:
        found["trainability"] = float(last["eval/hard/reward"] - at["eval/hard/reward"])
    return found
