"""Expert iteration: which conversations are kept, and that the loss imitates them."""

from typing import Any

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.errors import ConfigError
from harness.testing.algorithm_contract import CONFIG, AlgorithmContract, tokens
from harness.train.algorithms.expert_iteration import ExpertIteration
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards


class TestExpertIteration(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return ExpertIteration()


def weights(shared: list[float], **keys: Any) -> FloatArray:
    made = ExpertIteration(**keys).advantages(Rewards.of(np.array(shared)), None, CONFIG)
    return made[:, 0]


def test_the_best_of_each_group_is_kept_with_the_weight_of_the_group() -> None:
    kept = weights([0.1, 0.9, 0.3, 0.2, 0.5, 0.4, 0.6, 0.1])
    assert kept.tolist() == [0, 4, 0, 0, 0, 0, 4, 0]
    half = weights([0.1, 0.9, 0.3, 0.8, 0.5, 0.4, 0.6, 0.1], keep=0.5)
    assert half.tolist() == [0, 2, 0, 2, 2, 0, 2, 0]


def test_what_does_not_lead_by_the_margin_is_not_kept() -> None:
    shared = [0.5, 0.5, 0.5, 0.6] * 2  # 0.075 above the mean
    assert weights(shared, margin=0.07).any()
    assert not weights(shared, margin=0.08).any()
    assert not weights([0.5] * 8, margin=0.0).any()
    assert weights([0.5, np.nan, 0.7, 0.5] * 2).tolist() == [0, 0, 4, 0] * 2


def test_a_lead_of_just_the_margin_is_enough_whatever_rounding_makes_of_it() -> None:
    for low in (0.1, 0.2, 0.3, 0.5, 0.65, 0.8):
        made = weights([low, low, low + 0.1, low + 0.1], margin=0.05, keep=0.5)
        assert made.tolist() == [0, 0, 2, 2], low


def test_its_loss_is_the_cross_entropy_of_what_was_said_whatever_the_ratio() -> None:
    given = tokens()
    logp = torch.tensor(given.logp, requires_grad=True)
    wanted = -(torch.tensor(given.advantage) * logp)
    (slope,) = torch.autograd.grad(wanted.sum(), logp)
    made = ExpertIteration().loss(given, CONFIG)
    np.testing.assert_allclose(made.value, wanted.detach(), atol=1e-12)
    np.testing.assert_allclose(made.slope, slope, atol=1e-12)
    assert not (made.low | made.high).any()


def refused(*words: str) -> str:
    with pytest.raises(ConfigError) as error:
        planner.plan(["policy=tabular", "algorithm=expert_iteration", *words])
    return str(error.value)


def test_what_makes_no_sense_with_it_is_refused_by_name() -> None:
    assert refused("algorithm.options.keep=0") == (
        "algorithm.options.keep must lie between 0.001 and 1, got 0"
    )
    for size, most in ((8, "0.875"), (2, "0.5")):
        assert refused(f"algorithm.group_size={size}", "algorithm.options.margin=1") == (
            f"algorithm.options.margin must be at most 1 - 1/algorithm.group_size, here {most}, "
            "since no conversation exceeds its group's mean by more, got 1"
        )
    assert weights([1.0, *[0.0] * 7], margin=0.75).any()  # groups of four: 1 - 1/4 can be led by
    most_of_all = ("algorithm.group_size=8", "algorithm.options.margin=0.875")
    planner.plan(["policy=tabular", "algorithm=expert_iteration", *most_of_all])
    assert refused("reward=turns") == (
        "reward.mode must not be turns, mixed or ctc with algorithm.kind=expert_iteration, "
        "which imitates whole conversations, got turns"
    )
    assert refused("algorithm.clip_high=0.3", "trainer.updates_per_batch=2") == (
        "algorithm.clip_high: has no effect with algorithm.kind=expert_iteration, since it does "
        "not clip, got 0.3"
    )
    assert refused("remedy=gppo", "trainer.updates_per_batch=2") == (
        "remedy.methods.gppo must go with an algorithm that has a ratio, since it shapes it, got "
        "algorithm.kind=expert_iteration"
    )
    for name in ("clip_b", "clip_v", "entrocraft", "w_reinforce"):
        assert refused(f"remedy={name}") == (
            f"remedy.methods.{name} must go with an algorithm whose advantages can be negative, "
            "since it treats them separately, got algorithm.kind=expert_iteration"
        )
    assert refused("algorithm.group_size=1").startswith("algorithm.group_size must be 2 or more")
