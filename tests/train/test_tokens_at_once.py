"""How much of a batch passes through a model at once, and what an out-of-memory leaves of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM, Qwen3Model

from harness.train.loop import start
from harness.train.memory import conversation_memory, estimate
from harness.train.objective import micro_batches
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.own_tokens import own_log_probabilities
from tests.train.made import go_on, make_run
from tests.train.made_hugging_face import SMALL, config, finish, rows
from tests.train.made_language import WORDS, batch, plainly


class Cramped(Qwen3Model):  # type: ignore[misc]
    """A decoder on a device that has room for the activations of so many tokens alone."""

    room = 0
    failures = 0
    seen: list[int]

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """Run out of memory late, when the first layers have been computed."""
        found = super().forward(*arguments, **named)
        tokens = named["input_ids"].numel()
        self.seen.append(tokens)
        if self.room and tokens > self.room and torch.is_grad_enabled():
            self.failures += 1
            raise torch.OutOfMemoryError(f"no room for {tokens} tokens")
        return found


@pytest.fixture
def cramped() -> Any:
    torch.manual_seed(3)
    shape = Qwen3Config(
        vocab_size=WORDS, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, tie_word_embeddings=True,
    )  # fmt: skip
    model = Qwen3ForCausalLM(shape).eval()
    decoder = Cramped(shape).eval()
    decoder.load_state_dict(model.model.state_dict())
    model.model = decoder
    model.tie_weights()
    decoder.seen = []
    return model


def gradients(model: Any) -> list[torch.Tensor]:
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    return found


def test_a_batch_that_does_not_fit_is_learnt_from_in_halves_and_the_limit_stays(
    cramped: Any,
) -> None:
    conversations, told = batch(), list[int]()
    settings = plainly(conversations, 0.2, 0.2, 1.0)
    whole = accumulate_gradient(cramped, conversations, settings)
    wanted = gradients(cramped)
    longest = max(map(len, conversations.ids))
    cramped.model.room = 2 * longest
    limit = TokenLimit(None, lambda tokens, rank: told.append(tokens))
    found = accumulate_gradient(cramped, conversations, settings, limit)
    assert found.value == pytest.approx(whole.value, abs=1e-6)
    for mine, other in zip(gradients(cramped), wanted, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-6, rtol=1e-5)
    assert told
    assert told == sorted(told, reverse=True)
    assert limit.most == told[-1] <= cramped.model.room
    failures, cramped.model.seen = cramped.model.failures, []
    accumulate_gradient(cramped, conversations, settings, limit)
    assert cramped.model.failures == failures, "the limit is remembered"
    assert max(cramped.model.seen) <= max(limit.most, longest)


def test_a_conversation_that_does_not_fit_alone_is_out_of_memory(cramped: Any) -> None:
    conversations = batch()
    longest = max(map(len, conversations.ids))
    cramped.model.room, limit = longest - 1, TokenLimit()
    with pytest.raises(torch.OutOfMemoryError, match=f"no room for {longest} tokens"):
        accumulate_gradient(cramped, conversations, plainly(conversations, 0.2, 0.2, 1.0), limit)
    assert all(len(part) == 1 for part in limit.cut(cramped, list(map(len, conversations.ids))))


def test_a_gradient_that_is_there_already_is_refused(cramped: Any) -> None:
    conversations = batch()
    settings = plainly(conversations, 0.2, 0.2, 1.0)
    accumulate_gradient(cramped, conversations, settings)
    with pytest.raises(ValueError, match="must be None before a batch, got a tensor"):
        accumulate_gradient(cramped, conversations, settings)


@pytest.mark.parametrize("most", [16, 60, 10_000])
def test_passes_keep_to_the_key_with_no_limit_of_rows(cramped: Any, most: int) -> None:
    conversations = batch()
    wanted = own_log_probabilities(cramped, conversations.ids, conversations.own, 1.0)
    cramped.model.seen = []
    limit = TokenLimit(most)
    found = own_log_probabilities(cramped, conversations.ids, conversations.own, 1.0, limit)
    longest = max(map(len, conversations.ids))
    assert max(cramped.model.seen) <= max(most, longest)
    assert len(cramped.model.seen) == (1 if most == 10_000 else len(limit.cut(cramped, list(
        map(len, conversations.ids)))))  # fmt: skip
    torch.testing.assert_close(torch.cat(found), torch.cat(wanted), atol=1e-6, rtol=1e-5)


def test_a_run_goes_on_with_half_and_so_does_its_resumed_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room is that of three conversations or so; each step has eight."""
    run = make_run(tmp_path / "run", config(SMALL, steps=3))
    seen, plain, room = list[tuple[int, bool]](), Qwen3Model.forward, [400]

    def forward(self: Any, *arguments: Any, **named: Any) -> Any:
        found = plain(self, *arguments, **named)
        tokens, fits = named["input_ids"].numel(), True
        if torch.is_grad_enabled():
            fits = tokens <= room[0]
            seen.append((tokens, fits))
        if not fits:
            raise torch.OutOfMemoryError(f"CUDA out of memory: {tokens} tokens")
        return found

    monkeypatch.setattr(Qwen3Model, "forward", forward)
    code, _, err = go_on(run, stop_after=1)
    assert code == 75, err
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    halved = [event for event in events if event["event"] == "out_of_memory"]
    assert halved
    most = halved[-1]["tokens_at_once"]
    assert f"out of memory; continuing with at most {most} tokens at once" in err
    saved = run.checkpoints / "step-00001" / micro_batches.FILE
    assert json.loads(saved.read_text()) == {"tokens_at_once": most}
    seen.clear()
    room[0] = 10**9
    assert finish(run) == 0
    longest = max(tokens for tokens, _ in seen)
    assert longest <= most
    assert [row["step"] for row in rows(run)] == [1, 2, 3]


def test_the_key_is_what_a_run_learns_from_at_once(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / str(most), config(SMALL, steps=2, tokens_at_once=most))
        for most in (None, 100)
    ]
    assert [finish(run) for run in runs] == [0, 0]
    for one, other in zip(*map(rows, runs), strict=True):
        assert one["entropy"] == pytest.approx(other["entropy"], abs=1e-5)
        assert one["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-3)


def test_the_estimate_has_as_many_activations_as_the_key_allows() -> None:
    given = config(SMALL)
    longest = conversation_memory.most_tokens(given, given.difficulty.turn_cap)
    model = start.load(given, "cpu").learner
    a_token = micro_batches.activation_bytes(model.config, "float32", False, False)

    def estimated(most: int | None) -> float:
        trainer = replace(given.trainer, tokens_at_once=most)
        return estimate.phases(replace(given, trainer=trainer), None)[1].parts["activations"]

    assert estimated(16) == pytest.approx(longest * a_token, abs=1)
    assert estimated(2 * longest) == pytest.approx(2 * longest * a_token, abs=1)
    assert estimated(10**8) == pytest.approx(given.trainer.conversations * longest * a_token, abs=1)
    assert estimated(None) == pytest.approx(8 * longest * a_token, abs=1)
