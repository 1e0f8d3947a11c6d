"""A real language model, from its weights to the figure: SmolLM2-135M-Instruct with adapters.

Some two CPU minutes for each run, so these are slow tests; `make walk` runs the first two.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.records import checkpoints, run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import command, harness
from tests.train.made import status, wait_for
from tests.train.made_smollm2 import MINUTES, WORDS, absent

WALK = {"trainer.conversations": 4, "policy.max_turn_tokens": 24, "trainer.checkpoint_every": 1}
"""Words of the run that goes through every stage, in some two CPU minutes."""
SHORT = {"trainer.conversations": 16, "policy.max_turn_tokens": 4}
"""Words of a step whose conversations take seconds, and its update many."""
LATER_S = {"conversations": 3.0, "update": 20.0}
"""Seconds into the second step at which it is stopped."""


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(60 * MINUTES),
    pytest.mark.skipif(absent() is not None, reason=absent() or ""),
]


def trained(folder: Path, words: Mapping[str, Any]) -> RunFolder:
    """A run of WORDS, with others, to its end."""
    child = started(folder, words)
    _, err = child.communicate(timeout=60 * MINUTES)
    assert child.returncode == 0, err
    return RunFolder(folder)


def started(folder: Path, words: Mapping[str, Any]) -> subprocess.Popen[str]:
    given = [f"{key}={value}" for key, value in {**WORDS, **words}.items()]
    return subprocess.Popen(
        command("train", *given, "--dir", str(folder), "--events", "jsonl"),
        cwd=folder.parent,
        text=True,
        bufsize=1,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def rows(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(tmp_path_factory.mktemp("real") / "whole", WALK)


def test_a_real_model_goes_through_every_stage_to_the_figure(whole: RunFolder) -> None:
    found = rows(whole)
    assert [row["step"] for row in found] == [1, 2]
    flagged = [row["text/flagged"] for row in found]
    assert sum(flagged) / len(found) < 0.2, "the users take what it says for language"
    assert any(row["reward_std"] > 0 for row in found), "there is something to learn from"
    assert any(row["grad_norm"] > 0 for row in found), "and it learns"
    for row in found:
        assert row["sampling/sampling_logp_difference/max"] < 1e-4, "the engine's are the forward's"
        assert 0.2 < row["entropy"] < 4
    assert [checkpoints.step_of(path) for path in checkpoints.all_in(whole.checkpoints)] == [1, 2]
    assert sorted(p.name for p in whole.conversations.iterdir())[0].startswith("step-00001")
    done = harness("fit-entropy-law", str(whole.path), cwd=whole.path.parent)
    assert done.returncode in (0, 3), done.stderr
    (law,) = json.loads((whole.path / "law" / "law.json").read_text())["runs"]
    assert law["verdict"] == "undetermined", "of two steps"
    assert (whole.path / "law" / "entropy_curves.png").stat().st_size > 10_000


def test_a_resumed_run_ends_with_the_same_bytes(whole: RunFolder, tmp_path: Path) -> None:
    """It is resumed from a folder as a SIGKILL in the second step leaves it."""
    run = RunFolder(Path(shutil.copytree(whole.path, tmp_path / "run")))
    first, _ = run.metrics.read_text().splitlines(keepends=True)
    run.metrics.write_text(first)
    shutil.rmtree(run.checkpoints / "step-00002")
    ended = run_status.read(run.status)
    run_status.write(run.status, replace(ended, status="running", exit_code=None))
    done = subprocess.run(command("resume", str(run.path)), timeout=60 * MINUTES, check=False)
    assert done.returncode == 0
    assert run_status.read(run.status).attempts == 2
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()
    for name in ("adapter_model.safetensors", "optimizer.pt"):
        mine, theirs = (r.checkpoints / "step-00002" / "trainer" / name for r in (run, whole))
        assert mine.read_bytes() == theirs.read_bytes(), name


@pytest.mark.parametrize("phase", ["conversations", "update"])
def test_a_sigterm_with_120_seconds_to_go_loses_at_most_the_step_at_hand(
    phase: str, tmp_path: Path
) -> None:
    """No checkpoint is due. The process is killed after its time, as a cluster does it."""
    run = RunFolder(tmp_path / "run")
    words = {
        "trainer.checkpoint_every": 100, "trainer.grace_s": 20, "trainer.steps": 9,
        "trainer.eval_every": 0,
    }  # fmt: skip
    child = started(run.path, words | SHORT if phase == "update" else words)
    wait_for(child, "step", 1)
    time.sleep(LATER_S[phase])
    child.send_signal(signal.SIGTERM)
    try:
        child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    last = status(run)["last_step"]
    kept = [checkpoints.step_of(path) for path in checkpoints.all_in(run.checkpoints)]
    assert last >= 1
    assert kept == [last], "the last step whose row there is"
    assert child.returncode == 75
