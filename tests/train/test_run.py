"""A whole run as its own process: what it leaves, and what survives a stop at any moment."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.config import RunConfig
from harness.records import checkpoints
from harness.records.folder import RunFolder
from tests.train.made import finish, make_run, start, status, tabular, wait_for

STEPS = 24


def config(seed: int = 1, **trainer: Any) -> RunConfig:
    return tabular(seed=seed, **{"steps": STEPS, "checkpoint_every": 5, **trainer})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """An uninterrupted run."""
    run = make_run(tmp_path_factory.mktemp("whole"), config())
    assert finish(run)[0] == 0
    return run


def test_a_run_says_what_it_does_and_leaves_everything(tmp_path: Path) -> None:
    run = make_run(tmp_path, config())
    code, events, err = finish(run)
    assert code == 0
    assert "step 1  H 1.903  R 0." in err
    steps = [{"event": "step", "step": n} for n in range(1, STEPS + 1)]
    assert [e for e in events if e["event"] == "step"] == steps
    assert events[0] == {"event": "start", "step": 0}
    assert events[5:8] == [steps[4], {"event": "checkpoint", "step": 5}, steps[5]]
    assert events[-2:] == [
        {"event": "checkpoint", "step": STEPS},
        {"event": "end", "status": "done", "exit_code": 0},
    ]
    found = status(run)
    assert (found["status"], found["last_step"], found["attempts"]) == ("done", STEPS, 1)
    assert found["measurement"]["entropy"]["tokens"] == "acts"
    assert found["measurement"]["entropy"]["weights"] == "before update"


def test_same_seed_same_bytes_other_seed_other_bytes(whole: RunFolder, tmp_path: Path) -> None:
    again, other = make_run(tmp_path / "1", config()), make_run(tmp_path / "2", config(seed=2))
    assert finish(again)[0] == finish(other)[0] == 0
    assert again.metrics.read_bytes() == whole.metrics.read_bytes()
    assert other.metrics.read_bytes() != whole.metrics.read_bytes()


def test_evaluation_and_probe_are_measured_when_due_and_null_between(whole: RunFolder) -> None:
    rows = [json.loads(line) for line in whole.metrics.read_text().splitlines()]
    for key in ("eval/reward", "eval/reward_se", "eval/hard/reward", "entropy/probe"):
        assert [r["step"] for r in rows if r[key] is not None] == [1, 11, 21, STEPS], key
    assert rows[0]["entropy"] == rows[0]["entropy/probe"] == pytest.approx(1.903, abs=5e-4)
    assert rows[0]["kl"] == 0


@pytest.mark.parametrize(
    "moment", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 9))]
)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    whole: RunFolder, tmp_path: Path, moment: int
) -> None:
    run, chance = make_run(tmp_path, config()), random.Random(moment)
    child = start(run)
    wait_for(child, "step", chance.randrange(1, STEPS - 1))
    time.sleep(chance.random() * 0.03)
    child.kill()
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    code, events, _ = finish(run)
    assert code == 0
    assert events[0]["event"] == "resume"
    assert events[0]["step"] % 5 == 0
    assert [e["step"] for e in events if e["event"] == "step"] == list(
        range(events[0]["step"] + 1, STEPS + 1)
    )
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()
    assert status(run)["attempts"] == 2


@pytest.mark.parametrize(
    "name", ["SIGTERM", *(pytest.param(n, marks=pytest.mark.slow) for n in ("SIGINT", "SIGUSR1"))]
)
def test_a_stop_is_resumable_and_leaves_no_trace_in_the_rows(
    whole: RunFolder, tmp_path: Path, name: str
) -> None:
    run = make_run(tmp_path, config())
    child = start(run)
    wait_for(child, "step", 7)
    child.send_signal(signal.Signals[name])
    _, err = child.communicate(timeout=60)
    assert child.returncode == 75, err
    stopped = status(run)
    assert (stopped["status"], stopped["exit_code"]) == ("stopped", 75)
    assert f"stopped by {name} after step {stopped['last_step']}" in stopped["reason"]
    assert f"harness resume {run.path}" in err
    code, events, _ = finish(run)
    assert code == 0
    assert events[0] == {"event": "resume", "step": stopped["last_step"]}
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()


def test_a_stop_before_the_first_step_is_a_stop_too(tmp_path: Path) -> None:
    run = make_run(tmp_path, config())
    child = start(run)
    while not (tmp_path / ".holder").exists():
        time.sleep(0.001)
    child.terminate()
    child.communicate(timeout=60)
    assert child.returncode == 75
    assert finish(run)[0] == 0


def long_step(path: Path, grace_s: float = 30) -> tuple[RunFolder, subprocess.Popen[str]]:
    """A run inside a first step that takes many seconds."""
    run = make_run(path, config(conversations=65_536, grace_s=grace_s))
    child = start(run)
    wait_for(child, "start", 0)
    return run, child


def test_a_second_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    run, child = long_step(tmp_path)
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=2)
    assert child.returncode == 130
    assert "interrupt again to end now" in err
    assert status(run)["reason"] == "ended within step 1, interrupted twice"


def test_a_step_longer_than_the_grace_is_abandoned(tmp_path: Path) -> None:
    run, child = long_step(tmp_path, grace_s=0.3)
    child.terminate()
    out, _ = child.communicate(timeout=3)
    assert child.returncode == 75
    assert json.loads(out.splitlines()[-1])["status"] == "stopped"
    assert status(run)["reason"] == (
        "ended within step 1, 0.3 s after a stop request (trainer.grace_s)"
    )


def test_a_finished_run_is_left_alone(whole: RunFolder) -> None:
    before = {p: p.stat().st_mtime_ns for p in whole.path.rglob("*.json*")}
    code, events, _ = finish(whole)
    assert code == 0
    assert events == [
        {"event": "resume", "step": STEPS},
        {"event": "end", "status": "done", "exit_code": 0},
    ]
    assert {p: p.stat().st_mtime_ns for p in whole.path.rglob("*.json*")} == before


def stopped_after(run: RunFolder, step: int) -> None:
    """Kill the run once `step` is acknowledged."""
    child = start(run)
    wait_for(child, "step", step)
    child.kill()
    child.communicate()


def test_a_replayed_row_that_differs_ends_70(tmp_path: Path) -> None:
    run = make_run(tmp_path, config(checkpoint_every=10**6))
    stopped_after(run, 3)
    lines = run.metrics.read_text().splitlines(keepends=True)
    row = json.loads(lines[1])
    lines[1] = json.dumps(row | {"reward": row["reward"] + 0.01}) + "\n"
    run.metrics.write_text("".join(lines))
    code, events, err = finish(run)
    assert code == 70
    assert events[0] == {"event": "resume", "step": 0}
    assert events[-1] == {"event": "end", "status": "failed", "exit_code": 70}
    assert "metrics.jsonl:2: a recomputed row must equal the one on disk; reward was" in err
    assert status(run)["status"] == "failed"


def test_a_damaged_checkpoint_falls_back_and_says_so(whole: RunFolder, tmp_path: Path) -> None:
    run = make_run(tmp_path, config())
    stopped_after(run, 11)
    found, _ = checkpoints.newest(run.checkpoints)
    assert found is not None
    (found.path / "table.npy").write_bytes(b"broken")
    code, events, _ = finish(run)
    assert code == 0
    assert events[0] == {"event": "resume", "step": found.step - 5}
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()
    notes = [json.loads(line) for line in run.events.read_text().splitlines()]
    assert any(n["event"] == "checkpoint_passed_over" for n in notes)
    assert [n["mismatched"] for n in notes if n["event"] == "replay_check"] == [0]


def test_missing_rows_are_an_error_not_a_gap(tmp_path: Path) -> None:
    run = make_run(tmp_path, config())
    stopped_after(run, 11)
    run.metrics.unlink()
    code, _, err = finish(run)
    assert code == 65
    assert "needs a row for each step up to it, found 0" in err


def test_logits_that_are_not_finite_end_70(tmp_path: Path) -> None:
    run = make_run(tmp_path, config())
    stopped_after(run, 11)
    found, _ = checkpoints.newest(run.checkpoints)
    assert found is not None

    def broken(folder: Path) -> None:
        np.save(folder / "table.npy", np.full_like(np.load(found.path / "table.npy"), np.nan))

    run.metrics.write_bytes(b"".join(run.metrics.read_bytes().splitlines(True)[: found.step]))
    checkpoints.publish(run.checkpoints, found.step, broken)
    code, _, err = finish(run)
    assert code == 70
    assert f"step {found.step + 1}: logits must be finite after an update" in err
    last = json.loads(run.metrics.read_text().splitlines()[-1])
    assert (last["step"], last["entropy"]) == (found.step + 1, None)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    run, child = long_step(tmp_path)
    try:
        code, events, err = finish(run)
        assert (code, events) == (75, [])
        assert f"held by process {child.pid} on" in err
    finally:
        child.kill()
        child.communicate()


def test_a_folder_that_is_no_run_is_refused_and_not_made(tmp_path: Path) -> None:
    code, events, err = finish(RunFolder(tmp_path / "none"))
    assert (code, events) == (65, [])
    assert "must be a run folder, found no run.json in it" in err
    assert not (tmp_path / "none").exists()


def test_a_listener_who_leaves_does_not_stop_the_run(whole: RunFolder, tmp_path: Path) -> None:
    run = make_run(tmp_path, config())
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
        "import sys, harness.train.__main__, harness.train.tabular\n"
        "heavy = {'torch', 'pandas', 'scipy', 'pyarrow', 'matplotlib', 'hydra', 'omegaconf'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
