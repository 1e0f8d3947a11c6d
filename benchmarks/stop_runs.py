"""Short tabular runs on which stop advice is chosen and judged: levels x rates x remedies.

    python -m benchmarks.stop_runs FOLDER [--seeds FIRST COUNT] [--part PART OF] [--until HH:MM]
    python -m benchmarks.stop_runs FOLDER --kept RUNS...

Each run goes through the training loop in this process, in a folder in memory that is read and
removed; what replay needs of its metrics.jsonl is kept as one compressed file of arrays a run,
FOLDER/SEED-LEVEL-RATE-REMEDY.npz. A file that is there is not made again, so that the command can
be given anew; `--part 0 2` and `--part 1 2` are two processes' halves. With `--kept`, the same is
taken from the finished runs below those folders. Seeds below 100,000 choose the rule; from
2,000,000 on they judge it.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from harness.compose import planner
from harness.config.run import RunConfig
from harness.errors import DivergedError
from harness.records import run_folder, run_status
from harness.records.run_folder import RunFolder
from harness.train.loop import session as sessions
from harness.train.loop import tabular
from harness.utils import process

LEVELS = ("easy", "medium", "hard")
RATES = {"third": 1.0, "default": 3.0, "triple": 9.0}
REMEDIES = {
    "none": (),
    "entropy_bonus": ("remedy=entropy_bonus",),
    "kl_cov": ("remedy=kl_cov", "trainer.updates_per_batch=2"),
    "clip_cov": ("remedy=clip_cov", "trainer.updates_per_batch=2"),
}
FIXED = (
    "policy=tabular",
    "trainer.steps=150",
    "trainer.eval_every=8",
    "trainer.conversations=24",
    "trainer.conversations_every=10000000",
    "trainer.checkpoint_every=10000000",
    "trainer.stop_unheard=false",
    "eval.users=64",
    "eval.levels=[]",
    "eval.deaf=false",
    "eval.prefixes=0",
    "eval.ledger=false",
)
KEPT = ("entropy", "entropy_se", "reward", "reward_std", "frac_reward_zero_std")
"""Columns kept of every row, beside the step and the evaluation of the run's own level."""


@dataclass(frozen=True)
class Cell:
    """One point of levels x rates x remedies."""

    level: str
    rate: str
    remedy: str

    def config(self, seed: int) -> RunConfig:
        words = (f"difficulty={self.level}", f"algorithm.learning_rate={RATES[self.rate]}")
        point = planner.point([*FIXED, *words, *REMEDIES[self.remedy]])
        return replace(point.config, seed=seed)


CELLS = tuple(Cell(*names) for names in itertools.product(LEVELS, RATES, REMEDIES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs=2, default=(1, 4), metavar=("FIRST", "COUNT"))
    parser.add_argument("--until", help="no run begins after this time of day, UTC")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("PART", "OF"))
    parser.add_argument("--kept", type=Path, nargs="+", help="folders of finished runs")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.kept:
        _keep(given.folder, given.kept)
        return
    process.open_descriptors()
    gc.set_threshold(20_000)  # as in a run's own process
    configs: dict[Cell, RunConfig] = {}
    part, of = given.part
    for number, (seed, cell) in enumerate(_in_turn(*given.seeds)):
        if given.until and datetime.now(UTC).strftime("%H:%M") >= given.until:
            break
        path = given.folder / f"{seed}-{cell.level}-{cell.rate}-{cell.remedy}.npz"
        if path.exists() or number % of != part:
            continue
        base = configs.setdefault(cell, cell.config(seed))
        began = time.process_time()
        np.savez_compressed(path, **trained(replace(base, seed=seed)))
        print(f"{path.name} {time.process_time() - began:.2f} CPU s", flush=True)


def _in_turn(first: int, count: int) -> Iterator[tuple[int, Cell]]:
    """Every cell of one seed before the next seed, so that a set cut short is balanced."""
    for seed in range(first, first + count):
        for cell in CELLS:
            yield seed, cell


def trained(config: RunConfig) -> dict[str, Any]:
    """The columns of one run, made here and now."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        run = RunFolder(Path(scratch) / "run")
        run_folder.create(run, config)
        try:
            with sessions.open_session(run, config, lambda event: None) as session:
                tabular.train(session)
        except DivergedError as error:  # a watcher would have seen its rows up to there
            print(error, flush=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        return columns(run, config)


def columns(run: RunFolder, config: RunConfig) -> dict[str, Any]:
    """What replay needs of a run's rows, nan where a row has no value, and what run it was."""
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    names = {name: name for name in ("step", *KEPT)}
    for name in ("reward", "reward_se"):
        own = f"eval/{config.difficulty.name}/{name}"
        names[f"eval_{name}"] = own if own in rows[0] else f"eval/{name}"
    arrays = {
        name: np.array([row.get(key) for row in rows], dtype=np.float64)
        for name, key in names.items()
    }
    return {**arrays, "steps": config.trainer.steps, "kind": _kind(config)}


def _kind(config: RunConfig) -> str:
    """`plain`, or why a run is not of the kind that the rule is for."""
    if config.algorithm.null_control:
        return "null control"
    return "plain" if config.curriculum.name == "none" else f"curriculum {config.curriculum.name}"


def _keep(folder: Path, roots: Sequence[Path]) -> None:
    """Keep the columns of the finished runs below `roots`."""
    for path in sorted(found for root in roots for found in root.rglob("run.json")):
        run = RunFolder(path.parent)
        if run_status.read(run.status).status == "done":
            config = run_folder.read_config(run)
            np.savez_compressed(
                folder / f"{path.parent.parent.name}-{path.parent.name}.npz", **columns(run, config)
            )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
