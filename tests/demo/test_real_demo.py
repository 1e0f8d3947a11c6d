"""`harness demo` as a user types it: each run shows the regime that it was constructed for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.testing import commands


@pytest.mark.slow
def test_each_construction_shows_its_regime(tmp_path: Path) -> None:
    done = subprocess.run(
        commands.command("demo", "--json"),
        cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = {run["name"]: run for run in json.loads(done.stdout)["runs"]}
    regimes = {name: run["regime"] for name, run in runs.items()}
    assert {name: regimes[name] for name in ("learns", "collapses", "starves", "explodes")} == {
        "learns": "learning", "collapses": "collapsed", "starves": "starved",
        "explodes": "exploded",
    }  # fmt: skip
    assert all(run["as_constructed"] for run in runs.values())
    assert runs["collapses"]["onset"]["kind"] == "terminal_fall"
    assert runs["explodes"]["onset"]["kind"] == "explosion"
    assert {run["reward"] for run in runs.values()} == {"eval/reward"}
    assert (tmp_path / "runs" / "demo" / "law" / "demo.png").is_file()
    for run in runs.values():  # what learns gains, and its null control does not
        moved = run["reward_ends"]["end"] - run["reward_ends"]["start"]
        assert (moved > 0.2) == (run["name"] == "learns")
