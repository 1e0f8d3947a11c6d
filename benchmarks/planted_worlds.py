"""How often `harness study` is right, in worlds where the answer is known.

    pip install --no-deps --target build/site benchmarks/worlds
    export PYTHONPATH=$PWD:$PWD/build/site OMP_NUM_THREADS=1
    python -m benchmarks.planted_worlds run FOLDER [--repeats 20] [--worlds A,B] [--part 1/2]
    python -m benchmarks.planted_worlds calibrate FOLDER [--pairs 40] [--worlds A,B] [--part 1/2]
    python -m benchmarks.planted_worlds table FOLDER

Each world of benchmarks/worlds/worlds.yaml is a study of benchmarks/worlds/sweeps/studies. `run`
asks it again and again, each time with seeds of its own, and appends a row to FOLDER; the same
command goes on where it ended, and a larger --repeats adds repeats. A study's runs are trained in
this process, one after the other, which saves each run a start; they are planned and judged by the
functions of `harness study`, from run folders that are removed afterwards. `calibrate` asks each
study once, of many seeds that no repeat has, and prints the effects. --part n/m does the n-th of m
parts, for m processes."""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import planted_table, planted_truth
from benchmarks.planted_truth import World
from harness.cli import study as command
from harness.execution import ledger
from harness.execution import sweep as sweeps
from harness.law.compare.study_outcome import StudyOutcome
from harness.records import holder
from harness.records.run_folder import RunFolder
from harness.records.study_file import StudyRecord
from harness.records.sweep_file import LedgerRow
from harness.study import arms, file, folder
from harness.study.arms import PlannedStudy
from harness.train import __main__ as train
from harness.utils import process

FIRST_SEED, OF_WORLD, OF_REPEAT = 100_000, 10_000, 100
"""No setting was chosen on seeds from FIRST_SEED to CALIBRATED; each repeat has OF_REPEAT."""
CALIBRATED = 900_000
"""First seed of a calibration."""


@dataclass(frozen=True)
class Asked:
    """A study of one world, judged by all of its pairs and by the first of them."""

    whole: StudyOutcome
    early: StudyOutcome | None


def ask(name: str, seeds: range, root: Path, first: int | None = None) -> Asked:
    """Train the arms of study `name` in `root` and judge them; `first`: pairs of the early look."""
    planned = _planned(name, seeds)
    record = folder.create_or_complete(planned, root)
    for run in record.runs:
        if ledger.with_current_status(LedgerRow(run, str(root / run), ())).status != "done":
            train_here(RunFolder(root / run))
    whole = _judged(planned, root, record)
    early = _judged(_planned(name, seeds[:first]), root, record) if first else None
    return Asked(whole, early)


def _planned(name: str, seeds: range) -> PlannedStudy:
    seed = f"seed=range({seeds.start},{seeds.stop})"
    return arms.plan(name, file.read(name), [seed], implied=())  # as the rows that are kept


def _judged(planned: PlannedStudy, root: Path, record: StudyRecord) -> StudyOutcome:
    """As `harness study` judges it, by the seeds of `planned` alone."""
    seeds = {str(seed) for seed in planned.stated.seeds}
    mine = {
        arm: {seed: run for seed, run in of.items() if seed in seeds}
        for arm, of in record.arms.items()
    }
    runs = {run for of in mine.values() for run in of.values()}
    all_runs = ledger.refresh(ledger.read(root))
    chosen = replace(all_runs, runs=sweeps.select_rows(all_runs, runs))
    return command.judge(planned, root, replace(record, arms=mine), chosen)


def train_here(run: RunFolder) -> None:
    """Train a run in this process, which then obeys signals as it did. Raises ValueError."""
    kept = {number: signal.getsignal(number) for number in (*process.STOP_SIGNALS, signal.SIGALRM)}
    try:
        with holder.hold(run):
            code = train.attempt(run, lambda event: None)
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    if code:
        raise ValueError(f"{run.path}: must be trained, got exit code {code}")


def seeds_of(world: World, repeat: int) -> range:
    first = FIRST_SEED + OF_WORLD * world.number + OF_REPEAT * repeat
    return range(first, first + world.pairs)


def to_do(
    worlds: Sequence[World], repeats: int, part: tuple[int, int]
) -> Iterator[tuple[World, int]]:
    """World and repeat, repeat by repeat, so that a pass that is cut off has all worlds."""
    turns = [(world, repeat) for repeat in range(repeats) for world in worlds]
    yield from turns[part[0] - 1 :: part[1]]


def run(out: Path, worlds: Sequence[World], repeats: int, part: tuple[int, int]) -> None:
    done = {(row["world"], row["repeat"]) for row in planted_truth.rows(out)}
    for world, repeat in to_do(worlds, repeats, part):
        if (world.name, repeat) in done:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            asked = ask(world.name, seeds_of(world, repeat), Path(scratch) / "study", world.early)
        row = {"world": world.name, "repeat": repeat, **planted_truth.row(asked.whole)}
        early = planted_truth.row(asked.early) if asked.early else None
        _append(out / f"rows-{part[0]}.jsonl", {**row, "early": early})
        print(world.name, repeat, asked.whole.verdict, flush=True)


def calibrate(out: Path, worlds: Sequence[World], pairs: int, part: tuple[int, int]) -> None:
    for world in worlds[part[0] - 1 :: part[1]]:
        first = CALIBRATED + 1000 * world.number
        with tempfile.TemporaryDirectory() as scratch:
            asked = ask(world.name, range(first, first + pairs), Path(scratch) / "study")
        row = {"world": world.name, **planted_truth.row(asked.whole)}
        _append(out / f"calibrated-{part[0]}.jsonl", row)
        for line in planted_truth.calibration(row):
            print(line, flush=True)


def _append(path: Path, row: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(row) + "\n")


def _part(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    return int(number), int(of)


def main() -> None:
    parser = argparse.ArgumentParser(description="How often harness study is right.")
    parser.add_argument("what", choices=("run", "calibrate", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--worlds", default="", help="names, all by default")
    parser.add_argument("--part", type=_part, default=(1, 1))
    given = parser.parse_args()
    out = given.folder.resolve()
    worlds = planted_truth.worlds(given.worlds.split(",") if given.worlds else ())
    os.chdir(planted_truth.HERE)  # where studies are looked for first
    if given.what == "run":
        run(out, worlds, given.repeats, given.part)
    elif given.what == "calibrate":
        calibrate(out, worlds, given.pairs, given.part)
    else:
        print("\n".join(planted_table.table(worlds, planted_truth.rows(out))))


if __name__ == "__main__":
    main()
