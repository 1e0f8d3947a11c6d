"""Start-up time of commands, against `python -c pass` in alternation.

    python benchmarks/cli_startup.py

Prints the least and the median seconds of each command, and the ratio of the least to that of
Python's own start: another program's load only ever adds. Targets:
`harness --help` within 6 times `python -c pass`; a whole one-step tabular run within 1.5 s.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 9
PYTHON = sys.executable
HARNESS = str(Path(PYTHON).parent / "harness")
TRAIN = [HARNESS, "train", "policy=tabular", "trainer.steps=1", "--dir"]
COMMANDS = {
    "python -c pass": [PYTHON, "-c", "pass"],
    "harness --help": [HARNESS, "--help"],
    "harness sweep sed=1 (a typo)": [HARNESS, "sweep", "sed=1"],
    "harness sweep --dry-run, 3 points": [
        HARNESS,
        "sweep",
        "difficulty=easy,medium,hard",
        "--dry-run",
    ],
    "harness train policy=tabular trainer.steps=1": TRAIN,
}


def main() -> None:
    """Time every command once a round, so that a busy moment falls on all alike."""
    with tempfile.TemporaryDirectory() as scratch:
        rounds = [[_seconds(words, scratch) for words in COMMANDS.values()] for _ in range(ROUNDS)]
    columns = list(zip(*rounds, strict=True))
    for name, seconds in zip(COMMANDS, columns, strict=True):
        least, median = min(seconds), statistics.median(seconds)
        ratio = least / min(columns[0])
        print(f"{name:46} {least:6.3f} s  {median:6.3f} s  {ratio:5.1f} x")


def _seconds(words: list[str], scratch: str) -> float:
    where = [tempfile.mkdtemp(dir=scratch)] if words is TRAIN else []
    began = time.perf_counter()
    subprocess.run([*words, *where], cwd=scratch, capture_output=True, check=False)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
