"""Kill runs at random moments and at chosen system calls; count what is lost.

    python -m benchmarks.crash [--kills 200] [--calls 20] [--seed 1] [--policy tabular|tiny]

Random kills: -9 a moment after an event that is drawn from those of a run, or before the first.
Sources must be at rest meanwhile: a worktree of git has its own. Faults: the k-th write, fsync and
renameat of a run's process is met by -9, by ENOSPC or by EIO, for each k up to --calls, with strace
(left out where there is none). Each run is then resumed and must end equal to the one that nothing
happened to. One run at a time on each core.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from harness.compose import planner
from harness.config.run import RunConfig
from harness.records import run_folder
from harness.records.run_folder import RunFolder

STEPS = {"tabular": 24, "tiny": 6}
BEFORE_FIRST_S, AFTER_ONE_S = {"tabular": 0.5, "tiny": 5.0}, {"tabular": 0.01, "tiny": 0.5}
"""Longest wait of a kill, before the first event and after another."""
TABULAR = ("policy=tabular", "trainer.conversations=8", "difficulty.turn_cap=3",
           "trainer.checkpoint_every=5", "trainer.eval_every=1000")  # fmt: skip
TINY = ("policy=tiny", "trainer.conversations=8", "difficulty.turn_cap=2",
        "trainer.checkpoint_every=2", "trainer.eval_every=1000")  # fmt: skip
STUCK_S = 600
MOST_BYTES = 2**20
CALLS = ("write", "fsync", "renameat")
FAULTS = ("signal=KILL", "error=ENOSPC", "error=EIO")
EXPECTED = (0, 74, -9, 137)
"""Exit codes of a run that meets a fault; a fault after the last row may pass unseen."""


@dataclass(frozen=True)
class Point:
    """A fault, and the place where a run meets it."""

    name: str
    under: tuple[str, ...] = ()
    """Words of strace before the command."""
    after: int | None = None
    """So many events have been said when -9 comes, `later_s` later."""
    later_s: float = 0.0


def main() -> None:
    """Print a line a kind of fault: how many, and what came of them."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        config = _config(arguments.policy)
        whole, events = _whole(Path(scratch) / "whole", config)
        points = [*_moments(arguments.kills, events, arguments), *_calls(arguments.calls)]
        counts_by_fault: dict[str, Counter[str]] = {}
        places = [Path(scratch) / str(number) for number in range(len(points))]
        met = partial(_meet, whole=whole, config=config)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for point, counts in zip(points, pool.map(met, points, places), strict=True):
                counts_by_fault.setdefault(point.name, Counter()).update(counts)
        _show(counts_by_fault, time.monotonic() - began)


def _show(found: dict[str, Counter[str]], seconds: float) -> None:
    kinds = (
        "points",
        "not met",
        "lost",
        "doubled",
        "diverged",
        "stuck",
        "tracebacks",
        "other codes",
    )
    print("| fault |", " | ".join(kinds), "|\n|---|" + "---|" * len(kinds))
    for name, counts in found.items():
        print(f"| {name} |", " | ".join(str(counts[kind]) for kind in kinds), "|")
    print(f"{sum(c['points'] for c in found.values())} points in {seconds:.0f} s")


def _whole(path: Path, config: RunConfig) -> tuple[bytes, int]:
    """metrics.jsonl of the uninterrupted run, and how many events it said."""
    run = _created(path, config)
    done = subprocess.run(_command(run), check=True, capture_output=True)
    return run.metrics.read_bytes(), done.stdout.count(b"\n")


def _moments(count: int, events: int, given: argparse.Namespace) -> Iterator[Point]:
    chance = random.Random(given.seed)
    for _ in range(count):
        after = chance.randrange(events)
        most_s = (AFTER_ONE_S if after else BEFORE_FIRST_S)[given.policy]
        yield Point("-9 at a random moment", after=after, later_s=chance.random() * most_s)


def _calls(most: int) -> Iterator[Point]:
    if shutil.which("strace") is None:
        print("strace is not there: faults at system calls are left out", file=sys.stderr)
        return
    for call in CALLS:
        for fault in FAULTS:
            for k in range(1, most + 1):
                inject = f"inject={call}:{fault}:when={k}"
                words = ("strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={call}")
                yield Point(f"{fault.split('=')[1]} at a {call}", (*words, "-e", inject))


def _meet(point: Point, path: Path, whole: bytes, config: RunConfig) -> Counter[str]:
    """Count what became of one run that met its fault and was then resumed."""
    run, counts = _created(path, config), Counter({"points": 1})
    code, out, err = _execute([*point.under, *_command(run)], point)
    on_disk = run.metrics.read_bytes() if run.metrics.exists() else b""
    counts["lost"] += max(0, _acknowledged(out) - on_disk.count(b"\n"))
    counts["not met"] += code == 0
    counts["other codes"] += code not in EXPECTED
    resumed, _, more = _execute(_command(run), Point("none"))
    rows = run.metrics.read_bytes()
    shutil.rmtree(path)
    steps = [json.loads(line)["step"] for line in rows.splitlines()]
    counts["doubled"] += len(steps) - len(set(steps))
    counts["stuck"] += resumed != 0
    counts["diverged"] += rows != whole or not whole.startswith(on_disk[: on_disk.rfind(b"\n") + 1])
    counts["tracebacks"] += "Traceback" in err or "Traceback" in more
    return counts


def _acknowledged(said: str) -> int:
    whole_lines = [line for line in said.splitlines(keepends=True) if line.endswith("\n")]
    events = [json.loads(line) for line in whole_lines]
    return max((e["step"] for e in events if e["event"] == "step"), default=0)


def _execute(words: Sequence[str], point: Point) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; killed where the point says so."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(words, stdout=out, stderr=err, env=environment)
        if point.after is not None:
            while child.poll() is None and _said(out).count("\n") < point.after:
                time.sleep(0.001)
            time.sleep(point.later_s)
            child.kill()
        try:
            child.wait(STUCK_S)
        except subprocess.TimeoutExpired:
            child.kill()
        return child.wait(), _said(out), _said(err)


def _said(stream: IO[str]) -> str:
    """All of it so far, by a place of our own in the file: the child writes at the other."""
    return os.pread(stream.fileno(), MOST_BYTES, 0).decode(errors="replace")


def _config(policy: str) -> RunConfig:
    """Compose the runs' config, once: Hydra takes no two threads at a time."""
    words = TABULAR if policy == "tabular" else TINY
    return planner.point([*words, f"trainer.steps={STEPS[policy]}"]).config


def _created(path: Path, config: RunConfig) -> RunFolder:
    run = RunFolder(path)
    run_folder.create(run, config)
    return run


def _command(run: RunFolder) -> list[str]:
    return [sys.executable, "-P", "-m", "harness.train", str(run.path), "--events", "jsonl"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--calls", type=int, default=20, help="of each kind of system call")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", choices=list(STEPS), default="tabular")
    return parser.parse_args()


if __name__ == "__main__":
    main()
