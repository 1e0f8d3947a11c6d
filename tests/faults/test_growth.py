"""A run of any length takes the memory and the file handles of a short one."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from harness.records.metrics_log import MetricsLog


@pytest.mark.slow
def test_rows_written_are_not_kept(tmp_path: Path) -> None:
    """1,000 rows are 2.7 MB on disk; their ends take 8 kB."""
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.append(1, {"reward": 0.5})
    tracemalloc.start()
    handles = len([*Path("/proc/self/fd").iterdir()])
    for step in range(2, 1002):
        log.append(step, {"reward": 0.5})
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "metrics.jsonl").stat().st_size > 1_000_000
    assert grown < 100_000
    assert len([*Path("/proc/self/fd").iterdir()]) == handles
    log.close()
