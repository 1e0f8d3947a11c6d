"""A whole run as its own process: what it says, what it leaves, and what it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.records.run_folder import RunFolder
from tests.train.made import (
    STEPS,
    Finished,
    brief,
    finish,
    go_on,
    make_run,
    start,
    status,
    wait_for,
)


def test_a_run_says_what_it_does_and_leaves_everything(finished: Finished) -> None:
    events, err = [e for e in finished.events if e["event"] != "evaluation"], finished.err
    assert "step 1  H 1.903  batch R 0." in err
    steps = [{"event": "step", "step": n} for n in range(1, STEPS + 1)]
    assert [e for e in events if e["event"] == "step"] == steps
    assert events[0] == {"event": "start", "step": 0}
    assert events[5:8] == [steps[4], {"event": "checkpoint", "step": 5}, steps[5]]
    assert events[-2:] == [
        {"event": "checkpoint", "step": STEPS},
        {"event": "end", "status": "done", "exit_code": 0},
    ]
    ended = status(finished.run)
    assert (ended["status"], ended["last_step"], ended["attempts"]) == ("done", STEPS, 1)
    assert ended["measurement"]["entropy"]["tokens"] == "acts"
    assert ended["measurement"]["entropy"]["weights"] == "before update"


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    whole: RunFolder, tmp_path: Path
) -> None:
    """The whole run had a process of its own; these are done in this one."""
    again, other = make_run(tmp_path / "1", brief()), make_run(tmp_path / "2", brief(2, steps=1))
    assert go_on(again)[0] == go_on(other)[0] == 0
    assert again.metrics.read_bytes() == whole.metrics.read_bytes()
    assert other.metrics.read_bytes() not in whole.metrics.read_bytes()


def test_evaluation_and_probe_are_measured_when_due_and_null_between(whole: RunFolder) -> None:
    rows = [json.loads(line) for line in whole.metrics.read_text().splitlines()]
    for key in ("eval/reward", "eval/reward_se", "eval/hard/reward", "entropy/probe"):
        assert [r["step"] for r in rows if r[key] is not None] == [1, 13, STEPS], key
    for key in ("entropy", "entropy/probe"):
        assert rows[0][key] == pytest.approx(1.903, abs=5e-4)
    assert rows[0]["kl"] == 0


def test_a_finished_run_is_left_alone(whole: RunFolder) -> None:
    before = {p: p.stat().st_mtime_ns for p in whole.path.rglob("*.json*")}
    code, events, _ = go_on(whole)
    assert code == 0
    assert events == [
        {"event": "resume", "step": STEPS},
        {"event": "end", "status": "done", "exit_code": 0},
    ]
    assert {p: p.stat().st_mtime_ns for p in whole.path.rglob("*.json*")} == before


def test_a_folder_that_is_no_run_is_refused_and_not_made(tmp_path: Path) -> None:
    code, events, err = finish(RunFolder(tmp_path / "none"))
    assert (code, events) == (65, [])
    assert "must be a run folder, found no run.json in it" in err
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_listener_who_leaves_does_not_stop_the_run(whole: RunFolder, tmp_path: Path) -> None:
    run = make_run(tmp_path, brief())
    child = start(run)
    wait_for(child, "step", 2)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stderr.close()
    assert child.wait(timeout=60) == 0
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()


def test_nothing_heavy_is_imported_to_train() -> None:
    code = (
        "import sys, harness.train.__main__, harness.train.loop.tabular\n"
        "heavy = {'torch', 'pandas', 'scipy', 'pyarrow', 'matplotlib', 'hydra', 'omegaconf'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
