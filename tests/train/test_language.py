"""What the loss and the measures of a language model are, against their definitions."""

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.compose import planner
from harness.config.run import MAX_TURNS, AlgorithmConfig
from harness.policy import huggingface
from harness.train.engines.scoring import TokenRow, by_length, chunks, entropies, log_distribution
from harness.train.loop.language_critic import actions_of
from harness.train.memory import conversation_memory
from harness.train.objective import micro_batches
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.own_tokens import (
    own_entropies,
    own_log_probabilities,
    states_before,
)
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.losses import clipped_loss
from harness.train.remedies.reference_kl import ReferenceKl
from harness.train.rollout.speaker import TokenTrajectory
from tests.train.made import stack_of, unselective
from tests.train.made_language import WORDS, OfSequences, alone, batch, model, plainly

__all__ = ["model"]  # the fixture


@pytest.mark.parametrize("temperature", [1.0, 1.6])
def test_padding_and_order_do_not_change_a_log_probability(model: Any, temperature: float) -> None:
    conversations = batch()
    logps = own_log_probabilities(model, conversations.ids, conversations.own, temperature)
    wanted = alone(model, conversations, temperature)
    torch.testing.assert_close(torch.cat(logps), torch.cat(wanted).detach(), atol=1e-5, rtol=0)


@pytest.mark.parametrize(("old", "at_once"), [(False, 2**26), (True, 2**26), (True, 3 * WORDS)])
def test_the_gradient_is_that_of_the_token_mean_of_the_clipped_loss(
    model: Any, old: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.train.engines.scoring.LOGITS_AT_ONCE", at_once)
    conversations = batch(old)
    result = accumulate_gradient(model, conversations, plainly(conversations, 0.2, 0.3, 1.6))
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    logp = torch.cat(alone(model, conversations, 1.6))
    before = logp.detach() if conversations.old_logp is None else torch.cat(conversations.old_logp)
    advantage = np.concatenate(conversations.advantage)
    by_hand = clipped_loss(
        logp.detach().double().numpy(), before.double().numpy(), advantage, 0.2, 0.3
    )
    # d loss / d weights = sum over tokens of d loss / d logp * d logp / d weights.
    torch.autograd.backward((logp * torch.from_numpy(by_hand.slope).float()).mean())
    assert result.value == pytest.approx(by_hand.value.mean(), abs=1e-5)
    assert (result.low_share, result.high_share) == (by_hand.low.mean(), by_hand.high.mean())
    assert (by_hand.low.mean() > 0.05) == old
    for mine, parameter in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("at_once", [2**26, 3 * WORDS])
def test_a_ratio_of_sequences_is_that_of_whole_conversations_however_they_are_cut(
    model: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against autograd of -mean over tokens of A * exp(mean log-ratio of the conversation)."""
    monkeypatch.setattr("harness.train.engines.scoring.LOGITS_AT_ONCE", at_once)
    conversations = batch(old=True)
    count = sum(map(sum, conversations.own))
    stack = RemedyStack(OfSequences(), AlgorithmConfig(), ())
    settings = LossSettings(stack, unselective(count), 1.0, count)
    accumulate_gradient(model, conversations, settings)
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    total = torch.zeros(())
    rows = zip(alone(model, conversations, 1.0), conversations.advantage, strict=True)
    for (logp, advantage), old in zip(rows, conversations.old_logp or [], strict=True):
        total = total - (logp - old).mean().exp() * sum(advantage)
    torch.autograd.backward(total / count)
    for mine, parameter in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize(
    ("by_token", "places"), [(False, [[0, 3], [1]]), (True, [[0, 1, 3, 4], [1]])]
)
def test_a_critic_reads_the_states_that_replies_or_tokens_are_drawn_from(
    model: Any, by_token: bool, places: list[list[int]]
) -> None:
    ids, turns = [[1, 2, 3, 4, 5, 6], [7, 8, 9]], [[0, 1, 1, 0, 2, 2], [0, 0, 1]]
    rows = [TokenTrajectory(TokenRow(*row)) for row in zip(ids, turns, strict=True)]
    seen = actions_of(rows, model, by_token=by_token)
    hidden = [model.model(torch.tensor([row])).last_hidden_state[0].detach() for row in ids]
    states = torch.cat([row[at] for row, at in zip(hidden, places, strict=True)])
    wanted = states / states.norm(dim=1, keepdim=True)
    np.testing.assert_allclose(seen.features, wanted.numpy(), atol=1e-5)
    assert seen.conversation.tolist() == [0] * len(places[0]) + [1]
    assert seen.place.tolist() == [*range(len(places[0])), 0]
    reply = None if seen.reply is None else seen.reply.tolist()
    assert reply == ([0, 0, 1, 1, 0] if by_token else None)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_the_states_that_a_critic_reads_do_not_stay_on_a_gpu(model: Any) -> None:
    there = copy.deepcopy(model).to("cuda")
    (states,) = states_before(there, [[1, 2, 3]], [[False, True, True]])
    (here,) = states_before(model, [[1, 2, 3]], [[False, True, True]])
    torch.testing.assert_close(states, here, atol=1e-4, rtol=1e-3)


def seen_shapes(model: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Where the shapes (rows, longest) of what `model` reads are noted."""
    shapes: list[tuple[int, int]] = []
    forward = model.model.forward

    def noted(*args: Any, **named: Any) -> Any:
        shapes.append(tuple(named["input_ids"].shape))
        return forward(*args, **named)

    monkeypatch.setattr(model.model, "forward", noted)
    return shapes


@pytest.mark.parametrize(("tokens", "most_rows"), [(1, 1), (60, 4), (10_000, 8)])
def test_activations_stay_below_their_budget_and_it_does_not_change_the_gradient(
    model: Any, tokens: int, most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations = batch(old=True)
    settings = plainly(conversations, 0.2, 0.3, 1.6)
    whole = accumulate_gradient(model, conversations, settings)
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    a_token = micro_batches.activation_bytes(model.config, "float32", False, False)
    budget = int(tokens * a_token)
    monkeypatch.setattr(micro_batches, "ACTIVATIONS_AT_ONCE_ON_A_CPU", budget)
    shapes = seen_shapes(model, monkeypatch)
    result = accumulate_gradient(model, conversations, settings)
    own_entropies(model, conversations.ids, conversations.own, 1.6)
    assert sorted(shapes[: len(shapes) // 2]) == sorted(shapes[len(shapes) // 2 :])
    assert all(rows == 1 or rows * longest <= tokens for rows, longest in shapes)
    assert max(rows for rows, _ in shapes) == most_rows
    assert result.value == pytest.approx(whole.value, abs=1e-6)
    for mine, other in zip(result.scored, whole.scored, strict=True):
        torch.testing.assert_close(mine.logp, other.logp, atol=1e-5, rtol=0)
        torch.testing.assert_close(mine.entropy_nats, other.entropy_nats, atol=1e-5, rtol=0)
    for gradient, parameter in zip(wanted, model.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-6, rtol=1e-4)


def test_the_tiny_policy_learns_from_as_many_conversations_at_once_as_ever() -> None:
    """Its rows do not change by a bit with the budget, however long its conversations are."""
    (point,) = planner.plan(["difficulty=hard"]).points
    policy = point.config.policy
    shape = SimpleNamespace(
        hidden_size=policy.hidden_size,
        num_hidden_layers=policy.layers,
        intermediate_size=policy.feed_forward_size,
    )
    a_token = micro_batches.activation_bytes(shape, "float32", False, False)
    longest = conversation_memory.most_tokens(point.config, MAX_TURNS)
    budget = micro_batches.ACTIVATIONS_AT_ONCE_ON_A_CPU
    assert micro_batches.ROWS_AT_ONCE * longest * a_token <= budget


def test_checkpointing_makes_room_for_more_conversations(model: Any) -> None:
    plain = micro_batches.tokens_at_once(model)
    huggingface.quiet()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    assert micro_batches.tokens_at_once(model) > 1.5 * plain


def test_no_more_logits_are_held_at_once_than_the_limit(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, states = model.get_output_embeddings(), torch.zeros(10, 4)
    monkeypatch.setattr("harness.train.engines.scoring.LOGITS_AT_ONCE", 4 * head.weight.shape[0])
    assert [len(states[at]) for at in chunks(states, head)] == [4, 4, 2]


def test_scores_come_back_in_the_order_of_the_conversations(model: Any) -> None:
    conversations = batch()
    result = accumulate_gradient(model, conversations, plainly(conversations, 0.2, 0.2, 1.6))
    for row, logp in zip(result.scored, alone(model, conversations, 1.6), strict=True):
        torch.testing.assert_close(row.logp, logp.detach(), atol=1e-5, rtol=0)
    hot = own_entropies(model, conversations.ids, conversations.own, 1.6)
    cold = own_entropies(model, conversations.ids, conversations.own, 1.0)
    for row, at_t, at_1 in zip(result.scored, hot, cold, strict=True):
        torch.testing.assert_close(row.entropy_nats, at_t)
        torch.testing.assert_close(row.entropy_t1_nats, at_1)
    assert torch.cat(hot).mean() > torch.cat(cold).mean() + 0.1


@given(
    st.lists(st.lists(st.floats(-60, 60), min_size=3, max_size=3), min_size=1, max_size=5),
    st.floats(0.3, 3.0),
)
def test_entropy_is_that_of_the_distribution(rows: list[list[float]], temperature: float) -> None:
    z = torch.tensor(rows, dtype=torch.float64)
    p = torch.softmax(z / temperature, -1).numpy()
    wanted = -(p * np.log(np.where(p > 0, p, 1))).sum(-1)
    entropy = entropies(log_distribution(z.float(), temperature))
    np.testing.assert_allclose(entropy, wanted, atol=2e-5)


def test_entropy_near_collapse_keeps_its_digits_in_fp32() -> None:
    """H of a nearly certain choice among 150,000 words, with logits far from 0."""
    z = torch.full((1, 150_000), 980.0, dtype=torch.float64)
    z[0, 7] += 20.0
    p = torch.softmax(z, -1)
    wanted = float(-(p * p.log()).sum())
    assert 0 < wanted < 0.01
    assert float(entropies(log_distribution(z.float(), 1.0))[0]) == pytest.approx(wanted, rel=1e-3)


@given(
    st.lists(st.integers(1, 500), min_size=1, max_size=60),
    st.integers(1, 9),
    st.integers(1, 2000),
)
def test_a_group_has_no_more_tokens_than_the_limit_and_no_fewer_rows_than_fit(
    lengths: list[int], size: int, tokens: int
) -> None:
    groups = by_length(lengths, size, tokens)
    flat = [i for group in groups for i in group]
    assert flat == [i for group in by_length(lengths, size) for i in group]
    for group, after in zip(groups, [*groups[1:], []], strict=True):
        assert len(group) == 1 or len(group) * lengths[group[-1]] <= tokens
        if after:
            assert len(group) == size or (len(group) + 1) * lengths[after[0]] > tokens


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(1, 9))
def test_grouping_by_length_is_a_partition_in_order(lengths: list[int], size: int) -> None:
    groups = by_length(lengths, size)
    flat = [i for group in groups for i in group]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[i] for i in flat] == sorted(lengths)
    assert all(len(group) == size for group in groups[:-1])


def test_conversations_without_a_reward_are_left_out_whatever_is_added_to_the_loss(
    model: Any,
) -> None:
    """As if they had not taken place: their tokens neither add nor are counted."""
    whole, kept = batch(), [0, 2, 3, 5, 6, 7, 9]
    sizes = [sum(row) for row in whole.own]
    lost = np.repeat([n not in kept for n in range(len(sizes))], sizes)
    start = np.random.default_rng(5).normal(-2.5, 0.5, len(lost))
    treated = stack_of(AlgorithmConfig(), ReferenceKl(0.5))

    def gradient(conversations: LossBatch, start_logp: Any, lost: Any, tokens: int) -> Any:
        selection = unselective(len(start_logp), (start_logp,), 0.3, lost)
        model.zero_grad()
        result = accumulate_gradient(
            model, conversations, LossSettings(treated, selection, 1.3, tokens)
        )
        return result.value, torch.cat([p.grad.flatten() for p in model.parameters()]).clone()

    part = LossBatch(
        [whole.ids[n] for n in kept],
        [whole.own[n] for n in kept],
        [whole.advantage[n] for n in kept],
        None,
    )
    tokens = int((~lost).sum())
    value, slope = gradient(whole, start, lost, tokens)
    wanted_value, wanted = gradient(part, start[~lost], None, tokens)
    assert value == pytest.approx(wanted_value, rel=1e-6)
    torch.testing.assert_close(slope, wanted, rtol=1e-4, atol=1e-6)
    assert slope.abs().max() > 1e-4
