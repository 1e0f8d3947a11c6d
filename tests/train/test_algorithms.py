"""Algorithms: what each makes of rewards, against its formula, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from harness.compose import planner, search_path
from harness.config.run import AlgorithmConfig, RemedyConfig, RunConfig
from harness.errors import ConfigError
from harness.testing.algorithm_contract import (
    CONFIG,
    CONVERSATIONS,
    AlgorithmContract,
    rewards,
    tokens,
)
from harness.train import algorithms
from harness.train.algorithms.dr_grpo import DrGrpo
from harness.train.algorithms.grpo import Grpo
from harness.train.algorithms.lite_ppo import LitePpo
from harness.train.algorithms.reinforce import Reinforce
from harness.train.objective import registry
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.utils import extensions
from tests.train.made import rows_of, tabular
from tests.train.made_language import OfSequences


class TestGrpo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Grpo()


class TestDrGrpo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return DrGrpo()


class TestLitePpo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return LitePpo()


class TestReinforce(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Reinforce()


class TestRatioOfSequences(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return OfSequences()


def advantages_of(algorithm: Algorithm, values: FloatArray | None = None) -> FloatArray:
    return algorithm.advantages(rewards(), values, CONFIG)[:, 0]


def test_each_divides_by_what_its_paper_divides_by() -> None:
    shared = rewards().shared
    for group in range(0, CONVERSATIONS, 4):
        mine = shared[group : group + 4]
        centred = np.nan_to_num(mine - np.nanmean(mine))
        at = slice(group, group + 4)
        floored = centred / max(float(np.nanstd(mine)), 0.10)
        np.testing.assert_allclose(advantages_of(Grpo())[at], floored, atol=1e-12)
        np.testing.assert_allclose(advantages_of(DrGrpo())[at], centred, atol=1e-12)
        by_batch = centred / np.nanstd(shared)
        np.testing.assert_allclose(advantages_of(LitePpo())[at], by_batch, rtol=1e-4, atol=1e-12)


def test_reinforce_subtracts_the_mean_of_the_batch() -> None:
    shared = rewards().shared
    wanted = np.nan_to_num(shared - np.nanmean(shared))
    np.testing.assert_allclose(advantages_of(Reinforce()), wanted, atol=1e-12)


def test_reinforce_with_a_critic_subtracts_its_values_turn_by_turn() -> None:
    values = np.random.default_rng(1).random((CONVERSATIONS, 20))
    advantages = Reinforce(critic_rate=0.1).advantages(rewards(), values, CONFIG)
    wanted = np.nan_to_num(rewards().shared[:, None] - values)
    np.testing.assert_allclose(advantages, wanted, atol=1e-12)


def test_the_loss_of_reinforce_has_the_gradient_of_minus_a_log_p() -> None:
    """The score function of Williams (1992), at the weights that drew the tokens."""
    off_policy = tokens()
    logp = torch.tensor(off_policy.old_logp, requires_grad=True)
    (wanted,) = torch.autograd.grad((-torch.tensor(off_policy.advantage) * logp).sum(), logp)
    on_policy = replace(off_policy, logp=off_policy.old_logp)
    np.testing.assert_allclose(Reinforce().loss(on_policy, CONFIG).slope, wanted, rtol=1e-12)


def test_every_algorithm_is_an_option_with_the_defaults_of_its_file() -> None:
    for name in registry.algorithm_names():
        file = search_path.option_file("algorithm", name)
        assert file is not None, name
        values = yaml.safe_load(file.read_text())
        assert (values["name"], values["kind"]) == (name, name)
        (point,) = planner.plan([f"algorithm={name}", "policy=tabular"]).points
        algorithm = registry.algorithm_of(point.config)
        assert (algorithm.name(), algorithm) == (name, type(algorithm)())
        text = (Path(algorithms.__path__[0]) / f"{name}.py").read_text()
        assert "arXiv" in text or "Machine Learning 8" in text


def refused(*words: str) -> str:
    with pytest.raises(ConfigError) as error:
        planner.plan(["policy=tabular", *words])
    return str(error.value)


def test_a_mistake_names_its_key() -> None:
    rate = "algorithm.options.critic_rate"
    assert (
        refused("algorithm=reinforce", f"{rate}=-1") == f"{rate} must lie between 0 and 100, got -1"
    )
    assert refused("algorithm=reinforce", "algorithm.options.critic_rat=1") == (
        "a key of algorithm.options must be one of critic_rate, critic_passes, got 'critic_rat'; "
        "nearest: critic_rate"
    )
    assert refused(f"{rate}=1") == (
        "algorithm.options must be empty, as Grpo has none, got 'critic_rate'"
    )
    assert refused("algorithm=reinforce", f"{rate}=1", "reward=turns") == (
        f"{rate} must be null unless reward.mode is one of terminal, delta, warmth, alliance, "
        "whose rewards all replies share, got turns"
    )
    assert refused("algorithm.group_size=1") == (
        "algorithm.group_size must be 2 or more with algorithm.kind=grpo, which compares the "
        "conversations of a group, got 1"
    )
    assert refused("algorithm=dr_grpo", "algorithm.std_floor=0.2") == (
        "algorithm.std_floor: has no effect with algorithm.kind=dr_grpo; it belongs to "
        "algorithm.kind=grpo, gspo or reptile, got 0.2"
    )
    one = ("algorithm=reinforce", "algorithm.group_size=1")
    assert refused(*one, "remedy=dynamic_sampling") == (
        "remedy.methods.dynamic_sampling must go with an algorithm that compares groups, since it "
        "redraws some, got algorithm.kind=reinforce"
    )
    assert refused("algorithm=reinforce", "remedy=dapo").startswith(
        "remedy.methods.dynamic_sampling must go with an algorithm that compares groups"
    )
    with pytest.raises(ConfigError) as error:
        registry.algorithm_of(RunConfig(algorithm=AlgorithmConfig(kind="grp")))
    assert str(error.value).endswith("got 'grp'; nearest: grpo")


def test_the_same_options_make_the_same_run_however_they_are_written() -> None:
    words = ["algorithm=reinforce", "policy=tabular"]
    (whole,) = planner.plan([*words, "algorithm.options.critic_rate=1"]).points
    assert whole.config.algorithm.options == {"critic_rate": 1.0, "critic_passes": 10}
    assert refused("algorithm=reinforce", "algorithm.options.critic_rate=1,1.0").startswith(
        "runs 0 and 1 of the sweep are the same: "
    )
    (one,) = planner.plan([*words[1:], "remedy=clip_cov", "remedy.methods.reference_kl={}"]).points
    assert one.config.remedy.methods["reference_kl"] == {
        "coefficient": 0.04, "unbiased": False,
    }  # fmt: skip


def test_a_config_of_before_algorithms_had_files_is_read_as_grpo_with_its_numbers() -> None:
    """As dr_grpo was then: the same rows."""
    old = AlgorithmConfig(name="dr_grpo", std_floor=None, denominator="constant")
    algorithm = registry.algorithm_of(RunConfig(algorithm=old))
    then = algorithm.advantages(rewards(True), None, replace(old, group_size=4))
    np.testing.assert_array_equal(then, DrGrpo().advantages(rewards(True), None, CONFIG))
    assert algorithm.denominator(old) == "constant"


def test_a_ratio_of_conversations_takes_no_remedy_of_tokens() -> None:
    with extensions.registered("algorithm", "sequences", OfSequences):
        for method in ("forking_tokens", "gppo"):
            config = RunConfig(
                algorithm=AlgorithmConfig(kind="sequences"),
                remedy=RemedyConfig(method, {method: {}}),
            )
            with pytest.raises(ConfigError) as error:
                registry.check(config)
            assert str(error.value) == (
                f"remedy.methods.{method} must go with a ratio of tokens, since it weights or "
                "shapes single tokens, got algorithm.kind=sequences"
            )


def rows(path: Path, steps: int = 40, **algorithm: Any) -> list[dict[str, Any]]:
    return rows_of(path, tabular(algorithm=algorithm, steps=steps, conversations=32))


@pytest.mark.slow
def test_reinforce_learns_from_groups_of_one(tmp_path: Path) -> None:
    learnt = rows(tmp_path / "r", kind="reinforce", group_size=1, learning_rate=12.0, steps=120)
    rewarded = [row["reward"] for row in learnt]
    assert np.mean(rewarded[-30:]) > np.mean(rewarded[:30]) + 0.05
    assert learnt[0]["reward_std"] is learnt[0]["frac_reward_zero_std"] is None
    grouped = rows(tmp_path / "g", kind="reinforce", steps=2)
    assert grouped[0]["frac_reward_zero_std"] is None  # equal groups teach it too


@pytest.mark.slow
def test_a_null_control_without_groups_teaches_nothing(tmp_path: Path) -> None:
    null = rows(
        tmp_path / "n", kind="reinforce", group_size=1, learning_rate=12.0, steps=120,
        null_control=True,
    )  # fmt: skip
    rewarded = [row["reward"] for row in null]
    assert abs(np.mean(rewarded[-30:]) - np.mean(rewarded[:30])) < 0.05
