"""A whole run of a (very small) language model: what it leaves, and that none of it is luck."""

import gc
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from harness.config.reward import RewardConfig
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.train.engines.engine import TransformersEngine
from harness.train.loop import start as starts
from harness.train.loop.language_evaluation import evaluate_model
from harness.train.ranks.team import Team
from harness.train.ranks.work import RankWork
from tests.train.made import (
    FEW,
    finish,
    go_on,
    killed_after,
    make_run,
    status,
)
from tests.train.made_language_runs import SMOKE, STEPS, TURNS, config, rows_of, run_here


def trained(run: RunFolder) -> list[dict[str, Any]]:
    """Rows without what evaluation adds to them."""
    return [
        {k: v for k, v in row.items() if "eval/" not in k and k not in ("entropy/probe", "crc32")}
        for row in rows_of(run)
    ]


@pytest.fixture(scope="module", autouse=True)
def quicker() -> None:
    """No search for garbage among what the libraries are made of."""
    import harness.train.loop.language  # noqa: F401

    gc.freeze()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """An uninterrupted run."""
    return run_here(tmp_path_factory.mktemp("whole") / "run", config())


def test_a_run_leaves_rows_conversations_and_checkpoints(whole: RunFolder) -> None:
    ended = status(whole)
    assert (ended["status"], ended["last_step"]) == ("done", STEPS)
    assert ended["measurement"]["entropy"]["support"] == "full vocabulary"
    assert sorted(p.name for p in whole.checkpoints.iterdir()) == ["step-00002", "step-00004"]
    turns = pd.read_parquet(whole.conversations / "step-00001.parquet")
    replies = turns[turns["speaker"] == "policy"]
    assert len(replies) >= 8
    assert replies[["text", "entropy_nats", "advantage", "start_nll"]].notna().all(axis=None)
    assert not replies["text"].str.contains("<|", regex=False).any()


def test_rows_measure_the_weights_before_the_update(whole: RunFolder) -> None:
    rows = rows_of(whole)
    assert [r["step"] for r in rows] == list(range(1, STEPS + 1))
    assert rows[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert 0 < abs(rows[1]["kl"]) < 1
    for row in rows:
        assert 0.5 < row["entropy"] < 4
        assert row["entropy"] == row["entropy/t1"]
        # The same tokens by another estimate: -log p of what was drawn, over few tokens.
        assert row["text/start_nll"] == pytest.approx(row["entropy"], rel=0.4)
        assert 0 <= row["text/grammatical"] <= 1
        assert 0 < row["completions/max_length"] <= 32 * TURNS
        assert row["grad_norm"] > 0
        assert (row["remedy/acted"], row["sim/failed"]) == (None, 0)
    split = ("entropy/execution", "entropy", "entropy/planning")
    execution, whole_h, planning = (np.mean([row[key] for row in rows]) for key in split)
    assert min(execution, planning) < whole_h < max(execution, planning)
    for key in ("eval/reward_se", "eval/hard/reward", "eval/deaf_reward", "entropy/probe"):
        assert [r["step"] for r in rows if r[key] is not None] == [1, STEPS], key
    assert 0.1 < rows[0]["eval/words_listening"] <= math.log(16)
    assert rows[0]["eval/words_retrieval"] > 1 / 16
    parts = [rows[0][f"eval/words_listening/{of}"] for of in ("planning", "execution")]
    assert sum(parts) == pytest.approx(rows[0]["eval/words_listening"])
    assert rows[0]["eval/words_listening/thinking"] is None


@pytest.mark.slow
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(whole: RunFolder, tmp_path: Path) -> None:
    run = run_here(tmp_path, config(), stop_after=3)
    stopped = status(run)
    assert (stopped["status"], stopped["exit_code"], stopped["last_step"]) == ("stopped", 75, 3)
    torch.manual_seed(12345)
    assert go_on(run)[0] == 0
    difficulty = [row["curriculum/difficulty"] for row in rows_of(run)]
    assert difficulty[3] != difficulty[0]  # what the stop had to keep
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()


@pytest.mark.slow
def test_a_stop_in_an_evaluation_loses_no_step(whole: RunFolder, tmp_path: Path) -> None:
    run = make_run(tmp_path, config())
    assert go_on(run, STEPS, "evaluation")[0] == 75
    assert (status(run)["last_step"], len(rows_of(run))) == (STEPS - 1, STEPS - 1)
    code, events, _ = go_on(run)
    assert code == 0
    assert [e["step"] for e in events if e["event"] == "step"] == [STEPS]
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 3 * FEW])
def test_an_evaluation_does_not_depend_on_its_slices(whole: RunFolder, size: int) -> None:
    """Rewards byte for byte, and the probe, whose replies are drawn in such slices too."""
    given = run_folder.read_config(whole)
    made = starts.load(given, "cpu")
    work = RankWork(given, made.learner, made.judge, made.chat, TransformersEngine(made.learner))
    found = evaluate_model(Team(work), size=size)
    row = rows_of(whole)[0]
    known = {key: value for key, value in found.items() if not math.isnan(value or 0.0)}
    assert {key: row[key] for key in known} == known


@pytest.mark.slow
def test_each_reply_is_taught_what_it_earned_itself(tmp_path: Path) -> None:
    by_turns = replace(config(steps=1), reward=RewardConfig(mode="turns"))
    run = run_here(tmp_path, by_turns)
    turns = pd.read_parquet(run.conversations / "step-00001.parquet")
    mine, users = (turns[turns["speaker"] == who] for who in ("policy", "user"))
    changes = (users["emotion_after"] - users["emotion_before"])[users["turn"] > 0] / 100
    place = [users["group"], users["turn"]]
    about = changes - changes.groupby(place).transform("mean")
    spread = changes.groupby(place).transform(lambda values: values.std(ddof=0)).clip(lower=0.10)
    assert mine["advantage"].to_numpy() == pytest.approx((about / spread).to_numpy(), abs=1e-12)
    (row,) = rows_of(run)
    assert row["reward"] == pytest.approx(row["emotion/delta"] / 100)
    assert status(run)["measurement"]["reward"]["mode"] == "turns"


@pytest.mark.slow
def test_evaluation_does_not_touch_the_training(whole: RunFolder, tmp_path: Path) -> None:
    often = run_here(tmp_path, config(eval_every=2))
    assert trained(often) == trained(whole)


@pytest.mark.slow
def test_a_null_control_meets_the_same_users_and_learns_from_nothing(
    whole: RunFolder, tmp_path: Path
) -> None:
    null = run_here(tmp_path, config({"null_control": True}, steps=2))
    real, control = rows_of(whole), rows_of(null)
    assert real[0]["reward"] == control[0]["reward"]
    assert real[0]["entropy"] == control[0]["entropy"]
    assert real[0]["grad_norm"] != control[0]["grad_norm"]
    assert real[1]["entropy"] != control[1]["entropy"]


@pytest.mark.slow
def test_more_updates_than_one_leave_the_policy_that_spoke_and_are_clipped(
    whole: RunFolder, tmp_path: Path
) -> None:
    run = run_here(tmp_path, config({"learning_rate": 0.02}, steps=2, updates_per_batch=3))
    once, often = rows_of(whole)[0], rows_of(run)[0]
    assert once["clip_ratio/region_mean"] == 0 < often["clip_ratio/region_mean"] < 1
    assert once["entropy"] == often["entropy"]
    assert once["grad_norm"] != often["grad_norm"]
    assert len(rows_of(run)) == status(run)["last_step"] == 2


@pytest.mark.slow
def test_a_critic_on_hidden_states_and_groups_of_one_resume_to_the_same_rows(
    tmp_path: Path,
) -> None:
    with_critic = config(
        {
            "kind": "reinforce",
            "group_size": 1,
            "options": {"critic_rate": 1e-3, "critic_passes": 20},
        },
        steps=4,
    )
    straight = trained(run_here(tmp_path / "straight", with_critic))
    stopped = run_here(tmp_path / "stopped", with_critic, stop_after=2)
    go_on(stopped)
    assert stopped.metrics.read_bytes() == (tmp_path / "straight/metrics.jsonl").read_bytes()
    assert straight[0]["value/mean"] == 0
    assert straight[3]["value/mean"] != 0
    assert straight[0]["reward_std"] is None


@pytest.mark.slow
def test_at_another_temperature_both_entropies_are_kept(tmp_path: Path) -> None:
    hotter = replace(config(steps=1), policy=replace(SMOKE, temperature=1.3))
    row = rows_of(run_here(tmp_path, hotter))[0]
    assert row["entropy"] > row["entropy/t1"] + 0.1


@pytest.mark.slow
def test_a_diverging_run_ends_70_with_its_last_row(tmp_path: Path) -> None:
    run = make_run(tmp_path, config({"learning_rate": 1e4, "adam_epsilon": 0.0}))
    assert go_on(run)[0] == 70
    ended = status(run)
    assert ended["status"] == "failed"
    assert "loss and gradient must be finite" in ended["reason"]
    assert "algorithm.learning_rate 10000; lower the rate" in ended["reason"]
    assert len(rows_of(run)) == ended["last_step"] >= 1


@pytest.mark.slow
def test_a_killed_run_goes_on_in_another_process(whole: RunFolder, tmp_path: Path) -> None:
    run = killed_after(make_run(tmp_path, config()), 3)
    code, events, _ = finish(run)
    assert code == 0
    assert events[0]["event"] == "resume"
    assert trained(run) == trained(whole)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_a_step_on_a_gpu_measures_the_same_entropy(tmp_path: Path) -> None:
    here = rows_of(run_here(tmp_path / "cpu", config(steps=1)))[0]
    there = rows_of(run_here(tmp_path / "gpu", config(steps=1, gpus=1)))[0]
    assert there["entropy"] == pytest.approx(here["entropy"], abs=1e-3)
    assert there["entropy/probe"] == pytest.approx(here["entropy/probe"], abs=1e-3)
