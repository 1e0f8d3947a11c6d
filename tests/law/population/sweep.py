"""A sweep whose levels are known: seeds that collapse, or not, or follow no law."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW

STEPS = 300
LAWFUL = 2.0
"""An onset that a run does not live to see."""


def level(
    folder: Path, name: str, onsets: Sequence[float], up: float = 0.0, first: int = 0
) -> None:
    """A run for each onset, a share of the run; rewards higher by `up`."""
    for seed, at in enumerate(onsets, 1):
        log = synthetic.kink(first + seed, STEPS, LOW, at=at)
        write(folder, name, seed, log, up)


def lawless(folder: Path, name: str, seeds: int) -> None:
    """Runs whose reward turns from the law and falls."""
    for seed in range(1, seeds + 1):
        write(folder, name, seed, synthetic.hack(seed, STEPS, LOW))


def write(folder: Path, name: str, seed: int, log: synthetic.SyntheticRun, up: float = 0.0) -> None:
    rows = [{**row, "reward": row["reward"] + up} for row in synthetic.rows(log)]
    run = run_folders.write_run(folder / f"{name}-seed{seed}", rows, seed=seed, level=name)
    run_folders.planned_with(run, "trainer", steps=len(rows))


def short(seed: int) -> synthetic.SyntheticRun:
    """A lawful run of few steps, where what it is of does not matter."""
    return synthetic.lawful(seed, 20, LOW)
