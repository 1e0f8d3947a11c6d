"""Runs of ours as they stand on disk: with checksums, and with an end of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.records import metric_rows, run_status
from harness.records.run_folder import RunFolder
from harness.testing import run_folders, synthetic

STEPS = 60
Rows = list[dict[str, Any]]


def rows(seed: int, n: int = STEPS) -> Rows:
    return synthetic.rows(synthetic.lawful(seed, n, synthetic.LOW))


def without_onset(seed: int, n: int = STEPS) -> Rows:
    """Half of the entropy is left at the end."""
    half = synthetic.exponential(0.5)
    return synthetic.rows(synthetic.lawful(seed, n, synthetic.LOW, half))


def run(
    folder: Path,
    seed: int = 1,
    lines: Rows | None = None,
    level: str = "easy",
    checked: bool = True,
    **standing: Any,
) -> Path:
    """A finished run of STEPS steps, unless `standing`, fields of run.json, says otherwise."""
    lines = rows(seed) if lines is None else lines
    last = max((line["step"] for line in lines), default=0)
    run_folders.write_run(folder, lines, seed=seed, level=level)
    if checked:
        encoded = b"".join(map(metric_rows.encode, lines))
        (folder / "metrics.jsonl").write_bytes(encoded)
    stands(folder, **{"last_step": last, "exit_code": 0, **standing})
    return folder


def stands(folder: Path, **standing: Any) -> None:
    """Write these over what run.json says."""
    status = run_status.read(RunFolder(folder).status)
    run_status.write(RunFolder(folder).status, replace(status, **standing))


def edit(folder: Path, change: Callable[[list[bytes]], Sequence[bytes]]) -> None:
    """Do something to the lines of metrics.jsonl."""
    path = folder / "metrics.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def numbers(group: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """A group but for the names of keys that say who was left out."""
    left = {"unfinished", "diverged", *without}
    return {key: value for key, value in group.items() if key not in left}
