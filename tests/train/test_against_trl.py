"""Losses as TRL's own trainer computes them, on tokens whose log-probabilities are given."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from trl import GRPOTrainer

from harness.config.run import AlgorithmConfig
from harness.train.algorithms.gspo import Gspo
from harness.train.policy_gradient.losses import LossTokens, clipped_loss
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.remedies.clip_higher import ClipHigher
from harness.train.remedies.forking_tokens import ForkingTokens
from harness.train.remedies.reference_kl import ReferenceKl

ROWS, LENGTH = 6, 50


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.reshape(ROWS, LENGTH))


def token_numbers() -> dict[str, np.ndarray]:
    rng, count = np.random.default_rng(2), ROWS * LENGTH
    old = rng.normal(-2, 1, count)
    return {
        "old": old,
        "logp": old + rng.normal(0, 0.5, count),
        "start": old + rng.normal(0, 1, count),
        "entropy": rng.exponential(0.5, count),
        "advantage": rng.normal(0, 1, count),
    }


def by_trl(numbers: dict[str, np.ndarray], corrected: bool = False, **options: Any) -> float:
    """The loss that GRPOTrainer computes, a mean over tokens, its forward pass given; `corrected`:
    with the KL's bias corrected.
    """
    ones = torch.ones(ROWS, LENGTH, dtype=torch.long)
    scored = tensor(numbers["logp"]), tensor(numbers["entropy"]), None
    accelerator = SimpleNamespace(
        num_processes=1,
        gather=lambda x: x,
        reduce=lambda x, reduction: x,
        device="cpu",
        pad_across_processes=lambda x, **_: x,
    )
    trainer: SimpleNamespace = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: scored,
        get_high_entropy_mask=lambda *args: GRPOTrainer.get_high_entropy_mask(trainer, *args),
        args=SimpleNamespace(
            delta=None, use_bias_correction_kl=corrected, steps_per_generation=1
        ),
        model=SimpleNamespace(training=True),
        accelerator=accelerator,
        current_gradient_accumulation_steps=1,
        aux_loss_enabled=False,
        off_policy_mask_threshold=None,
        use_vllm=False,
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
        **{"beta": 0.0, "epsilon_low": 0.2, "epsilon_high": 0.2, "top_entropy_quantile": 1.0,
           "loss_type": "dapo", "importance_sampling_level": "token", **options},
    )  # fmt: skip
    inputs = {
        "prompt_ids": ones[:, :1], "prompt_mask": ones[:, :1],
        "completion_ids": ones, "completion_mask": ones,
        "advantages": tensor(numbers["advantage"]),
        "old_per_token_logps": tensor(numbers["old"]),
        "ref_per_token_logps": tensor(numbers["start"]),
        "num_items_in_batch": torch.tensor(float(ROWS * LENGTH)),
    }  # fmt: skip
    return float(GRPOTrainer._compute_loss(trainer, None, inputs))


def test_the_clipped_loss_and_clip_higher_equal_trls() -> None:
    numbers = token_numbers()
    columns = numbers["logp"], numbers["old"], numbers["advantage"]
    plain, higher = clipped_loss(*columns, 0.2, 0.2), ClipHigher().surrogate(*columns)
    assert (plain.low | plain.high).mean() > 0.2
    assert plain.value.mean() == pytest.approx(by_trl(numbers), abs=1e-12)
    assert higher.value.mean() == pytest.approx(by_trl(numbers, epsilon_high=0.28), abs=1e-12)
    assert plain.value.mean() != pytest.approx(higher.value.mean(), abs=1e-4)


def test_gspo_equals_trls_ratio_of_sequences() -> None:
    numbers = token_numbers()
    row = np.repeat(np.arange(ROWS), LENGTH)
    advantage = numbers["advantage"][::LENGTH][row]  # one a conversation, as its replies share one
    columns = numbers["logp"], numbers["old"], advantage
    made = Gspo().loss(
        LossTokens(*columns, row, ROWS, (np.ones(ROWS * LENGTH),)),
        AlgorithmConfig(kind="gspo", clip_low=0.02, clip_high=0.02),
    )
    wanted = by_trl(
        numbers | {"advantage": advantage},
        importance_sampling_level="sequence", epsilon_low=0.02, epsilon_high=0.02, loss_type="grpo",
    )  # fmt: skip
    assert made.value.mean() == pytest.approx(wanted, abs=1e-12)
    assert (made.low | made.high).any()


def test_the_term_for_the_start_policy_equals_trls() -> None:
    numbers = token_numbers()
    plain = clipped_loss(numbers["logp"], numbers["old"], numbers["advantage"], 0.2, 0.2)
    added = ReferenceKl(coefficient=0.1).term(numbers["logp"], numbers["old"], numbers["start"])
    wanted = by_trl(numbers, beta=0.1)
    assert (plain.value + added.value).mean() == pytest.approx(wanted, abs=1e-12)


def test_the_unbiased_term_for_the_start_policy_equals_trls() -> None:
    numbers = token_numbers()
    plain = clipped_loss(numbers["logp"], numbers["old"], numbers["advantage"], 0.2, 0.2)
    method = ReferenceKl(coefficient=0.1, unbiased=True)
    added = method.term(numbers["logp"], numbers["old"], numbers["start"])
    wanted = by_trl(numbers, corrected=True, beta=0.1)
    assert (plain.value + added.value).mean() == pytest.approx(wanted, abs=1e-12)


def test_forking_tokens_as_a_mean_over_all_tokens_equals_trls() -> None:
    numbers = token_numbers()
    plain = clipped_loss(numbers["logp"], numbers["old"], numbers["advantage"], 0.2, 0.2)
    step = StepTokens(
        numbers["logp"], numbers["advantage"], numbers["entropy"], None, np.random.default_rng(0)
    )
    weight = ForkingTokens(normalise_by_all=True).weigh(step).weight
    wanted = by_trl(numbers, top_entropy_quantile=0.2)
    assert (weight * plain.value).mean() == pytest.approx(wanted, abs=1e-12)


def test_dr_grpo_divides_by_the_most_tokens_there_could_be() -> None:
    numbers = token_numbers()
    loss = clipped_loss(numbers["logp"], numbers["old"], numbers["advantage"], 0.2, 0.2)
    wanted = by_trl(numbers, loss_type="dr_grpo", max_completion_length=80)
    assert loss.value.sum() / (ROWS * 80) == pytest.approx(wanted, abs=1e-12)
