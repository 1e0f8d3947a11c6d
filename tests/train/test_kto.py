"""KTO: its labels, its reference point, and its slope against autograd of the paper's loss."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Qwen3ForCausalLM

from harness.compose import planner
from harness.errors import ConfigError
from harness.policy.tabular import Observations, TabularPolicy
from harness.testing.algorithm_contract import CONFIG, AlgorithmContract, tokens_for
from harness.train.algorithms.kto import Kto
from harness.train.engines.scoring import TokenRow
from harness.train.loop import tabular_batch
from harness.train.objective import own_tokens
from harness.train.objective.loss_batch import LossBatch
from harness.train.policy_gradient.advantages import partners
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.losses import LossTokens
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.tabular_speaker import Acts
from tests.train.made_language import alone, model

__all__ = ["model"]  # the fixture

CONVERSATIONS = 10
LABELS = np.array([1.0, -1, 1, 1, -1, 0, 1, -1, -1, 1])


class TestKto(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Kto()


def labelled(kto: Kto, labels: np.ndarray = LABELS) -> LossTokens:
    """Tokens whose conversations have these labels."""
    given = tokens_for(kto)
    return replace(given, advantage=labels[given.conversation])


def test_conversations_above_their_groups_mean_are_wanted() -> None:
    shared = np.array([0.1, 0.9, 0.2, 0.4, 0.3, 0.5, 0.4, 0.4, 0.5, 0.5, 0.5, 0.5])
    made = Kto(wanted=1.5, unwanted=0.5).advantages(Rewards.of(shared), None, CONFIG)[:, 0]
    assert made.tolist() == [-0.5, 1.5, -0.5, 0, -0.5, 1.5, 0, 0, 0, 0, 0, 0]


def test_value_and_slope_are_those_of_the_papers_loss_by_autograd() -> None:
    """The loss of arXiv 2402.01306, the mean over conversations, labels of 0 left out."""
    kto = Kto(beta=0.3, wanted=1.2)
    given = labelled(kto, np.where(LABELS > 0, 1.2, LABELS))
    rng = np.random.default_rng(5)
    start = given.old_logp + rng.normal(0, 0.3, len(given.logp))  # as tokens_for has it
    m_old = np.bincount(given.conversation, given.old_logp - start)
    z = max(0.0, float(m_old.mean()))
    logp = torch.tensor(given.logp, requires_grad=True)
    losses = []
    for number, label in enumerate(LABELS):
        mine = torch.tensor(given.conversation == number)
        m = (logp - torch.tensor(start))[mine].sum()
        v = torch.sigmoid(0.3 * (m - z) * float(np.sign(label)))
        losses.append((1.2 if label > 0 else float(label != 0)) * (1 - v))
    wanted = torch.stack(losses).mean()
    (slope,) = torch.autograd.grad(wanted, logp)
    made = kto.loss(given, CONFIG)
    assert made.value.mean() == pytest.approx(wanted.item(), abs=1e-12)
    np.testing.assert_allclose(made.slope / len(made.slope), slope, atol=1e-12)


def test_at_the_reference_point_the_slope_is_a_quarter_of_beta() -> None:
    given = labelled(Kto())
    count, owner = len(given.logp), given.conversation
    at_z = replace(given, prepared=(given.logp.copy(), np.ones(count)))  # m - z = 0
    slope = Kto(beta=0.1).loss(at_z, CONFIG).slope
    lengths = np.bincount(owner)[owner]
    np.testing.assert_allclose(slope, -LABELS[owner] * 0.1 / 4 * lengths, atol=1e-12)


def test_flipping_all_labels_flips_all_slopes() -> None:
    one, other = (Kto().loss(labelled(Kto(), sign * LABELS), CONFIG).slope for sign in (1, -1))
    np.testing.assert_allclose(one, -other, atol=1e-15)
    assert one.any()


def test_a_conversation_far_from_the_reference_point_teaches_nothing_and_nothing_overflows() -> (
    None
):
    given = labelled(Kto(beta=10))
    far = replace(given, logp=given.logp + 1e3)
    assert np.abs(Kto(beta=10).loss(far, CONFIG).slope).max() < 1e-12


def test_the_reference_point_is_the_batchs_own_distance_from_the_start_and_never_below_0() -> None:
    logp, owner = np.log([0.5, 0.5, 0.25, 0.5]), np.array([0, 0, 1, 2])
    for start, z in ((0.25, (2 * np.log(2) + 0) / 2), (0.9, 0.0)):
        step = StepTokens(
            logp=logp,
            advantage=np.zeros(4),
            entropy_nats=None,
            start_logp=np.full(4, np.log(start)),
            rng=np.random.default_rng(1),
            lost=owner == 2,  # without a reward: not in the mean
            conversation=owner,
        )
        subtracted, weight = Kto().prepare(step)
        np.testing.assert_allclose(subtracted - np.log(start), np.array([z / 2, z / 2, z, z]))
        np.testing.assert_allclose(weight, [0.75, 0.75, 1.5, 1.5])


def test_the_reference_point_of_mismatched_pairs_is_their_mean_and_never_below_0() -> None:
    owner = np.array([0, 0, 1, 2])
    for ratios, z in (([0.6, 0.2, 9.0], 0.4), ([-0.6, 0.2, 9.0], 0.0)):
        step = StepTokens(
            logp=np.log([0.5, 0.5, 0.25, 0.5]),
            advantage=np.zeros(4),
            entropy_nats=None,
            start_logp=np.zeros(4),
            rng=np.random.default_rng(1),
            lost=owner == 2,  # without a reward: not in the mean
            conversation=owner,
            mismatched_ratio=np.array(ratios),
        )
        subtracted, _ = Kto(reference_point="mismatched").prepare(step)
        np.testing.assert_allclose(subtracted, [z / 2, z / 2, z, z])


def test_pairs_are_of_one_group_and_the_next_and_within_a_group_that_is_alone() -> None:
    assert partners(6, 2).tolist() == [2, 3, 4, 5, 0, 1]
    assert partners(4, 4).tolist() == [1, 2, 3, 0]


def test_a_tabular_policys_mismatched_ratio_is_of_acts_at_anothers_observations() -> None:
    rng, lengths = np.random.default_rng(2), [3, 1, 2, 4]
    owner = np.repeat(np.arange(4), lengths)
    reply = np.concatenate([np.arange(n) for n in lengths])
    start = TabularPolicy.start("conversation")
    policy = replace(start, table=rng.normal(0, 1, start.table.shape))
    seen = Observations(rng.random((10, len(start.table))))
    acts = Acts(seen, rng.integers(0, 8, 10), owner, reply)
    now, then = (p.log_probabilities(seen, 1.3) for p in (policy, start))
    wanted = np.zeros(4)
    for one, other in ((0, 2), (1, 3), (2, 0), (3, 1)):
        for n in range(min(lengths[one], lengths[other])):
            (at,), (said,) = (np.flatnonzero((owner == c) & (reply == n)) for c in (one, other))
            wanted[one] += (now - then)[at, acts.act[said]]
    np.testing.assert_allclose(
        tabular_batch.mismatched_ratios(policy, acts, 1.3, 2), wanted, atol=1e-12
    )
    assert not tabular_batch.mismatched_ratios(start, acts, 1.3, 2).any()


def test_a_language_models_mismatched_ratio_is_of_anothers_replies(
    model: Any,
) -> None:
    """The replies are 11, 12 and 13 to the one, 14 and 15 to the other, who says no more."""
    one = TokenRow([1, 2, 11, 12, 3, 13, 4], [0, 0, 1, 1, 0, 2, 0])
    other = TokenRow([5, 14, 15, 6], [0, 1, 1, 0])
    first = LossBatch(
        [[1, 2, 14, 15, 3], [5, 11, 12, 6]],
        [[False, False, True, True, False], [False, True, True, False]],
        [],
        None,
    )
    torch.manual_seed(4)
    start = Qwen3ForCausalLM(model.config).eval()
    made = own_tokens.mismatched_ratios((model, start), [one, other], [1, 0], 1.6)
    pairs = zip(alone(model, first, 1.6), alone(start, first, 1.6), strict=True)
    wanted = [(now - then).sum().item() for now, then in pairs]
    assert made == pytest.approx(wanted, abs=1e-5)
    assert min(map(abs, made)) > 0.1


def test_what_makes_no_sense_with_it_is_refused_by_name() -> None:
    def refused(*words: str) -> str:
        with pytest.raises(ConfigError) as error:
            planner.plan(["policy=tabular", "algorithm=kto", *words])
        return str(error.value)

    assert refused("remedy=w_reinforce").startswith(
        "remedy.methods.w_reinforce must go with a ratio of tokens"
    )
    assert refused("reward=mixed").endswith("which labels whole conversations, got mixed")
    assert refused("algorithm.options.beta=0") == (
        "algorithm.options.beta must lie between 0.0001 and 10, got 0"
    )
    assert refused("algorithm.options.wanted=0", "algorithm.options.unwanted=0") == (
        "algorithm.options.wanted must be above 0 unless algorithm.options.unwanted is, since "
        "conversations of weight 0 teach nothing, got 0 for both"
    )
    planner.plan(["policy=tabular", "algorithm=kto", "algorithm.options.unwanted=0"])
    assert refused("algorithm.options.reference_point=start").startswith(
        "algorithm.options.reference_point must be one of batch, mismatched, got 'start'"
    )
    assert refused("algorithm.denominator=constant") == (
        "algorithm.denominator: has no effect with algorithm.kind=kto, since it takes the mean "
        "over conversations, got constant"
    )
