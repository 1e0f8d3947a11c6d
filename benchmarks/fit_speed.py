"""Time of the entropy-law stage: in memory, with reading, and as a whole command.

    python benchmarks/fit_speed.py [RUNS]

Estimates, intervals and onset of a run are set against what a paper's script does for the same
numbers: scipy's curve_fit, and 2,000 bootstrap draws of it for an interval. That loop is timed
on a few draws of a few runs and extrapolated. Rivals and reading are on lines of their own. The
whole command is run on RUNS runs (default 1,000) of 2,000 steps in each format. Targets: ratio
300; 12 s from JSON lines, 6 s from CSV and Parquet, on 2 cores; below 1 GB.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet
from scipy import optimize

from harness.law.estimate import identifiability, onset, rivals, spikes
from harness.law.io import reading
from harness.law.io.clean import Points
from harness.law.io.columns import ColumnOptions, columns_to_read

sys.path.insert(0, str(Path(__file__).parent.parent))
from harness.testing import synthetic

STEPS = 2_000
SAMPLE = 24
DRAWS, DRAWS_TIMED = 2_000, 10
ROUNDS = 5
MAKERS = (
    synthetic.lawful,
    synthetic.kink,
    synthetic.hack,
    synthetic.explode,
    synthetic.unrelated,
    synthetic.flat,
    synthetic.random_walk,
    synthetic.saturating,
)
FORMATS = ("jsonl", "csv", "parquet")


def main() -> None:
    """Print one line a measurement; the least of the rounds counts, since others only add."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    logs = [_log(number) for number in range(SAMPLE)]
    points = [Points(log.steps, log.entropy, log.reward) for log in logs]
    ours, loop = _least(_fit_all, points) / SAMPLE, _loop_s(points)
    print(f"estimates, intervals, onset      {ours * 1e3:9.2f} ms a run")
    print(f"curve_fit, {DRAWS:,} draws (extrap.)  {loop * 1e3:9.0f} ms a run, {loop / ours:.0f} x")
    print(
        f"rivals                           {_least(_rivals, points) / SAMPLE * 1e3:9.2f} ms a run"
    )
    with tempfile.TemporaryDirectory() as scratch:
        for kind in FORMATS:
            folder = Path(scratch) / kind
            paths = _written(folder, kind, runs)
            read = _least(_read_all, paths[:SAMPLE]) / min(SAMPLE, runs)
            print(f"reading {kind:8}                 {read * 1e3:9.2f} ms a run")
            seconds, cpu, megabytes = _command(folder if kind == "jsonl" else paths)
            print(f"whole command, {runs:,} {kind:8} {seconds:9.1f} s ({cpu:.1f} s of CPU)", end="")
            print(f", {megabytes:,.0f} MB")


def _log(number: int) -> synthetic.SyntheticRun:
    noise = synthetic.LOW if number % 2 else synthetic.HIGH
    return MAKERS[number // 2 % len(MAKERS)](number, STEPS, noise)


def _least(work: Callable[[Any], object], given: Any) -> float:
    """CPU seconds: another program's load adds to these too, but less than to the clock's."""

    def once() -> Iterator[float]:
        for _ in range(ROUNDS):
            began = time.process_time()
            work(given)
            yield time.process_time() - began

    return min(once())


def _fit_all(points: Sequence[Points]) -> None:
    for one in points:
        plain = spikes.remove_glitches(one)  # glitches are taken out once, as for a run's row
        identifiability.fit(one, plain=plain)
        course = onset.bin_plain_entropy(plain.steps, plain.entropy)
        if course is not None:
            onset.find_onset(course, plain)


def _rivals(points: Sequence[Points]) -> None:
    for one in points:
        rivals.compare(one)


def _read_all(paths: Sequence[Path]) -> None:
    for path in paths:
        reading.read(path, columns_to_read(ColumnOptions(None, None), ()))


def _loop_s(points: Sequence[Points]) -> float:
    """Seconds a run of the loop, from a few draws of every run of the sample."""
    return _least(_draws, points) / len(points) / DRAWS_TIMED * (DRAWS + 1)


def _draws(points: Sequence[Points]) -> None:
    def law(h: np.ndarray, a: float, b: float) -> np.ndarray:
        return np.asarray(b - a * np.exp(h))

    rng = np.random.default_rng(0)
    for one in points:
        for _ in range(DRAWS_TIMED):
            drawn = rng.integers(0, len(one), len(one))
            optimize.curve_fit(law, one.entropy[drawn], one.reward[drawn])


def _written(folder: Path, kind: str, runs: int) -> list[Path]:
    paths = []
    for number in range(runs):
        log = _log(number)
        values = {"step": log.steps.astype(int), "entropy": log.entropy, "reward": log.reward}
        more = {"reward_std": np.full(STEPS, 0.25), "grad_norm": np.abs(log.reward) * 0.3}
        table = pa.table({**values, **more})
        paths.append(folder / f"{number:04d}" / f"metrics.{kind}")
        paths[-1].parent.mkdir(parents=True)
        _write(table, paths[-1])
    return paths


def _write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        form = ", ".join(f'"{name}": %r' for name in table.column_names)
        path.write_text("".join(f"{{{form % row}}}\n" for row in rows))


def _command(given: Path | Sequence[Path]) -> tuple[float, float, float]:
    """Wall and CPU seconds of the whole command, figures and all, and the MB its parts peak at.

    Memory is the largest process's peak times the processes, an upper bound.
    """
    harness = Path(sys.executable).parent / "harness"
    paths = [given] if isinstance(given, Path) else list(given)
    with tempfile.TemporaryDirectory() as out:
        words = [str(harness), "fit-entropy-law", *map(str, paths), "--out", f"{out}/law"]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(words, capture_output=True, check=True)
        seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, after.ru_maxrss / 1024 * min(2, os.cpu_count() or 1)


if __name__ == "__main__":
    main()
