"""Remedies that pick tokens or add a term: which they pick, what they add, what is logged of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import AlgorithmConfig
from harness.train.objective.remedy_stack import RemedyStack, metrics
from harness.train.policy_gradient.advantages import token_covariances
from harness.train.policy_gradient.remedy_roles import Remedy
from harness.train.remedies.clip_cov import ClipCov
from harness.train.remedies.clip_higher import ClipHigher
from harness.train.remedies.forking_tokens import ForkingTokens
from harness.train.remedies.kl_cov import KlCov
from harness.train.remedies.reference_kl import ReferenceKl
from tests.train.made import stack_of, tokens_of
from tests.train.made_remedies import step


def treated(*methods: Remedy) -> RemedyStack:
    return stack_of(AlgorithmConfig(), *methods)


@given(st.integers(2, 400), st.integers(0, 99), st.floats(0.01, 50), st.floats(0, 1))
def test_clip_cov_never_picks_outside_its_band(
    count: int, seed: int, spread: float, share: float
) -> None:
    tokens = step(count, seed, spread)
    weights = ClipCov(share=share).weigh(tokens)
    covariance = token_covariances(tokens.logp, tokens.advantage)
    picked = covariance[weights.chosen] / tokens.advantage.std()
    assert ((picked >= 1) & (picked <= 5)).all()
    assert weights.chosen.sum() <= max(1, int(share * count))
    np.testing.assert_array_equal(weights.weight, ~weights.chosen)


def test_clip_cov_picks_alike_whatever_the_advantages_are_measured_in() -> None:
    """With the paper's absolute band it would never act on small advantages."""
    one = step(5000)
    small = replace(one, advantage=one.advantage / 50, rng=np.random.default_rng([0, 3]))
    chosen, chosen_small = (ClipCov(share=0.01).weigh(s).chosen for s in (one, small))
    assert chosen.sum() == 50
    np.testing.assert_array_equal(chosen, chosen_small)


def test_clip_cov_at_the_papers_share_picks_one_token_of_a_small_batch_reproducibly() -> None:
    picks = [np.flatnonzero(ClipCov().weigh(step(400)).chosen).tolist() for _ in range(2)]
    assert picks[0] == picks[1]
    assert len(picks[0]) == 1


def test_kl_cov_holds_the_tokens_of_highest_covariance() -> None:
    tokens, method = step(2000), KlCov(coefficient=0.5)
    mark = method.prepare(tokens)
    covariance = token_covariances(tokens.logp, tokens.advantage)
    assert mark.sum() == 4
    assert covariance[mark == 1].min() > covariance[mark == 0].max()
    moved = tokens.logp + np.where(np.arange(2000) % 2, 0.3, -0.2)
    x = torch.tensor(moved, requires_grad=True)
    formula = 0.5 * torch.tensor(mark) * (x - torch.tensor(tokens.logp)).abs()
    (slope,) = torch.autograd.grad(formula.sum(), x)
    term = method.term(moved, tokens.logp, mark)
    np.testing.assert_allclose(term.value, formula.detach(), atol=1e-15)
    np.testing.assert_allclose(term.slope, slope)


def test_kl_cov_does_nothing_before_the_first_update_and_then_pulls_back() -> None:
    tokens, stack = step(2000), treated(KlCov())
    selection = stack.select(tokens)
    old, advantage = tokens.logp, tokens.advantage
    assert not stack.loss(tokens_of(old, old, advantage), selection).acted.any()
    later = stack.loss(tokens_of(old + 0.1, old, advantage), selection)
    assert later.acted.mean() == pytest.approx(0.002)
    assert metrics(stack, selection, [0.0, 0.5], 8) == {
        "groups/drawn": None,
        "remedy/acted": 0.25,
        "remedy/chosen": 0.002,
        "entropy_coef": None,
    }
    marked = selection.terms[0] == 1
    wanted = -np.exp(0.1) * advantage[marked] + 1.0
    np.testing.assert_allclose(later.loss.slope[marked], wanted)


def test_reference_kl_is_k3_as_trl_has_it() -> None:
    tokens, method = step(500), ReferenceKl()
    x = torch.tensor(tokens.logp, requires_grad=True)
    away = torch.tensor(tokens.start_logp) - x
    k3 = 0.04 * (torch.exp(away) - away - 1)
    (slope,) = torch.autograd.grad(k3.sum(), x)
    term = method.term(tokens.logp, tokens.logp, method.prepare(tokens))
    np.testing.assert_allclose(term.value, k3.detach(), atol=1e-12)
    np.testing.assert_allclose(term.slope, slope, atol=1e-12)


def test_the_unbiased_term_has_the_slope_of_the_kl_of_the_policy_to_the_start() -> None:
    """Token by token as TRL has it, and in the mean over all that could be drawn."""
    tokens, method = step(500), ReferenceKl(coefficient=1.0, unbiased=True)
    prepared, old = method.prepare(tokens), tokens.logp + 0.2
    x = torch.tensor(tokens.logp, requires_grad=True)
    away = torch.tensor(prepared) - x
    k3 = (x - torch.tensor(old)).exp() * (torch.exp(away) - away - 1)
    (slope,) = torch.autograd.grad(k3.sum(), x)
    term = method.term(tokens.logp, old, prepared)
    np.testing.assert_allclose(term.value, k3.detach(), atol=1e-12)
    np.testing.assert_allclose(term.slope, slope, atol=1e-12)

    z = torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64, requires_grad=True)
    start = torch.tensor([0.1, 0.4, 0.3, 0.2], dtype=torch.float64).log()
    log_p = torch.log_softmax(z, 0)
    (wanted,) = torch.autograd.grad((log_p.exp() * (log_p - start)).sum(), z, retain_graph=True)
    for unbiased, equal in ((True, True), (False, False)):
        given = log_p.detach().numpy()
        slopes = ReferenceKl(1.0, unbiased).term(given, given, start.numpy()).slope
        by_draw = (log_p.exp().detach() * torch.from_numpy(slopes) * log_p).sum()
        (mean,) = torch.autograd.grad(by_draw, z, retain_graph=True)
        assert torch.allclose(mean, wanted, atol=1e-12) is equal


@pytest.mark.parametrize(("by_all", "weight"), [(False, 5.0), (True, 1.0)])
def test_forking_tokens_keeps_the_top_fifth_and_weighs_it_by_whom_it_is_a_mean_over(
    by_all: bool, weight: float
) -> None:
    tokens = step(1000)
    assert tokens.entropy_nats is not None
    weights = ForkingTokens(normalise_by_all=by_all).weigh(tokens)
    kept = ~weights.chosen
    assert kept.sum() == 200
    assert tokens.entropy_nats[kept].min() > tokens.entropy_nats[~kept].max()
    assert set(weights.weight[kept]) == {weight}
    assert set(weights.weight[~kept]) == {0.0}


def test_methods_combine_and_pieces_of_a_batch_are_those_of_the_whole() -> None:
    stack = treated(ClipHigher(), ForkingTokens(), ReferenceKl(coefficient=0.1))
    tokens = step(300)
    assert tokens.start_logp is not None
    selection = stack.select(tokens)
    logp = tokens.logp + np.random.default_rng(9).normal(0, 0.3, 300)
    whole = stack.loss(tokens_of(logp, tokens.logp, tokens.advantage), selection)
    at = slice(40, 90)
    part = stack.loss(tokens_of(logp[at], tokens.logp[at], tokens.advantage[at]), selection.at(at))
    np.testing.assert_array_equal(part.loss.slope, whole.loss.slope[at])
    shaped = ClipHigher().surrogate(logp, tokens.logp, tokens.advantage).slope
    pulled = 0.1 * (1 - np.exp(tokens.start_logp - logp))
    np.testing.assert_allclose(whole.loss.slope, selection.weight * shaped + pulled)
    assert whole.acted.all()


def test_without_a_remedy_nothing_is_acted_upon_and_nothing_logged() -> None:
    tokens, stack = step(50), treated()
    selection = stack.select(tokens)
    loss = stack.loss(tokens_of(tokens.logp + 0.5, tokens.logp, tokens.advantage), selection)
    assert not loss.acted.any()
    assert set(metrics(stack, selection, [0.0], 8).values()) == {None}
