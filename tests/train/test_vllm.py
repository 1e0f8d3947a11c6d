"""A real vLLM, its CPU build, as the engine of whole runs; skipped where it is not installed.

What no CPU can show: sleep mode, weights over NCCL, speed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.compose import planner
from harness.config import engine_choice
from harness.config.run import PolicyConfig, RunConfig
from harness.errors import StoppedError
from harness.execution import gpu_lease
from harness.records.run_folder import RunFolder
from harness.train.warm_start import start_model
from tests.simulator.endpoint import serving
from tests.simulator.served import config as served
from tests.train.made import finish, killed_after, make_run, start, status, wait_for
from tests.train.made_hugging_face import FOR_VLLM, ON_CPU
from tests.train.made_hugging_face import config as hugging_face
from tests.train.made_ranks import config as ranks_config
from tests.train.made_ranks import ranks_of
from tests.train.made_smollm2 import MINUTES, WORDS, absent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(engine_choice.installed_vllm() is None, reason="vLLM is not installed here"),
]
ON_PATH = os.pathsep.join([str(ON_CPU), *filter(None, [os.environ.get("PYTHONPATH")])])
GAP = "sampling/sampling_logp_difference"


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    if not gpu_lease.gpus():
        monkeypatch.setenv("PYTHONPATH", ON_PATH)


def config(policy: PolicyConfig = FOR_VLLM, **trainer: Any) -> RunConfig:
    base = hugging_face(policy, steps=4)
    vllm = {"engine": "vllm_colocate", "gpu_memory_share": 0.1, **trainer}
    return replace(base, trainer=replace(base.trainer, **vllm))


def rows(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", ON_PATH)
        run = make_run(tmp_path_factory.mktemp("whole") / "run", config())
        code, events, err = finish(run)
        assert code == 0, err
        told = [e["event"] for e in events if e["event"] != "evaluation"]
        assert told[:2] == ["start", "step"]
        yield run


def test_a_run_under_vllm_agrees_with_the_trainer_at_every_step(whole: RunFolder) -> None:
    assert status(whole)["measurement"]["engine"] == "vllm_colocate"
    steps = rows(whole)
    assert len(steps) == 4
    assert all(0 <= row[f"{GAP}/mean"] <= row[f"{GAP}/max"] <= 1e-4 for row in steps)
    for row in steps:
        assert row["sampling/importance_sampling_ratio/mean"] == pytest.approx(1, abs=1e-4)
    assert steps[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert abs(steps[-1]["kl"]) > 1e-4


def test_a_killed_run_goes_on_to_the_same_rows(whole: RunFolder, tmp_path: Path) -> None:
    run = killed_after(make_run(tmp_path / "run", config()), 2)
    code, events, err = finish(run)
    assert code == 0, err
    assert events[0]["event"] == "resume"
    assert events[0]["step"] >= 1
    mine, theirs = rows(run), rows(whole)
    assert [r["step"] for r in mine] == [1, 2, 3, 4]
    for one, other in zip(mine, theirs, strict=True):
        assert one["entropy"] == pytest.approx(other["entropy"], abs=1e-5)
        assert one["reward"] == other["reward"]


def test_weights_that_stay_behind_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIGHTS_STAY", "1")
    base = config(steps=12)
    fast = replace(base.algorithm, learning_rate=0.05)
    run = make_run(tmp_path / "run", replace(base, algorithm=fast))
    code, _, err = finish(run)
    ended = status(run)
    assert (code, ended["status"]) == (75, "stopped")
    assert (
        "engine gap: the log-probabilities of vllm_colocate and of the trainer" in ended["reason"]
    )
    assert "are its weights stale?" in err
    steps = rows(run)
    assert steps[0][f"{GAP}/mean"] < 1e-4
    assert all(row[f"{GAP}/mean"] > 0.5 for row in steps[-3:])
    assert len(steps) < 12


def test_vllm_that_hangs_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANGS_AT_TURN", "5")
    run = make_run(tmp_path / "run", config(engine_deadline_s=40.0))
    code, _, err = finish(run)
    ended = status(run)
    assert (code, ended["status"]) == (75, "stopped")
    assert "after 40 s of waiting for vLLM (trainer.engine_deadline_s)" in ended["reason"]
    assert "Traceback" not in err


def test_users_who_take_their_time_are_talked_with_in_waves(tmp_path: Path) -> None:
    with serving(delay_s=0.002) as endpoint:
        run = make_run(tmp_path, replace(config(steps=2), simulator=served(endpoint.url)))
        code, _, err = finish(run)
        assert code == 0, err
        assert len(endpoint.bodies) > 50
    assert all(row[f"{GAP}/max"] <= 1e-4 for row in rows(run))


def test_the_tiny_policy_speaks_through_vllm_too(tmp_path: Path) -> None:
    policy = PolicyConfig(
        warm_start_copy_steps=0, warm_start_steps=60, warm_start_learning_rate=0.02
    )
    start_model.ensure(policy)
    run = make_run(tmp_path / "run", config(policy, steps=1))
    code, _, err = finish(run)
    assert code == 0, err
    (row,) = rows(run)
    assert row[f"{GAP}/max"] <= 1e-4
    assert row["text/grammatical"] is not None


@pytest.mark.skipif(absent() is not None, reason=absent() or "")
@pytest.mark.timeout(60 * MINUTES)
def test_a_model_that_speaks_is_drawn_with_the_trainers_log_probabilities(tmp_path: Path) -> None:
    """SmolLM2-135M with adapters, before and after an update."""
    words = [f"{key}={value}" for key, value in WORDS.items()]
    (point,) = planner.plan(words).points
    trainer = replace(point.config.trainer, engine="vllm_colocate", gpu_memory_share=0.1)
    run = make_run(tmp_path / "run", replace(point.config, trainer=trainer))
    _, err = start(run).communicate(timeout=60 * MINUTES)
    assert status(run)["status"] == "done", err
    first, second = rows(run)
    assert first["reward_std"] > 0
    assert first["text/flagged"] < 0.2
    assert max(row[f"{GAP}/max"] for row in (first, second)) < 1e-3


def test_no_room_for_vllm_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1000000")  # GiB
    run = make_run(tmp_path / "run", config())
    code, _, err = finish(run)
    assert code == 71
    rule = "trainer.gpu_memory_share: vLLM must find room to start, got: "
    assert status(run)["reason"].startswith(rule)
    assert "Traceback" not in err


@pytest.mark.gpu
@pytest.mark.skipif(not gpu_lease.gpus(), reason="no GPU on this machine")
def test_on_a_gpu_vllm_sleeps_while_the_policy_learns(tmp_path: Path) -> None:
    policy = replace(FOR_VLLM, dtype="bfloat16", lora_rank=4)
    run = make_run(tmp_path / "run", config(policy, gpus=1, engine="auto", gpu_memory_share=0.2))
    code, _, err = finish(run)
    assert code == 0, err
    assert status(run)["measurement"]["engine"] == "vllm_colocate"
    assert all(row[f"{GAP}/mean"] < 0.1 for row in rows(run))


def test_turn_for_turn_it_says_what_the_transformers_sampler_says() -> None:
    """With adapters, in conversations of three turns, before and after the weights change."""
    done = subprocess.run(
        [sys.executable, str(ON_CPU / "agree.py")], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout.splitlines()[-1])
    assert measured["same_greedy_turns"] >= 0.9
    assert measured["largest_gap"] <= 1e-4
    assert measured["after_a_change"] <= 1e-4 < 0.5 < measured["stale"]
    assert measured["repeats_itself"]
    assert len(measured["lengths"]) > 1


@pytest.mark.timeout(1800)
def test_in_a_group_each_rank_draws_what_one_process_draws(tmp_path: Path) -> None:
    """Two ranks, each with half of the weights, to 1e-4 nats; one goes on after the other."""
    words = [sys.executable, str(ON_CPU / "in_parts.py"), str(tmp_path)]
    for ranks in (2, 1):
        started = [subprocess.Popen([*words, str(rank), str(ranks)]) for rank in range(ranks)]
        assert [one.wait(800) for one in started] == [0] * ranks
    alone = json.loads((tmp_path / "0-1.json").read_text())
    parts = [json.loads((tmp_path / f"{rank}-2.json").read_text()) for rank in range(2)]
    for name, turns in alone.items():
        together = [turn for part in parts for turn in part[name]]
        assert [ids for ids, _ in together] == [ids for ids, _ in turns]
        for (_, logp), (_, like) in zip(together, turns, strict=True):
            assert logp == pytest.approx(like, abs=1e-4)


@pytest.mark.timeout(1800)
def test_a_run_whose_ranks_are_a_group_agrees_with_the_trainer(tmp_path: Path) -> None:
    """With evaluations, the probe, and groups that are drawn again."""
    policy = replace(FOR_VLLM, attention_heads=4, key_value_heads=2)
    vllm: dict[str, Any] = {"engine": "vllm_colocate", "engine_tensor_parallel": 2}
    given = ranks_config(2, policy, steps=2, gpu_memory_share=0.1, **vllm)
    run = make_run(tmp_path / "run", given, users=None)
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    steps = rows(run)
    assert [row["step"] for row in steps] == [1, 2]
    assert all(row[f"{GAP}/max"] <= 1e-4 for row in steps)
    assert steps[0]["entropy/probe"] is not None


@pytest.mark.timeout(1800)
def test_a_rank_of_a_group_that_hangs_is_named(tmp_path: Path) -> None:
    """The first rank waits for it in a round, or in torch within vLLM."""
    policy = replace(FOR_VLLM, attention_heads=4, key_value_heads=2)
    vllm: dict[str, Any] = {"engine": "vllm_colocate", "engine_tensor_parallel": 2}
    given = ranks_config(2, policy, gpu_memory_share=0.1, deadline_s=90.0, **vllm)
    run = make_run(tmp_path / "run", given, users=None)
    child = start(run)
    wait_for(child, "start", 0)
    (other,) = ranks_of(child)
    os.kill(other, signal.SIGSTOP)
    child.communicate(timeout=600)
    assert child.returncode == StoppedError.exit_code
    waited = "after 90 s in it (trainer.deadline_s), waiting for rank 1 of 2"
    assert status(run)["reason"] == f"ended within step 1, {waited}"
