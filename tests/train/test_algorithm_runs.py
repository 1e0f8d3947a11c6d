"""Runs of each algorithm: it learns, takes remedies, and resumes to the same bytes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.config.curriculum import CurriculumConfig
from harness.config.run import AlgorithmConfig, RemedyConfig, RunConfig
from tests.train import made_language_runs as language
from tests.train.made import finish, go_on, killed_after, make_run, rows_of, tabular
from tests.train.made_hugging_face import SMALL

ALGORITHMS: dict[str, dict[str, Any]] = {
    "rloo": {"learning_rate": 60.0},
    "max_rl": {"learning_rate": 12.0, "options": {"mean_floor": 0.1}},
    "expert_iteration": {"learning_rate": 12.0, "options": {"keep": 0.25, "margin": 0.0}},
    "kto": {"learning_rate": 60.0, "options": {"beta": 0.2}},
    "ppo": {"learning_rate": 12.0, "group_size": 1},
    "critique_grpo": {"learning_rate": 120.0, "denominator": "constant"},
    "gspo": {"learning_rate": 12.0, "clip_low": 0.01, "clip_high": 0.01},
    "reptile": {"learning_rate": 12.0, "options": {"inner_steps": 4, "outer_rate": 0.5}},
    "vpo": {"learning_rate": 60.0, "group_size": 8, "options": {"slots": 4}},
}
"""Their keys in a tabular run, where a step is the plain gradient times the rate."""
OF_LANGUAGE_MODELS = sorted(ALGORITHMS.keys() - {"reptile", "vpo"})
"""These refuse them."""


def config(kind: str, **trainer: Any) -> RunConfig:
    return tabular(algorithm={"kind": kind, **ALGORITHMS[kind]}, **trainer)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALGORITHMS)
def test_the_reward_rises(tmp_path: Path, kind: str) -> None:
    rows = rows_of(tmp_path / "r", config(kind, steps=100, conversations=32))
    rewarded = [row["reward"] for row in rows]
    assert np.mean(rewarded[-25:]) > np.mean(rewarded[:25]) + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALGORITHMS)
def test_a_killed_run_ends_with_the_rows_of_one_that_was_not(tmp_path: Path, kind: str) -> None:
    slow = config(kind, steps=16, conversations=16, checkpoint_every=5, updates_per_batch=2)
    whole = make_run(tmp_path / "whole", slow)
    assert finish(whole)[0] == 0
    killed = killed_after(make_run(tmp_path / "killed", slow), 8)
    assert finish(killed)[0] == 0
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()


@pytest.mark.parametrize("start", [{"prior_temperature": 0.5}, {"warm_start_strategies": "narrow"}])
def test_a_prior_is_a_start_of_its_own_and_survives_a_stop(
    start: dict[str, Any], tmp_path: Path
) -> None:
    plain = tabular(steps=4, conversations=16, checkpoint_every=2)
    sharp = replace(plain, policy=replace(plain.policy, **start))
    straight = rows_of(tmp_path / "straight", sharp)
    assert straight[0]["kl"] == 0  # it is its own start
    assert straight[0]["entropy"] < 1.6 < rows_of(tmp_path / "plain", plain)[0]["entropy"]
    stopped = make_run(tmp_path / "stopped", sharp)
    go_on(stopped, stop_after=2)
    go_on(stopped)
    assert stopped.metrics.read_bytes() == (tmp_path / "straight/metrics.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALGORITHMS)
def test_remedies_that_add_to_a_loss_go_with_it(tmp_path: Path, kind: str) -> None:
    both = RemedyConfig("both", {"entropy_bonus": {}, "reference_kl": {}})
    last = rows_of(tmp_path / "r", replace(config(kind, steps=4), remedy=both))[-1]
    assert last["remedy/acted"] > 0
    assert np.isfinite(last["grad_norm"])


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["tiny_smoke", "hf"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((kind, {}) for kind in OF_LANGUAGE_MODELS),
        ("ppo", {"options": {"value_per": "token"}}),
        ("kto", {"options": {"reference_point": "mismatched"}}),
    ],
)
def test_a_language_model_learns_by_it_and_goes_on_from_a_checkpoint(
    tmp_path: Path, kind: str, options: dict[str, Any], policy: str
) -> None:
    keys = {"group_size": 4} | {**ALGORITHMS[kind], "learning_rate": 5e-4} | options
    whole = language.config({"kind": kind, **keys}, steps=2, checkpoint_every=1)
    if kind == "critique_grpo":  # which takes conversations over at the run's own level
        whole = replace(whole, curriculum=CurriculumConfig(), difficulty=language.SHORT.hard)
    if policy == "hf":  # random tokens: without noise there is nothing to learn from
        noisy = replace(whole.difficulty, reward_noise=20.0)
        whole = replace(whole, policy=SMALL, difficulty=noisy, curriculum=CurriculumConfig())
    straight = language.run_here(tmp_path / "straight", whole)
    stopped = language.run_here(tmp_path / "stopped", whole, stop_after=1)
    go_on(stopped)
    assert stopped.metrics.read_bytes() == straight.metrics.read_bytes()
    first = language.rows_of(straight)[0]
    assert first["grad_norm"] > 0
    assert (kind == "critique_grpo") == ((first["refined/replies"] or 0) > 0)


def test_every_new_algorithm_is_run_here() -> None:
    from harness.train.objective import registry

    before = {"grpo", "dr_grpo", "lite_ppo", "reinforce"}
    assert set(registry.algorithm_names()) == before | set(ALGORITHMS)
    assert all(AlgorithmConfig(kind=kind, **keys) for kind, keys in ALGORITHMS.items())
