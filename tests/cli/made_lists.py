"""Folders to be listed or removed, and a sweep whose runs stand in its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.records import run_folder, run_status, sweep_file
from harness.records.metrics_log import MetricsLog
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep

ROW = {"entropy": 1.25, "reward": 0.4375}


def made(path: Path, status: str = "done", steps: int = 3) -> Path:
    """A run folder with so many rows."""
    run = RunFolder(path)
    run_folder.create(run, RunConfig())
    log = MetricsLog(run.metrics)
    for step in range(1, steps + 1):
        log.append(step, ROW)
    log.close()
    now = run_status.read(run.status)
    ended = {**now.to_json(), "status": status, "last_step": steps}
    ended.pop("schema")
    run_status.write(run.status, run_status.RunStatus(**ended))
    return path


def a_sweep(root: Path, *names: str, **given: Any) -> Path:
    rows = [LedgerRow(name, str(root / name), (f"seed={n}",)) for n, name in enumerate(names, 1)]
    for name in names:
        made(root / name)
    axes = {"seed": list(range(1, len(names) + 1))}
    sweep_file.write(root, Sweep(str(root), axes, rows, (), **given))
    return root


HEX = "0123456789abcdef"


def names(path: Path) -> list[str]:
    return sorted(p.name for p in path.iterdir())


def add(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("keep me")
