"""Remedies that weigh, leave out or sharpen tokens: against autograd of the written formula."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from harness.config.run import AlgorithmConfig, RemedyConfig
from harness.policy.tabular import TabularPolicy
from harness.testing.remedy_contract import observed, step
from harness.train.loop import tabular_evaluation, tabular_update
from harness.train.loop.tabular_batch import ActBatch, mean_discriminants
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossSettings
from harness.train.policy_gradient.advantages import top_means
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.remedies.clip_b import ClipB
from harness.train.remedies.clip_v import ClipV
from harness.train.remedies.dppo import Dppo
from harness.train.remedies.era import Era
from harness.train.remedies.forking_tokens import ForkingTokens
from harness.train.remedies.hicra import Hicra
from harness.train.remedies.snr_filter import SnrFilter
from harness.train.rollout.tabular_speaker import Acts
from tests.train.made import go_on, stack_of, tokens_of, unselective
from tests.train.made_language import alone, batch, model
from tests.train.made_remedies import gradient_of, made_of, refused, rows_of

__all__ = ["model"]  # the fixture


def slope_of(given: StepTokens, remedy: Any) -> np.ndarray:
    """The slope of a step's first update with the remedy."""
    stack = stack_of(AlgorithmConfig(), remedy)
    tokens = tokens_of(given.logp, given.logp, given.advantage)
    slope: np.ndarray = stack.loss(tokens, stack.select(given)).loss.slope
    return slope


def test_dppo_is_the_masked_loss_with_a_capped_ratio() -> None:
    given, method = step(), Dppo(cap=3.0)
    now = np.minimum(0, given.logp + np.random.default_rng(3).normal(0, 1.5, len(given.logp)))
    loss = method.surrogate(now, given.logp, given.advantage)
    x, old = torch.tensor(now, requires_grad=True), torch.tensor(given.logp)
    advantage, rise = torch.tensor(given.advantage), x.detach().exp() - old.exp()
    kept = torch.where(advantage > 0, rise <= 0.2, rise >= -0.2)
    ratio = (x - old).detach().exp().clamp(max=3.0)
    (slope,) = torch.autograd.grad(-(advantage * ratio * x * kept).sum(), x)
    np.testing.assert_allclose(loss.slope, slope, atol=1e-12)
    np.testing.assert_array_equal(loss.low | loss.high, ~kept.numpy())
    assert (ratio == 3).any()
    assert 0.02 < loss.low.mean() < 0.5
    assert 0.02 < loss.high.mean() < 0.5
    below = method.surrogate(np.log([0.012]), np.log([0.01]), np.ones(1))
    assert not below.high.any()  # where a clip of the ratio at 1.2 stops
    assert method.surrogate(np.log([0.3]), np.log([0.05]), np.ones(1)).high.all()


def test_clip_b_leaves_out_bad_tokens_by_their_discriminant() -> None:
    given = step()
    weights = ClipB(mu=0.6).weigh(given)
    p, entropy = torch.tensor(given.logp).exp(), torch.tensor(given.entropy_nats)
    s = p * (entropy + torch.tensor(given.logp))
    keep = (torch.tensor(given.advantage) >= 0) | (s - s.mean() >= -0.6 * s.std(correction=0))
    np.testing.assert_array_equal(weights.weight, keep)
    np.testing.assert_array_equal(weights.chosen, ~keep)
    assert 0.01 < weights.chosen.mean() < 0.3
    np.testing.assert_allclose(slope_of(given, ClipB(mu=0.6)), -given.advantage * keep.numpy())


def test_clip_v_leaves_out_the_furthest_bad_tokens_at_most_so_many() -> None:
    given = step()
    assert given.entropy_nats is not None
    assert given.mean_discriminant is not None
    away = given.mean_discriminant - np.exp(given.logp) * (given.logp + given.entropy_nats)
    beyond = (given.advantage < 0) & (away > 0.3 * away.std())
    every, few = (ClipV(mu=0.3, share=share).weigh(given).chosen for share in (1.0, 0.01))
    np.testing.assert_array_equal(every, beyond)
    assert beyond.sum() > 4 == few.sum()
    assert away[few].min() > away[beyond & ~few].max()
    assert ClipV(mu=0.3).weigh(given).chosen.sum() == 1
    assert not ClipV(mu=1000).weigh(given).chosen.any()


def test_to_punish_what_clip_b_leaves_out_would_lower_the_entropy() -> None:
    """S is minus the first-order change of H as the token's logit is raised."""
    z = torch.tensor([2.0, 0.1, -1.0, -3.0], dtype=torch.float64, requires_grad=True)
    log_p = torch.log_softmax(z, 0)
    entropy = -(log_p.exp() * log_p).sum()
    (change,) = torch.autograd.grad(entropy, z)
    s = log_p.exp() * (log_p + entropy)
    np.testing.assert_allclose(change.detach(), -s.detach())


def test_the_tabular_mean_discriminant_is_that_of_its_acts() -> None:
    policy, seen = TabularPolicy.start("conversation"), tabular_evaluation.probe("conversation", 5)
    policy = replace(policy, table=np.random.default_rng(0).normal(0, 1, policy.table.shape))
    log_p = policy.log_probabilities(seen, 1.3)
    s = np.exp(log_p) * (log_p + policy.entropy_nats(seen, 1.3)[:, None])
    wanted = (np.exp(log_p) * s).sum(axis=1)
    np.testing.assert_allclose(mean_discriminants(policy, seen, 1.3), wanted)


def test_hicra_raises_the_advantage_of_planning_tokens_by_a_share_of_its_size() -> None:
    given = step()
    assert given.planning is not None
    raised = given.advantage + 0.2 * np.abs(given.advantage) * given.planning
    np.testing.assert_allclose(slope_of(given, Hicra()), -raised)


def test_hicra_is_refused_with_tabular() -> None:
    sentence = (
        "policy.kind must be that of a language model for hicra, which tells planning tokens from "
        "others where an act is nothing but planning, got tabular"
    )
    assert refused("remedy=hicra") == sentence
    assert refused("remedy=hicra", "remedy.methods.clip_b.mu=1") == sentence  # which could act


@drawn_from(st.lists(st.floats(0, 3), min_size=1, max_size=30), st.floats(0, 1))
def test_the_mean_of_the_top_is_that_of_each_owner(values: list[float], share: float) -> None:
    owner = np.arange(len(values)) % 3 if len(values) >= 3 else np.zeros(len(values), np.int64)
    means = top_means(np.array(values), owner, share)
    for number in range(int(owner.max()) + 1):
        own = sorted((v for v, o in zip(values, owner, strict=True) if o == number), reverse=True)
        kept = own[: max(1, int(share * len(own)))]
        assert means[number] == pytest.approx(np.mean(kept), abs=1e-12)


def test_era_sharpens_good_replies_below_the_start_and_flattens_those_above() -> None:
    given, method = step(), Era()
    assert given.conversation is not None
    assert given.entropy_nats is not None
    np.testing.assert_array_equal(given.reply, np.arange(len(given.logp)) // 10)
    start = observed(method, given)
    later = given.entropy_nats * np.where(given.conversation == 0, 0.4, 1.0)
    later = np.where(given.conversation == 1, 2 * later, later)
    factors = method.factors(replace(start, entropy_nats=later))
    good = given.advantage > 0
    assert set(factors[good & (given.conversation == 0)]) == {2.0}
    assert set(factors[good & (given.conversation == 1)]) == {0.5}
    assert set(factors[good & (given.conversation > 1)]) <= {1.0, 2.0, 0.5}
    assert set(factors[~good]) == {1.0}
    assert method.observed(start.state, replace(given, entropy_nats=later)) == start.state


def test_the_gradient_of_sharpened_tokens_is_that_of_their_multiplied_logits(model: Any) -> None:
    conversations = batch()
    count = sum(map(sum, conversations.own))
    factor = np.where(np.arange(count) % 3 == 0, 2.0, 1.0)
    settings = LossSettings(
        stack_of(AlgorithmConfig()), replace(unselective(count), factor=factor), 1.6, count
    )
    result = accumulate_gradient(model, conversations, settings)
    mine = [p.grad.clone() for p in model.parameters()]
    sharp = torch.cat(alone(model, conversations, 0.8))
    logp = torch.where(
        torch.tensor(factor) == 2, sharp, torch.cat(alone(model, conversations, 1.6))
    )
    advantage = torch.from_numpy(np.concatenate(conversations.advantage)).float()
    for given, wanted in zip(mine, gradient_of(model, -(advantage * logp).mean()), strict=True):
        torch.testing.assert_close(given, wanted, atol=1e-5, rtol=1e-3)
    assert result.acted_share == pytest.approx((factor == 2).mean(), abs=1e-6)


def test_a_tabular_update_of_sharpened_acts_is_that_of_their_multiplied_logits() -> None:
    rng = np.random.default_rng(5)
    policy = TabularPolicy.start("conversation")
    policy = replace(policy, table=rng.normal(0, 0.5, policy.table.shape))
    seen = tabular_evaluation.probe("conversation", 40)
    act, advantage = rng.integers(0, policy.table.shape[1], 40), rng.normal(0, 1, 40)
    factor, zeros = np.where(np.arange(40) % 2, 2.0, 1.0), np.zeros(40, np.int64)
    acts = Acts(seen=seen, act=act, conversation=zeros, reply=zeros)
    stack = stack_of(AlgorithmConfig(learning_rate=1.0), Era())
    selection = replace(unselective(40), factor=factor)
    update = tabular_update.update(policy, ActBatch(acts, advantage, selection, 1.3, 40), stack, 1)
    table = torch.tensor(policy.table, requires_grad=True)
    prior = torch.tensor(policy.log_probabilities(seen, 1.0) - seen.features @ policy.table)
    logits = (prior + torch.tensor(seen.features) @ table) / 1.3 * torch.tensor(factor)[:, None]
    logp = torch.log_softmax(logits, 1)[torch.arange(40), torch.tensor(act)]
    (slope,) = torch.autograd.grad(-(torch.tensor(advantage) * logp).mean(), table)
    np.testing.assert_allclose(policy.table - update.policy.table, slope, atol=1e-12)
    assert update.acted == (0.5,)


def test_the_snr_filter_keeps_the_fewest_groups_that_hold_the_share() -> None:
    method = SnrFilter()
    assert method.keeps(np.array([0.1, 0.4, 0.0, 0.3])).tolist() == [True, True, False, True]
    assert method.keeps(np.array([0.05, 0.4, 0.0, 0.3])).tolist() == [False, True, False, True]
    assert not method.keeps(np.array([0.005, 0.005])).any()
    assert replace(method, share=0.0).keeps(np.ones(3)).sum() == 0
    given = step()  # whose groups have 0.3, 0.05, 0 and 0.2
    kept = np.isin(np.arange(len(given.logp)) // 100, (0, 3))
    weights = method.weigh(given)
    np.testing.assert_array_equal(weights.weight, 2.0 * kept)
    np.testing.assert_array_equal(weights.chosen, ~kept)
    by_all = SnrFilter(normalise_by_all=True).weigh(given)
    np.testing.assert_array_equal(by_all.weight, kept)


def test_lost_conversations_are_not_counted_among_what_is_kept() -> None:
    """The loss is divided by the tokens with a reward, so its mean over what is kept is, too."""
    given = step()
    owner = np.arange(len(given.logp)) // 100
    lost = owner >= 2  # two of four groups, whole
    spread = np.where(owner == 0, 0.3, 0.0)
    given = replace(given, lost=lost, spread=spread)
    for method in (SnrFilter(), ForkingTokens(share=0.5)):
        weights = method.weigh(given)
        assert weights.weight[~lost].mean() == pytest.approx(1.0, abs=1e-12)
        assert not weights.weight[lost].any()
    nobody = replace(given, lost=np.ones(len(given.logp), bool))
    assert not ForkingTokens().weigh(nobody).weight.any()


def test_a_batch_without_spread_teaches_nothing() -> None:
    weights = SnrFilter().weigh(replace(step(), spread=np.zeros(400)))
    assert not weights.weight.any()


def test_the_snr_filter_is_refused_where_no_groups_are_compared() -> None:
    assert refused("remedy=snr_filter", "algorithm=reinforce") == (
        "remedy.methods.snr_filter must go with an algorithm that compares groups, since it leaves "
        "out some, got algorithm.kind=reinforce"
    )


def test_the_snr_filter_is_refused_with_one_group() -> None:
    assert refused("remedy=snr_filter", "trainer.conversations=8") == (
        "trainer.conversations must be that of two groups or more, since snr_filter keeps the only "
        "one, got 8"
    )


def test_two_bonuses_are_one_too_many() -> None:
    assert refused("remedy=turn_band", "remedy.methods.entropy_bonus.coefficient=0.1") == (
        "remedy.methods must have one method at most that sets a bonus for entropy, "
        "got turn_band and entropy_bonus"
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("clip_b", {"mu": 0.5}),
        ("clip_v", {"mu": 0.5, "share": 0.1}),
        ("snr_filter", {}),
        ("repo_d", {"zeta": 1.0}),
    ],
)
def test_it_acts_in_a_tabular_run_with_one_update_a_batch(
    tmp_path: Path, name: str, options: dict[str, float]
) -> None:
    run = made_of(tmp_path / "run", RemedyConfig(name, {name: options}), steps=3, group_size=2)
    assert go_on(run)[0] == 0
    rows = rows_of(run)
    assert all(row["remedy/acted"] > 0 for row in rows)
    assert (rows[0]["remedy/chosen"] is None) == (name == "repo_d")
