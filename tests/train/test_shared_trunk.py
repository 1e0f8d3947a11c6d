"""A critic that shares the policy's trunk: what its loss adds, against autograd on the whole."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.algorithms.ppo import Ppo
from harness.train.engines.scoring import TokenRow
from harness.train.loop.language_critic import actions_of, shared_trunk_term
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.value_term import ValueTerm
from harness.train.policy_gradient.critic import LinearCritic, value_losses
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.learning_signal import learning_signal
from harness.train.rollout.speaker import TokenTrajectory
from tests.train import made_language_runs as language
from tests.train.made import go_on
from tests.train.made_language import batch, model, plainly

__all__ = ["model"]

WIDTH, CLIP = 16, 0.3


def term_of(conversations: LossBatch, each: int) -> ValueTerm:
    """A term with a target at every `each`-th own token; half of the values have gone too far."""
    rng, count = np.random.default_rng(4), conversations.tokens
    target = np.where(np.arange(count) % each, np.nan, rng.uniform(0, 1, count))
    head, before = rng.normal(0, 1, WIDTH + 1), rng.normal(0, 1, count)
    return ValueTerm(head, before, target, CLIP, 0.7 / np.isfinite(target).sum())


def with_term(conversations: LossBatch, term: ValueTerm | None) -> LossSettings:
    return replace(plainly(conversations, 0.2, 0.3, 1.6), value=term)


def gradients(model: Any) -> list[torch.Tensor]:
    """The parameters' gradients, which are None after."""
    taken = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    return taken


def by_hand(model: Any, conversations: LossBatch, term: ValueTerm) -> torch.Tensor:
    """0.7 times the mean of the clipped losses at the targets, on one graph."""
    states = []
    for ids, own in zip(conversations.ids, conversations.own, strict=True):
        hidden = model.model(torch.tensor([ids])).last_hidden_state[0, :-1]
        states.append(hidden[torch.tensor(own[1:])])
    at = np.flatnonzero(np.isfinite(term.target))
    read = torch.nn.functional.normalize(torch.cat(states)[at].double(), dim=1)
    values = read @ torch.from_numpy(term.head[:-1]) + term.head[-1]
    before, target = (torch.from_numpy(column[at]) for column in (term.before, term.target))
    held = before + (values - before).clamp(-CLIP, CLIP)
    losses = torch.maximum((values - target) ** 2, (held - target) ** 2) / 2
    return 0.7 * losses.mean()


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("tokens_at_once", [10_000, 40])
def test_the_gradient_has_that_of_the_mean_value_loss(
    model: Any, each: int, tokens_at_once: int
) -> None:
    conversations, limit = batch(old=True), TokenLimit(tokens_at_once)
    term = term_of(conversations, each)
    without = accumulate_gradient(model, conversations, with_term(conversations, None), limit)
    plain = gradients(model)
    result = accumulate_gradient(model, conversations, with_term(conversations, term), limit)
    mine = gradients(model)
    value = by_hand(model, conversations, term)
    torch.autograd.backward(value)
    assert result.value - without.value == pytest.approx(value.item(), abs=1e-5)
    sizes = []
    for whole, policy, parameter in zip(mine, plain, model.parameters(), strict=True):
        wanted = torch.zeros_like(policy) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(whole - policy, wanted, atol=2e-5, rtol=1e-3)
        sizes.append(float(wanted.abs().max()))
    assert max(sizes) > 1e-2  # or nothing would have been compared


def test_the_parts_of_ranks_add_up_to_the_whole(model: Any) -> None:
    conversations = batch()
    settings = with_term(conversations, term_of(conversations, each=2))
    accumulate_gradient(model, conversations, settings)
    whole, summed = gradients(model), None
    for members in (range(0, 11, 2), range(1, 11, 2)):
        some = settings.some(conversations.places(list(members)))
        accumulate_gradient(model, conversations.some(list(members)), some)
        part = gradients(model)
        summed = part if summed is None else [a + b for a, b in zip(summed, part, strict=True)]
    for one, other in zip(whole, summed or [], strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("clip", [None, CLIP])
def test_the_loss_of_a_value_is_the_same_in_numpy_and_in_torch(clip: float | None) -> None:
    values, before, targets = np.random.default_rng(2).normal(0, 1, (3, 50))
    value, old, target = (torch.from_numpy(column) for column in (values, before, targets))
    wanted = value_losses(values, before, targets, clip)
    np.testing.assert_allclose(value_losses(value, old, target, clip).numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("per", "at"), [("reply", [[1, 0, 1, 0], [1]]), ("token", [[1, 1, 1, 1], [1]])]
)
def test_a_target_stands_where_the_critic_read(model: Any, per: str, at: list[list[int]]) -> None:
    """At a reply's first token, or at each; nowhere in a conversation without a reward."""
    ids, turns = [[1, 2, 3, 4, 5, 6], [7, 8, 9]], [[0, 1, 1, 0, 2, 2], [0, 0, 1]]
    rows = [TokenTrajectory(TokenRow(*row)) for row in zip(ids, turns, strict=True)]
    ppo, critic = Ppo(value_per=per, value_coef=0.4), LinearCritic.start(0.1, 5, CLIP)
    seen = actions_of(rows, model, by_token=per == "token")
    learnt = critic.fitted(seen.features, np.ones(len(seen.features)))
    given = replace(Rewards.of(np.array([0.8, np.nan])), replies=np.array([2, 1]))
    signal = learning_signal(ppo, learnt, given, seen, RunConfig(), 1)
    term = shared_trunk_term(ppo, signal, rows)
    assert term is not None
    assert np.isfinite(term.target).tolist() == [bool(mark) for mark in at[0]] + [False]
    np.testing.assert_allclose(term.target[np.isfinite(term.target)], 0.8)  # gamma = lambda = 1
    valued = [bool(mark) for row in at for mark in row]
    np.testing.assert_allclose(term.before[valued], learnt.values(seen.features))
    assert term.scale == pytest.approx(0.4 / sum(at[0]))
    assert shared_trunk_term(replace(ppo, value_coef=0.0), signal, rows) is None
    nobody = replace(given, shared=np.full(2, np.nan), total=np.full(2, np.nan))
    unknown = learning_signal(ppo, learnt, nobody, seen, RunConfig(), 1)
    assert shared_trunk_term(ppo, unknown, rows) is None


def test_a_policy_without_a_trunk_refuses_it() -> None:
    with pytest.raises(ConfigError) as error:
        planner.plan(["policy=tabular", "algorithm=ppo", "algorithm.options.value_coef=0.5"])
    assert str(error.value) == (
        "algorithm.options.value_coef must be 0 with policy.kind=tabular, which has no trunk to "
        "share with a critic, got 0.5"
    )


@pytest.mark.slow
def test_a_run_that_shares_its_trunk_moves_by_it_once_the_critic_expects_something(
    tmp_path: Path,
) -> None:
    """In the first step the critic's map is 0, and sends nothing back."""

    def of(coefficient: float) -> RunConfig:
        keys = {"kind": "ppo", "group_size": 1, "options": {"value_coef": coefficient}}
        return language.config({**keys, "learning_rate": 5e-4}, steps=3, checkpoint_every=1)

    detached = language.rows_of(language.run_here(tmp_path / "detached", of(0.0)))
    straight = language.run_here(tmp_path / "shared", of(0.5))
    shared = language.rows_of(straight)
    norms = [[row["grad_norm"] for row in rows] for rows in (detached, shared)]
    assert norms[0][0] == norms[1][0]
    assert norms[0][1] != norms[1][1]
    assert detached[1]["reward"] == shared[1]["reward"]
    stopped = language.run_here(tmp_path / "stopped", of(0.5), stop_after=1)
    go_on(stopped)
    assert stopped.metrics.read_bytes() == straight.metrics.read_bytes()
