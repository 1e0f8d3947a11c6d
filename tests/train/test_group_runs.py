"""Whole runs whose ranks draw in groups, with transformers behind what a run asks of vLLM."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StoppedError
from harness.records.run_folder import RunFolder
from tests.train.made import make_run, start, status, wait_for
from tests.train.made_ranks import config, lives, ranks_of, rows_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
STAND_IN = Path(__file__).parent / "vllm_stand_in"
GAP = "sampling/sampling_logp_difference/max"


@pytest.fixture(autouse=True)
def vllm_seems_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(STAND_IN), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def group_run(path: Path, ranks: int, **trainer: Any) -> RunFolder:
    """A run whose ranks draw in pairs."""
    vllm = {"engine": "vllm_colocate", "engine_tensor_parallel": 2}
    given = config(ranks, **{"steps": 2, "eval_every": 0, **vllm, **trainer})
    return make_run(path, given, users=None)


def test_ranks_in_a_group_draw_a_run_to_its_end(tmp_path: Path) -> None:
    """With evaluations, and groups of conversations that are drawn again."""
    run = group_run(tmp_path / "run", 2, eval_every=2)
    child = start(run)
    assert child.communicate(timeout=600)[0] is not None
    assert child.returncode == 0
    assert [row["step"] for row in rows_of(run)] == [1, 2]
    assert all(row[GAP] <= 1e-5 for row in rows_of(run))


def test_ranks_without_groups_draw_with_an_engine_each(tmp_path: Path) -> None:
    run = group_run(tmp_path / "run", 2, engine_tensor_parallel=1)
    child = start(run)
    _, err = child.communicate(timeout=600)
    assert child.returncode == 0, err
    assert [row["step"] for row in rows_of(run)] == [1, 2]
    assert all(row[GAP] <= 1e-5 for row in rows_of(run))


@pytest.mark.parametrize(("ranks", "stopped"), [(2, 1), (4, 3)])
def test_a_rank_of_a_group_that_hangs_is_named_at_the_deadline(
    tmp_path: Path, ranks: int, stopped: int
) -> None:
    """Also where it is in another group than the first rank, which waits for a neighbour of it."""
    run = group_run(tmp_path / "run", ranks, steps=50, deadline_s=DEADLINE_S)
    child = start(run)
    wait_for(child, "step", 1)
    others = sorted(ranks_of(child))  # started in order
    os.kill(others[stopped - 1], signal.SIGSTOP)
    child.communicate(timeout=600)
    assert child.returncode == StoppedError.exit_code
    ended = status(run)
    waited = f"after {DEADLINE_S:g} s in it (trainer.deadline_s), waiting for rank {stopped} of "
    assert ended["reason"].endswith(f"{waited}{ranks}")
    assert ended["status"] == "stopped"
    until = time.monotonic() + 60
    while any(map(lives, others)):
        assert time.monotonic() < until, "a rank outlived its run"
        time.sleep(0.1)


DEADLINE_S = 90.0
"""Of a step that takes two seconds on an idle machine."""


@pytest.mark.parametrize(
    ("trainer", "why"),
    [
        ({"deadline_s": DEADLINE_S}, f"after {DEADLINE_S:g} s in it (trainer.deadline_s)"),
        (
            {"engine_deadline_s": 60.0},
            "after 60 s of waiting for vLLM (trainer.engine_deadline_s)",
        ),
    ],
)
def test_a_rank_that_hangs_within_the_engine_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trainer: dict[str, float], why: str
) -> None:
    """The others wait for it in torch, in the third token of a turn."""
    monkeypatch.setenv("STOPS_IN_TURN", "1,5")
    run = group_run(tmp_path / "run", 2, **trainer)
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == StoppedError.exit_code, done.stderr
    assert status(run)["reason"] == f"ended within step 1, {why}, waiting for rank 1 of 2"
    assert "Traceback" not in done.stderr


def test_a_rank_that_hangs_within_another_groups_engine_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its neighbour ends at the engine's deadline, and is not the one that is named."""
    monkeypatch.setenv("STOPS_IN_TURN", "3,5")
    run = group_run(tmp_path / "run", 4, engine_deadline_s=60.0)
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == StoppedError.exit_code, done.stderr
    rule = "a run needs all of its ranks, got rank 3 of 4 taking no part in a transfer"
    assert rule in status(run)["reason"]
