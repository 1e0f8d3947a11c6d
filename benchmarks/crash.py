"""Kill policy=tabular runs at random moments and at chosen system calls; count what is lost.

    python -m benchmarks.crash [--kills 200] [--calls 20] [--seed 1]

Random kills: -9 at a moment drawn over the length of a run. Faults: the k-th write, fsync and
rename of a run's process is met by -9, by ENOSPC or by EIO, for each k up to --calls, with strace
(left out where there is none). Each run is then resumed and must end equal to the one that nothing
happened to.
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
from dataclasses import dataclass
from pathlib import Path

from harness.records.folder import RunFolder
from tests.train.made import brief, make_run

STEPS = 24
STUCK_S = 120
CALLS = ("write", "fsync", "rename")
FAULTS = ("signal=KILL", "error=ENOSPC", "error=EIO")
EXPECTED = (0, 74, -9, 137)
"""Of a run that meets a fault: one that comes after the last row may pass unseen."""


@dataclass(frozen=True)
class Point:
    """Where a run is to meet what."""

    name: str
    under: tuple[str, ...] = ()
    """Words of strace before the command."""
    after_s: float | None = None


def main() -> None:
    """Print a line a kind of fault: how many, and what came of them."""
    given = _arguments()
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        whole, length_s = _whole(Path(scratch) / "whole")
        points = [*_moments(given.kills, length_s, given.seed), *_calls(given.calls)]
        found: dict[str, Counter[str]] = {}
        for number, point in enumerate(points):
            where = Path(scratch) / str(number)
            found.setdefault(point.name, Counter()).update(_meet(point, where, whole))
            shutil.rmtree(where)
        _show(found, time.monotonic() - began)


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


def _whole(path: Path) -> tuple[bytes, float]:
    """metrics.jsonl of the uninterrupted run, and how long it took."""
    run, began = _run(path), time.monotonic()
    subprocess.run(_command(run), check=True, capture_output=True)
    return run.metrics.read_bytes(), time.monotonic() - began


def _moments(count: int, length_s: float, seed: int) -> Iterator[Point]:
    chance = random.Random(seed)
    for _ in range(count):
        yield Point("-9 at a random moment", after_s=chance.random() * length_s)


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


def _meet(point: Point, path: Path, whole: bytes) -> Counter[str]:
    """What came of one run that met its fault and was then resumed."""
    run, counts = _run(path), Counter({"points": 1})
    code, said, err = _execute([*point.under, *_command(run)], point.after_s)
    on_disk = run.metrics.read_bytes() if run.metrics.exists() else b""
    counts["lost"] += max(0, _acknowledged(said) - on_disk.count(b"\n"))
    counts["not met"] += code == 0
    counts["other codes"] += code not in EXPECTED
    resumed, _, more = _execute(_command(run), None)
    rows = run.metrics.read_bytes()
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


def _execute(words: Sequence[str], kill_after_s: float | None) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; killed after so long, if not None."""
    pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    child = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=environment)
    try:
        out, err = child.communicate(timeout=STUCK_S if kill_after_s is None else kill_after_s)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
    return child.returncode, out, err


def _run(path: Path) -> RunFolder:
    return make_run(path, brief(steps=STEPS, conversations=8, eval_every=1000))


def _command(run: RunFolder) -> list[str]:
    return [sys.executable, "-P", "-m", "harness.train", str(run.path), "--events", "jsonl"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--calls", type=int, default=20, help="of each kind of system call")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
