"""What a run of a pilot took, by its events."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.law.variance import runs
from harness.planning import costs
from tests.planning.made import write_runs


@pytest.mark.parametrize(
    "line", ['{"event": "step", "step": 7}', '{"event": "step", "seconds": {"update": NaN}}', "{"]
)
def test_a_damaged_event_adds_nothing_to_the_hours_of_a_gpu(tmp_path: Path, line: str) -> None:
    folder = write_runs(tmp_path / "pilot", seeds=1) / "0"
    outcomes = runs.read([folder], "medium")[0]
    with (folder / "events.jsonl").open("a") as file:
        file.write(line + "\n")
    spent = costs.mean_run_cost([folder], outcomes, 2)
    assert spent is not None
    assert spent.gpu_h == pytest.approx(2 * 100 * 0.2 / 3600)
