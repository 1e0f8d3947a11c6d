"""Folders and files from somebody else: nothing in them is run, followed, waited for or obeyed."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness import simulator
from harness.compose import planner
from harness.errors import ConfigError, DataError, DeviceError
from harness.execution import child_process, gpu_lease, launcher, progress
from harness.records import checkpoints, holder, run_folder, run_lock, run_status
from harness.records.metrics_log import MetricsLog
from harness.records.run_folder import RunFolder
from harness.testing.commands import harness
from harness.train.loop import session as sessions
from harness.utils import installation
from tests.faults.limited import quick, train
from tests.faults.untrusted import Bomb
from tests.train.made import make_run, status


def opened(run: RunFolder) -> None:
    with sessions.open_session(run, run_folder.read_config(run), lambda event: None):
        pytest.fail("it went on")


@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "events.jsonl", "checkpoints", "conversations", "simulator"]
)
def test_a_link_in_the_place_of_what_a_run_writes_is_refused(tmp_path: Path, name: str) -> None:
    run, mine = make_run(tmp_path / "run", quick()), tmp_path / "mine"
    mine.mkdir() if "." not in name else mine.write_text("years of work")
    (run.path / name).symlink_to(mine)
    with pytest.raises(DataError, match=rf"{name}: must not be a link, .* got a link to {mine}"):
        opened(run)
    assert list(mine.iterdir()) == [] if mine.is_dir() else mine.read_text() == "years of work"


def test_a_link_in_the_place_of_a_log_is_refused_before_the_log_is_begun(tmp_path: Path) -> None:
    """The log is opened by the sweep, the rest by the run."""
    run, mine = make_run(tmp_path / "run", quick()), tmp_path / "mine"
    mine.write_text("years of work")
    run.log.symlink_to(mine)
    outcome = child_process.execute(run.path)
    assert (outcome.status, outcome.exit_code) == ("failed", 65)
    rule = "must not be a link, since a run writes only to its own files and folders"
    assert f"{rule}, got a link to {mine}" in str(outcome.reason)
    assert mine.read_text() == "years of work"


@pytest.mark.parametrize("name", [".lock", ".holder"])
def test_a_link_in_the_place_of_the_lock_touches_nothing(tmp_path: Path, name: str) -> None:
    run, mine = make_run(tmp_path / "run", quick()), tmp_path / "mine"
    mine.write_text("years of work")
    (run.path / ".holder").write_text("1 on here")
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to(mine)
    assert holder.holder(run) is None
    done = train(run) if name == ".lock" else None
    assert done is None or done.returncode == 74
    assert mine.read_text() == "years of work"


def test_a_pipe_or_a_device_is_neither_waited_for_nor_read_for_ever(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    os.mkfifo(run.metrics)
    seen = threading.Thread(target=progress.RunWatcher(run.path, "run", 9).read, daemon=True)
    seen.start()
    seen.join(5)
    assert not seen.is_alive()
    with pytest.raises(DataError, match=r"metrics.jsonl: must be a regular file, but is not"):
        opened(run)
    run.metrics.unlink()
    target = checkpoints.publish(run.checkpoints, 5, lambda path: None).path
    (target / "manifest.json").unlink()
    os.mkfifo(target / "manifest.json")
    found, problems = checkpoints.newest(run.checkpoints)
    assert found is None
    assert "no readable manifest.json" in problems[0]
    os.mkfifo(run.path / run_lock.NAME)
    assert holder.holder(run) is None


def manifest_of(text: str) -> Callable[[Path], None]:
    return lambda path: (path / "manifest.json").write_text(text) and None  # type: ignore[return-value]


@pytest.mark.parametrize(
    "damage",
    [
        manifest_of('{"files": []}'),
        manifest_of('{"files": "x"}'),
        manifest_of('{"files": {"../../x": 1}}'),
        manifest_of("[" * 100_000),
        lambda path: (path / "stray").symlink_to("/etc/passwd"),
        lambda path: (path / "more").symlink_to("/etc"),
    ],
)
def test_a_checkpoint_that_is_not_what_was_saved_is_passed_over(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    for step in (5, 10):
        checkpoints.publish(tmp_path, step, lambda at: (at / "a").write_text("x"))
    damage(tmp_path / "step-00010")
    found, problems = checkpoints.newest(tmp_path)
    assert found is not None
    assert (found.step, len(problems)) == (5, 1)


def test_a_linked_checkpoint_is_none_and_what_it_links_to_stays(tmp_path: Path) -> None:
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    theirs.mkdir()
    (theirs / "step-00003").symlink_to(checkpoints.publish(tmp_path / "mine", 3, _nothing).path)
    assert checkpoints.newest(theirs) == (None, [])
    for step in (5, 10, 15):
        checkpoints.publish(theirs, step, _nothing)
    assert (mine / "step-00003" / "manifest.json").is_file()


def _nothing(path: Path) -> None:
    (path / "empty").write_text("")


PICKLES: dict[str, Callable[[Path, Path], object]] = {
    "a pickle": lambda path, bomb: path.write_bytes(pickle.dumps(Bomb(bomb))),
    "an array of objects": lambda path, bomb: np.save(
        path, np.array([Bomb(bomb)], dtype=object), allow_pickle=True
    ),
    "nothing": lambda path, bomb: path.write_bytes(b""),
    "another shape": lambda path, bomb: np.save(path, np.zeros(3)),
}


@pytest.mark.parametrize("what", PICKLES)
def test_a_checkpoint_that_somebody_made_runs_nothing(tmp_path: Path, what: str) -> None:
    """Its manifest is right: whoever can write the files can write that too."""
    run, bomb = make_run(tmp_path / "run", quick()), tmp_path / "bomb"
    status = replace(run_status.read(run.status), simulator_version=simulator.VERSION)
    run_status.write(run.status, status)
    step = 1
    log = MetricsLog(run.metrics)
    log.append(step, {})
    log.close()
    checkpoints.publish(run.checkpoints, step, lambda path: PICKLES[what](path / "table.npy", bomb))
    done = train(run)
    assert done.returncode == 65, done.stderr
    assert re.search(r"table\.npy: must hold .*logits", done.stderr)
    assert "Traceback" not in done.stderr
    assert not bomb.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("was", "now"),
    [("checkpoint_every: 5", "checkpoint_every: 6"), ("seed: 1", "seed: 2")],
)
def test_a_config_changed_after_planning_is_2(was: str, now: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    text = run.config.read_text()
    assert was in text
    run.config.write_text(text.replace(was, now, 1))
    done = train(run)
    assert done.returncode == 2
    assert "config.yaml: must be as it was when the run was planned (hash" in done.stderr
    assert status(run)["status"] == "planned"
    run.config.write_text(text)
    assert train(run).returncode == 0


REASON = "\x1b]52;c;aGk=\x07\x1b[31mred\x9b31m \u202eolleh [/] [link=file:///x]\nsecond"


@pytest.mark.slow
def test_what_a_run_says_of_itself_is_shown_and_does_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run\x1b[2J", quick())
    run_status.write(
        run.status, replace(run_status.read(run.status), status="failed", reason=REASON)
    )
    for words in (("status", str(run.path)), ("resume", str(run.path) + "\x1b[2J")):
        done = harness(*words, cwd=tmp_path)
        assert all(c.isprintable() or c == "\n" for c in done.stdout + done.stderr)
        assert r"\x1b[2J" in done.stdout + done.stderr
    assert json.loads(harness("status", str(run.path), "--json", cwd=tmp_path).stdout)


OWN_CONF = {
    "hydra.callbacks": "callbacks: {x: {class: os.mkdir, path: BOMB}}",
    "hydra.job_logging": "job_logging: {handlers: {x: {class: os.mkdir, path: BOMB}}}",
    "hydra.hydra_logging": "hydra_logging: {handlers: {x: {(): os.mkdir, path: BOMB}}}",
    "hydra.job.env_set": "job: {env_set: {PYTHONSTARTUP: BOMB}}",
}


@pytest.mark.parametrize("name", OWN_CONF)
def test_a_shared_conf_runs_no_code(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(installation.shipped() / "conf", tmp_path / "conf")
    own = tmp_path / "conf" / "config.yaml"
    line = OWN_CONF[name].replace("BOMB", str(tmp_path / "bomb"))
    own.write_text(own.read_text().replace("  job: {chdir: false}", f"  {line}"))
    for act in (lambda: planner.plan([]), lambda: launcher.chosen([])):
        with pytest.raises(ConfigError, match=rf"{name}: a file in conf/ or sweeps/ may change"):
            act()
    assert not (tmp_path / "bomb").exists()


@pytest.mark.parametrize(
    "text", ["${${simulator.model}:HOME}", "${oc.env\t:HOME}", "${oc.decode:x}", "${ oc.env:HOME }"]
)
def test_no_file_brings_the_environment_into_a_config(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "remedy").mkdir(parents=True)
    (tmp_path / "conf" / "remedy" / "own.yaml").write_text(json.dumps({"name": text}))
    with pytest.raises(ConfigError, match="a value may refer to other keys, but not to a resolver"):
        planner.plan(["simulator.model=oc.env", "remedy=own"])


@pytest.mark.parametrize("word", ["hydra.launcher._target_=os.system", "+sweeps=../../x"])
def test_a_sweep_of_somebody_else_brings_no_launcher_of_its_own(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"of hydra's own keys only|sweeps must be one of"):
        launcher.chosen([word])


def test_a_folder_for_locks_that_somebody_else_has_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (tmp_path / "theirs").mkdir()
    (tmp_path / f"harness-gpus-{os.getuid()}").symlink_to(tmp_path / "theirs")
    with pytest.raises(DeviceError, match="must be owned by you, but belongs"):
        gpu_lease.take(1)
    assert list((tmp_path / "theirs").iterdir()) == []


def test_a_stale_number_in_holder_is_no_reason_to_kill(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run_folder.create(run, quick())
    sleeper = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        run.holder.write_text(f"{sleeper.pid} on {os.uname().nodename}\n")
        holder.kill(run)
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()
