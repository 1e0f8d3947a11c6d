"""Many runs are shared between processes, and nobody can tell from the results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.law import law_json
from harness.law.analysis import analyse
from harness.testing import run_folders, synthetic
from harness.utils import process_pool

RUNS = process_pool.FEWEST_RUNS + 7


@pytest.mark.slow
def test_two_processes_give_the_bytes_of_one_in_the_order_of_the_runs(tmp_path: Path) -> None:
    for number in range(RUNS):
        rows = synthetic.rows(synthetic.kink(number, 20, synthetic.LOW))
        run_folders.write_rows(tmp_path / f"{number:03d}", rows)
    (tmp_path / "050" / "metrics.jsonl").write_bytes(b"\x80\n")
    alone = analyse([tmp_path])
    with process_pool.worker_pool(2) as pool:
        shared = analyse([tmp_path], pool=pool)
    assert json.dumps(law_json.from_analysis(shared)) == json.dumps(law_json.from_analysis(alone))
    assert list(shared.series) == list(alone.series)
    assert [run.status for run in shared.runs].index("error") == 50
