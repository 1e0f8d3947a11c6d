"""benchmarks/ledger.py: finished runs into tables; what does not count is named."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ledger
from harness.law.estimate.entropy_ledger import COLUMNS
from harness.testing import run_folders, synthetic


def run(root: Path, seed: int, null_control: bool = False, **sums: float) -> Path:
    """A run of 21 steps with entries at two of them; `sums`: of both together."""
    names = dict.fromkeys([*COLUMNS, "ledger/total", "ledger/closure"])
    rows: list[dict[str, Any]] = [
        {**row, **names} for row in synthetic.rows(synthetic.lawful(seed, 21, synthetic.NONE))
    ]
    for row in (rows[10], rows[20]):
        row |= dict.fromkeys(names, 0.0)
        row |= {f"ledger/{name}": value / 2 for name, value in sums.items()}
        row["ledger/signal_se"] = 0.03 / 2**0.5
    name = f"{'null' if null_control else 'real'}-{seed}"
    return run_folders.write_run(root / name, rows, seed=seed, null_control=null_control)


def test_runs_are_summed_and_told_by_arm(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        run(tmp_path, seed, total=-0.2 - 0.01 * seed, noise=-0.1, closure=0.02 * seed)
        run(tmp_path, seed, True, total=-0.1, signal=0.03 * (-1) ** seed, noise=-0.1)
    runs, left_out = ledger.read([tmp_path])
    assert (len(runs), left_out) == (6, [])
    lines = list(ledger.tables(ledger.arms(runs)))
    zero = "+0.000 ± 0.000"
    assert lines[2] == (  # t of 2 degrees of freedom is 4.303
        f"| all runs | 3 | -0.220 ± 0.025 | {zero} | -0.100 ± 0.000 | {zero} "
        f"| {zero} | +0.0400 ± 0.0497 | 33% |"
    )
    assert lines[3].startswith("| all runs, null control | 3 | -0.100 ± 0.000 | -0.010 ± 0.086 |")
    assert lines[7] == "| all runs | 3 | 1.00 | 0.39 |"
    assert lines[11] == "| all runs | 3 | -0.100 ± 0.000 | 3 | -0.100 ± 0.000 | -0.100 ± 0.000 |"


def test_one_run_has_no_interval_and_what_does_not_count_is_named(tmp_path: Path) -> None:
    run(tmp_path, 1, total=-0.2)
    torn = run(tmp_path, 2, total=-0.2) / "metrics.jsonl"
    torn.write_text(torn.read_text().replace('"step": 4', '"step" 4', 1))
    bare = run_folders.write_run(tmp_path / "bare", synthetic.lawful_rows(n=21), seed=3)
    going = run_folders.write_run(tmp_path / "going", synthetic.lawful_rows(n=21), status="running")
    command = [sys.executable, "-m", "benchmarks.ledger", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.search(r"\| all runs \| 1 \| -0\.200 \| \+0\.000 \|", done.stdout)
    assert sorted(done.stderr.splitlines()) == [
        f"{bare}: {ledger.NO_LEDGER}",
        f"{going}: not done: running",
        f"{torn.parent}: damaged: {torn}:4: every row must be as the run wrote it; got a malformed "
        "line",
    ]


def test_the_chance_of_a_signal_where_there_is_none() -> None:
    """19 ratios whose root mean square is 0.85, and 20 of 1.11."""
    for n, rms, p in ((19, 0.85, "0.80"), (20, 1.11, "0.22")):
        sums = dict.fromkeys(ledger.SUMMED, 0.0) | {"signal": rms * 0.03}
        runs = [ledger.Run(seed, True, {}, sums, 0.03) for seed in range(n)]
        assert f"| all runs | {n} | {rms:.2f} | {p} |" in list(ledger.tables(ledger.arms(runs)))
    assert np.isclose(ledger.CLOSES, 0.03)
