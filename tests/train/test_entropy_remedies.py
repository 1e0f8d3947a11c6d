"""The bonus for entropy on both rungs, its controller, and why H falls: the covariance identity."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from harness.config.run import AlgorithmConfig
from harness.policy.tabular import TabularPolicy
from harness.train.loop.tabular_batch import ActBatch
from harness.train.loop.tabular_update import update
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.remedies.entropy_bonus import EntropyBonus
from harness.train.remedies.entropy_controller import EntropyController
from harness.train.rollout.tabular_speaker import Acts
from tests.train.made import stack_of, unselective
from tests.train.made_language import batch, model, plainly
from tests.train.made_tabular import rolled_out

__all__ = ["model"]  # the fixture


def some_policy() -> TabularPolicy:
    """Away from the start, as after some training."""
    table = np.random.default_rng(3).normal(0, 0.4, TabularPolicy.start("conversation").table.shape)
    return TabularPolicy(table, "conversation")


def plain_batch(acts: Acts, advantage: np.ndarray, bonus: float = 0.0) -> ActBatch:
    count = len(acts.act)
    return ActBatch(acts, advantage, unselective(count, bonus=bonus), 1.0, count)


def test_the_bonus_climbs_the_exact_entropy_of_the_states_visited() -> None:
    _, acts = rolled_out(16)
    policy, temperature = some_policy(), 1.3
    gradient = policy.entropy_gradient(acts.seen, temperature, np.ones(len(acts.act)))
    for place in map(tuple, np.argwhere(gradient)[::60]):
        shift = np.zeros_like(policy.table)
        shift[place] = 1e-6
        up, down = (
            TabularPolicy(policy.table + sign * shift, "conversation")
            .entropy_nats(acts.seen, temperature)
            .sum()
            for sign in (1, -1)
        )
        assert gradient[place] == pytest.approx((up - down) / 2e-6, abs=1e-7)
    stack = stack_of(AlgorithmConfig(learning_rate=5.0), EntropyBonus())
    no_advantage = np.zeros(len(acts.act))
    done = update(policy, plain_batch(acts, no_advantage, bonus=0.5), stack, 1)
    assert (
        done.policy.entropy_nats(acts.seen, 1.0).mean() > policy.entropy_nats(acts.seen, 1.0).mean()
    )
    assert done.acted == (1.0,)


def test_a_language_model_gets_the_gradient_of_loss_minus_bonus_times_entropy(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.train.engines.scoring.LOGITS_AT_ONCE", 30 * 24)  # in pieces
    conversations, bonus, temperature = batch(), 0.7, 1.6
    settings = plainly(conversations, 0.2, 0.2, temperature)
    settings = replace(settings, selection=replace(settings.selection, bonus=bonus))
    result = accumulate_gradient(model, conversations, settings)
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    loss, entropies = torch.zeros(()), []
    for ids, own, advantage in zip(
        conversations.ids, conversations.own, conversations.advantage, strict=True
    ):
        logits = model(input_ids=torch.tensor([ids])).logits[0, :-1][torch.tensor(own[1:])]
        log_p = torch.log_softmax(logits / temperature, -1)
        drawn = torch.tensor(ids[1:])[torch.tensor(own[1:])]
        logp = log_p.gather(-1, drawn[:, None])[:, 0]
        entropies.append(-(log_p.exp() * log_p).sum(-1))
        loss = loss - ((logp - logp.detach()).exp() * torch.tensor(advantage)).sum()
    total = loss / settings.denominator - bonus * torch.cat(entropies).mean()
    torch.autograd.backward(total)
    assert result.value == pytest.approx(total.item(), abs=1e-5)
    assert result.acted_share == 1
    for mine, parameter in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad, atol=1e-5, rtol=1e-3)


def test_the_controller_is_on_below_its_target_and_moves_by_delta_within_its_bounds() -> None:
    """Skywork-OR1's rule by hand: c grows at or below the target, shrinks above it."""
    control, coefficient, applied = EntropyController(delta=0.002), 0.0, []
    for entropy_nats in (0.5, 0.2, 0.1, 0.1, 0.1, 0.3, 0.1):
        applied.append(control.applied(coefficient, entropy_nats))
        coefficient = control.next(coefficient, entropy_nats)
    assert applied == pytest.approx([0, 0, 0.002, 0.004, 0.005, 0, 0.003])


def scored(change: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Correlation of the two, and ratio of their sums."""
    return float(np.corrcoef(change, predicted)[0, 1]), float(change.sum() / predicted.sum())


def covariance(p: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Over the acts of each state, under its probabilities p; all of shape (states, acts)."""

    def mean(values: np.ndarray) -> np.ndarray:
        means: np.ndarray = (p * values).sum(axis=1, keepdims=True)
        return means

    return mean((x - mean(x)) * (y - mean(y)))[:, 0]


def test_entropy_falls_by_the_covariance_of_log_probability_and_logit_change() -> None:
    """Lemma 1 of arXiv 2505.22617: step by step, summed over the states a batch visits."""
    policy, changes, predicted = TabularPolicy.start("conversation"), [], []
    stack = stack_of(AlgorithmConfig(learning_rate=0.3))
    for step in range(20):
        _, acts = rolled_out(32, seed=step, policy=policy)
        advantage = np.where(acts.act == 5, 1.0, -0.4)  # ever more of what it does most: suggest
        after = update(policy, plain_batch(acts, advantage), stack, 1).policy
        logits = [acts.seen.features @ t.table for t in (policy, after)]
        log_p = policy.log_probabilities(acts.seen, 1.0)
        moved = -covariance(np.exp(log_p), log_p, logits[1] - logits[0])
        before, now = (t.entropy_nats(acts.seen, 1.0) for t in (policy, after))
        changes.append((now - before).sum())
        predicted.append(moved.sum())
        policy = after
    correlation, ratio = scored(np.array(changes), np.array(predicted))
    assert correlation >= 0.98
    assert 0.95 < ratio < 1.06
    assert np.sum(changes) < 0


def test_under_the_policy_gradient_entropy_falls_by_the_covariance_with_p_times_a() -> None:
    """Theorem 1 of arXiv 2505.22617: H changes by -eta Cov(log p, p A), A of mean 0 under p.

    The exact gradient of one state at a time. A step in the table moves the state's logits by the
    rate times the squared norm of its features.
    """
    _, acts = rolled_out(64)
    policy, rate, changes, predicted = some_policy(), 0.01, [], []
    rng = np.random.default_rng(5)
    for n in range(len(acts.act)):
        features = acts.seen.features[[n]]
        seen = replace(acts.seen, features=features)
        every = replace(seen, features=np.repeat(features, 8, axis=0))
        log_p = policy.log_probabilities(seen, 1.0)
        p, advantage = np.exp(log_p), rng.normal(0, 1, (1, 8)) + log_p  # more for the likely
        advantage -= (p * advantage).sum()
        gradient = policy.gradient(every, np.arange(8), (p * advantage)[0], 1.0)
        after = TabularPolicy(policy.table + rate * gradient, "conversation")
        changes.append(float((after.entropy_nats(seen, 1.0) - policy.entropy_nats(seen, 1.0))[0]))
        eta = rate * float((features**2).sum())
        predicted.append(float(-eta * covariance(p, log_p, p * advantage)[0]))
    correlation, ratio = scored(np.array(changes), np.array(predicted))
    assert correlation >= 0.98
    assert 0.95 < ratio < 1.06
