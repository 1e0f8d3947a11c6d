"""Counts for the promises on damage, wrong words, hostile text, plans, large fits and long runs.

    python -m benchmarks.reliability [damage|words|texts|plans|fit|writers|growth ...] [--share 1.0]

Without a name all of them; a smaller share does less of each. Seconds are user and system time of
the processes, since the machine may have other work.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.sinks import SINKS
from harness.compose.overrides import known_keys
from harness.law import analysis, law_json
from harness.testing import run_folders, synthetic
from harness.testing.commands import here
from harness.testing.payloads import PAYLOADS

GARBAGE = (
    b"", b"{", b"null", b"7", b'"text"', b"[" * 100_000, b"\0" * 50, b"\xff\xfe", b'{"step": ',
    b'{"step": 1e400, "entropy": 1, "reward": 1}', b'{"step": 9, "entropy": NaN, "reward": 1}',
    b'{"step": 9, "entropy": "1", "reward": 1}', b'{"step": 9, "entropy": 21, "reward": 1}',
    b'{"step": 9, "reward": 1}', b'{"step": ' + b"9" * 5000 + b', "entropy": 1, "reward": 1}',
    b'{"step": 9, "entropy": 1, "reward": Infinity}', b"!!python/object/apply:os.mkdir [B]",
)  # fmt: skip
LEAVE_OUT = ("run", "dropped", "dropped_at")
"""Fields that must differ between a damaged file and the same one without the damaged rows."""
VALUES = (
    "", "x", "null", "-1", "nan", "1e999", "[]", "{a:1}", "true", "1,1", "range(3,1)", "${x:y}",
)  # fmt: skip


def main() -> None:
    """Print a line a promise."""
    arguments = _arguments()
    for name in arguments.names or PARTS:
        with tempfile.TemporaryDirectory() as scratch:
            print(f"{name}: {PARTS[name](Path(scratch), arguments.share)}", flush=True)


def damage(scratch: Path, share: float) -> str:
    """Rows replaced by garbage, against the same file without them: to the last bit."""
    chance, differ, count = random.Random(1), 0, round(1000 * share)
    for number in range(count):
        log = synthetic.kink(number, 60 + number % 200, synthetic.LOW)
        rows = [json.dumps(row).encode() for row in synthetic.rows(log)]
        hit = set(chance.sample(range(len(rows)), chance.randrange(1, len(rows) // 3)))
        bad = [chance.choice(GARBAGE) if n in hit else row for n, row in enumerate(rows)]
        good = [row for n, row in enumerate(rows) if n not in hit]
        differ += _fitted(scratch / "a", bad) != _fitted(scratch / "b", good)
    return f"{count} damaged folders, {differ} differ from the same without the damaged rows"


def _fitted(folder: Path, lines: Sequence[bytes]) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    (run,) = law_json.from_analysis(analysis.analyse([folder]))["runs"]
    return {key: value for key, value in run.items() if key not in LEAVE_OUT}


def words(scratch: Path, share: float) -> str:
    """Wrong words: exit code 2 with the key named, nothing made; of every tenth, its cost."""
    chance = random.Random(1)
    typos = [f"{key[:-1]}={1}" for key in known_keys() if len(key) > 5]
    wrong = [f"{key}={value}" for key in known_keys() if "." in key for value in VALUES]
    mistakes = [*chance.sample(typos, 50), *chance.sample(wrong, len(wrong))]
    met, slowest, unnamed, others = 0, 0.0, 0, 0
    for word in mistakes:
        command = ("sweep", "policy=tabular", word, "--dry-run")
        done = here(*command, cwd=scratch)
        if done.returncode == 0:  # right, as luck has it
            continue
        met += 1
        unnamed += word.split("=")[0] not in done.stderr
        one_line = done.stderr.count("\n") == 1
        others += done.returncode != 2 or not one_line or any(scratch.iterdir())
        if met % 10 == 0:
            slowest = max(slowest, _harness(*command, cwd=scratch)[2])
        if met >= 300 * share:
            break
    return (
        f"{met} wrong invocations: {others} not 2 in one line with nothing made, {unnamed} without "
        f"the key, at most {slowest:.2f} s of processor time"
    )


def _harness(*given: str, cwd: Path) -> tuple[int, str, float]:
    """Exit code, stderr and processor seconds."""
    before = _children_s()
    command = [sys.executable, "-P", "-m", "harness", *given]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def texts(scratch: Path, share: float) -> str:
    """Pieces of hostile text put together, at six sinks; what is active in what comes out."""
    chance, count = random.Random(1), round(500 * share)
    drawn = ["".join(chance.choices(PAYLOADS, k=chance.randrange(1, 4))) for _ in range(count)]
    active = {name: sum(map(bad, drawn)) for name, bad in SINKS.items()}
    return f"{count} texts at {len(SINKS)} sinks, active: {active}"


def plans(scratch: Path, share: float) -> str:
    """A sweep of 100 runs, and one of 1,000."""
    took = {}
    for count in (100, round(1000 * share)):
        seeds = f"seed=range(0,{count})"
        code, err, took[count] = _harness(
            "sweep", "policy=tabular", seeds, "--dry-run", cwd=scratch
        )
        assert code == 0, err
    sentences = [
        f"{n} runs planned in {s:.1f} s, {s / n * 1e3:.0f} ms each" for n, s in took.items()
    ]
    return ", ".join(sentences)


def fit(scratch: Path, share: float) -> str:
    """10,000 runs of 200 steps."""
    count = round(10_000 * share)
    made = [synthetic.rows(synthetic.kink(n, 200, synthetic.LOW)) for n in range(24)]
    for number in range(count):
        run_folders.write_rows(scratch / "runs" / str(number), made[number % 24])
    began = time.monotonic()
    code, err, seconds = _harness("fit-entropy-law", "runs", cwd=scratch)
    assert code == 0, err
    wall_s = time.monotonic() - began
    largest_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return (
        f"{count} runs of 200 steps in {wall_s:.0f} s, {seconds:.0f} s of processor time, "
        f"the largest process {largest_mb:.0f} MB"
    )


def writers(scratch: Path, share: float) -> str:
    """Four starts of a long run in one folder at once, 50 times: exit codes of those that end."""
    rounds, codes, slowest_s = round(50 * share), Counter[int | str](), 0.0
    for number in range(rounds):
        options = ["policy=tabular", "trainer.steps=1000000", "--dir", str(scratch / str(number))]
        command = [sys.executable, "-P", "-m", "harness", "train", *options]
        began = time.monotonic()
        four = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(4)]
        while sum(child.poll() is None for child in four) > 1:
            time.sleep(0.02)
        slowest_s = max(slowest_s, time.monotonic() - began)
        while _steps(scratch / str(number) / "metrics.jsonl") < 1 and None in _codes(four):
            time.sleep(0.02)
        codes.update("winner" if code is None else code for code in _codes(four))
        for child in four:
            child.kill()
            child.wait()
    return f"{rounds} rounds of 4: {dict(codes)}; the losers were told within {slowest_s:.1f} s"


def _codes(children: Sequence[subprocess.Popen[bytes]]) -> list[int | None]:
    return [child.poll() for child in children]


def growth(scratch: Path, share: float) -> str:
    """A run of 100,000 tabular steps: resident memory and open files on its way."""
    steps = round(100_000 * share)
    options = ["policy=tabular", "trainer.conversations=2", "algorithm.group_size=2",
               "difficulty.turn_cap=1", f"trainer.steps={steps}", "trainer.eval_every=1000000",
               "trainer.checkpoint_every=1000", "trainer.conversations_every=1000000"]  # fmt: skip
    command = [
        sys.executable,
        "-P",
        "-m",
        "harness",
        "train",
        *options,
        "--dir",
        str(scratch / "run"),
    ]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    rows, seen = scratch / "run" / "metrics.jsonl", []
    for tenth in range(1, 10):
        while child.poll() is None and _steps(rows) < steps * tenth / 10:
            time.sleep(0.2)
        if child.poll() is None:
            seen.append((_steps(rows), _resident_mb(child.pid), _handles(child.pid)))
    assert child.wait() == 0
    memory = ", ".join(f"{step}: {mb:.1f} MB" for step, mb, _ in seen)
    return f"{steps} steps; resident at step {memory}; open files {sorted({n for *_, n in seen})}"


def _steps(rows: Path) -> int:
    """Return the step of the last row, read from the file's end since the file is large."""
    try:
        with rows.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 20_000))
            return int(json.loads(file.read().rpartition(b"\n")[0].splitlines()[-1])["step"])
    except (OSError, ValueError, IndexError):
        return 0


def _resident_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


def _handles(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


PARTS: dict[str, Callable[[Path, float], str]] = {
    "damage": damage, "words": words, "texts": texts, "plans": plans, "fit": fit,
    "writers": writers, "growth": growth,
}  # fmt: skip


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--share", type=float, default=1.0, help="of each part's count")
    return parser.parse_args()


if __name__ == "__main__":
    main()
