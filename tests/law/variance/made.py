"""Runs whose components of variance are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from harness.law.estimate.entropy_ledger import COLUMNS
from harness.records import outcomes
from harness.testing import run_folders, synthetic


def ledger_run(root: Path, seed: int, kept: bool = True, **parts: tuple[float, float]) -> None:
    """A run of 64 conversations a step; `parts`: value and error of each entry, of which are 2."""
    rows = synthetic.evaluated(
        synthetic.rows(synthetic.lawful(seed, 21, synthetic.NONE)), reward=0.5
    )
    entries: dict[str, Any] = dict.fromkeys(COLUMNS, 0.0)
    for part, (value, error) in parts.items():
        entries |= {f"ledger/{part}": value, f"ledger/{part}_se": error}
    for n, row in enumerate(rows if kept else ()):
        row |= entries if n in (10, 20) else dict.fromkeys(COLUMNS)
    run_folders.write_run(root / f"run-{seed}", rows, seed=seed)


USERS, REPEATS = 64, 1


def run(
    root: Path, level: str, seed: int, mean: float, kept: bool = True, **columns: float
) -> Path:
    """A run of 64 users, the same in all; `kept`: whether it has outcomes.json."""
    spread = np.random.default_rng(3).normal(0, 0.1, (USERS, 1))
    own = np.random.default_rng([3, seed]).normal(0, 0.05, (USERS, 1))
    table = np.clip(mean + spread + own, 0, 1)
    rows = synthetic.rows(synthetic.lawful(seed, 21, synthetic.NONE))
    values: dict[str, Any] = {"reward": float(table.mean()), **columns}
    rows = synthetic.evaluated(rows, **values)
    folder = run_folders.write_run(root / f"{level}-{seed}", rows, seed=seed, level=level)
    if kept:
        outcomes.write(folder / "outcomes.json", 21, {"own": table.tolist()})
    return folder


def events(folder: Path, **first: Any) -> None:
    """21 steps of .1 s, evaluations of 2 s at 3 of them; the process began with a second."""
    lines: list[dict[str, Any]] = [{"event": "start"}]
    clock = 1.0
    for step in range(1, 22):
        met = 2.0 if step in (1, 11, 21) else 0.0
        clock += 0.1 + met
        seconds = {"rollout": 0.06, "eval": met, "update": 0.04}
        lines.append({"event": "step", "step": step, "seconds": seconds, "cpu_s": clock, **first})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "events.jsonl").write_text(text + "{torn")
