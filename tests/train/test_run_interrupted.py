"""A run that is killed, stopped or damaged at any moment goes on as if nothing had happened."""

import json
import random
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.compose import planner
from harness.config.run import PolicyConfig, TrainerConfig
from harness.config.trainer import SERVERS
from harness.execution import preflight
from harness.records import checkpoints, metric_rows, run_folder, run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.train.loop import resume_checks
from tests.train.made import (
    STEPS,
    brief,
    finish,
    go_on,
    killed_after,
    make_run,
    start,
    status,
    wait_for,
)


def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    whole: RunFolder, killed: RunFolder
) -> None:
    code, events, _ = go_on(killed)
    assert code == 0
    assert events[0]["event"] == "resume"
    assert events[0]["step"] % 5 == 0
    assert [e["step"] for e in events if e["event"] == "step"] == list(
        range(events[0]["step"] + 1, STEPS + 1)
    )
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()
    assert status(killed)["attempts"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(9))
def test_a_run_killed_at_any_moment_ends_with_the_rows_of_one_that_was_not(
    whole: RunFolder, tmp_path: Path, moment: int
) -> None:
    chance = random.Random(moment)
    run = killed_after(
        make_run(tmp_path, brief()), chance.randrange(1, STEPS // 2), chance.random() * 0.03
    )
    assert finish(run)[0] == 0
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_a_stop_is_resumable_and_leaves_no_trace_in_the_rows(
    whole: RunFolder, tmp_path: Path, name: str
) -> None:
    run = make_run(tmp_path, brief())
    child = start(run)
    wait_for(child, "step", 3)
    child.send_signal(signal.Signals[name])
    _, err = child.communicate(timeout=60)
    assert child.returncode == 75, err
    stopped = status(run)
    assert (stopped["status"], stopped["exit_code"]) == ("stopped", 75)
    assert f"stopped by {name} after step {stopped['last_step']}" in stopped["reason"]
    assert f"harness resume {run.path}" in err
    code, events, _ = go_on(run)
    assert code == 0
    assert events[0] == {"event": "resume", "step": stopped["last_step"]}
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()


def test_a_stop_before_the_first_step_is_a_stop_too(tmp_path: Path) -> None:
    run = make_run(tmp_path, brief())
    child = start(run)
    while not (tmp_path / ".holder").exists():
        time.sleep(0.001)
    child.terminate()
    child.communicate(timeout=60)
    assert child.returncode == 75
    assert go_on(run)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("when", ["as its libraries load", "as it is built"])
def test_a_stop_while_the_start_model_is_built_ends_it_within_seconds(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no step to finish."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    steps = TrainerConfig(steps=1, conversations=8, eval_every=0)
    config = planner.point(["policy=tiny_smoke", "policy.warm_start_steps=40"]).config
    run = make_run(tmp_path / "run", replace(config, trainer=steps))
    child = start(run)
    assert child.stderr is not None
    if when == "as it is built":
        assert any(line.startswith("warm start: building") for line in child.stderr)
    else:
        while not run.metrics.exists():
            time.sleep(0.01)
        time.sleep(1)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = child.communicate(timeout=60)
    seconds = time.monotonic() - began
    assert child.returncode == 75, err
    assert seconds < 20, "less than the grace"
    reason = (
        "stopped by SIGINT while the start model was built; "
        f"continue with `harness resume {run.path}`"
    )
    assert f"harness: {run.path}: {reason}\n" in err
    stopped = status(run)
    assert (stopped["status"], stopped["exit_code"]) == ("stopped", 75)
    assert (stopped["reason"], stopped["last_step"]) == (reason, 0)
    assert not [path for path in (tmp_path / "cache").glob("start-*") if path.is_dir()]
    if when == "as it is built":
        code, events, err = finish(run)
        assert code == 0, err
        assert events[-1] == {"event": "end", "status": "done", "exit_code": 0}


def test_a_replayed_row_that_differs_ends_70(killed: RunFolder) -> None:
    shutil.rmtree(killed.checkpoints)
    lines = killed.metrics.read_bytes().splitlines(keepends=True)
    row = json.loads(metric_rows.without_checksum(lines[1]))
    lines[1] = metric_rows.encode(row | {"reward": row["reward"] + 0.01})
    killed.metrics.write_bytes(b"".join(lines))
    code, events, err = go_on(killed)
    assert code == 70
    assert events[0] == {"event": "resume", "step": 0}
    assert events[-1] == {"event": "end", "status": "failed", "exit_code": 70}
    assert "metrics.jsonl:2: a recomputed row must equal the one on disk; reward was" in err
    assert status(killed)["status"] == "failed"


@pytest.mark.parametrize(
    "trainer",
    [{"gpus": 1}, *({"engine": one, "engine_url": "http://127.0.0.1:1"} for one in SERVERS)],
)
def test_no_row_is_promised_of_a_gpu_or_of_a_server_that_others_ask(
    whole: RunFolder, trainer: dict[str, Any]
) -> None:
    own = run_folder.read_config(whole)
    provenance = resume_checks.provenance_of(whole, own, run_status.read(whole.status))
    assert provenance.promises(1, own)
    adapted = PolicyConfig("hf", "hf", init="random", lora_rank=4)
    other = replace(own, policy=adapted, trainer=replace(own.trainer, **trainer))
    assert not provenance.promises(1, other)


def test_a_damaged_checkpoint_falls_back_and_says_so(whole: RunFolder, killed: RunFolder) -> None:
    newest, _ = checkpoints.newest(killed.checkpoints)
    assert newest is not None
    (newest.path / "table.npy").write_bytes(b"broken")
    code, events, _ = go_on(killed)
    assert code == 0
    assert events[0] == {"event": "resume", "step": newest.step - 5}
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()
    notes = [json.loads(line) for line in killed.events.read_text().splitlines()]
    assert any(n["event"] == "checkpoint_passed_over" for n in notes)
    assert [n["mismatched"] for n in notes if n["event"] == "replay_check"] == [0]


def test_missing_rows_are_an_error_not_a_gap(whole: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(whole.path, tmp_path / "run"))
    run_status.write(run.status, RunStatus("stopped", exit_code=75))
    run.metrics.unlink()
    code, _, err = go_on(run)
    assert code == 65
    assert "needs a row for each step up to it, found 0" in err


def test_logits_that_are_not_finite_end_70(killed: RunFolder) -> None:
    newest, _ = checkpoints.newest(killed.checkpoints)
    assert newest is not None

    def broken(path: Path) -> None:
        np.save(path / "table.npy", np.full_like(np.load(newest.path / "table.npy"), np.nan))

    rows = killed.metrics.read_bytes().splitlines(True)
    killed.metrics.write_bytes(b"".join(rows[: newest.step]))
    checkpoints.publish(killed.checkpoints, newest.step, broken)
    code, _, err = go_on(killed)
    assert code == 70
    assert f"step {newest.step + 1}: logits must be finite after an update" in err
    last = json.loads(killed.metrics.read_text().splitlines()[-1])
    assert (last["step"], last["entropy"]) == (newest.step + 1, None)


def test_every_nth_checkpoint_is_kept_beside_the_newest(tmp_path: Path) -> None:
    run = make_run(tmp_path, brief(steps=11, checkpoint_every=2, keep_every=3))
    needed = preflight.least_bytes(brief(steps=11, checkpoint_every=2, keep_every=3))
    assert go_on(run)[0] == 0
    kept = checkpoints.all_in(run.checkpoints)
    assert [checkpoints.step_of(path) for path in kept] == [3, 6, 9, 10, 11]
    rows = 11 * preflight.ROW_BYTES
    assert needed == rows + len(kept) * preflight.TABULAR_BYTES
    assert go_on(run)[0] == 0


@pytest.mark.parametrize(
    ("steps", "every", "keep", "kept"),
    [(10, 5, 0, 2), (4, 5, 0, 1), (10, 5, 5, 2), (10, 3, 4, 4), (9, 5, 1, 9), (100, 25, 10, 10)],
)
def test_the_checkpoints_that_a_run_ends_with_are_counted(
    steps: int, every: int, keep: int, kept: int
) -> None:
    config = brief(steps=steps, checkpoint_every=every, keep_every=keep)
    size = preflight.least_bytes(config) - steps * preflight.ROW_BYTES
    assert size == kept * preflight.TABULAR_BYTES
