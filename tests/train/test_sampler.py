"""The sampler says what a full forward would have it say, turn by turn, for any causal model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from harness.train.engines.sampler import FEWEST_SHARED, CachedModel, SampledTurn, Sampler
from harness.train.engines.scoring import TokenRow, log_probabilities, own_logits, pad_rows

END, LIMIT = 3, 9
WORDS = 16


def qwen3() -> Any:
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, tie_word_embeddings=True,
        )
    )  # fmt: skip


def llama() -> Any:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=3,
            num_attention_heads=4,
        )
    )  # fmt: skip


def gpt2() -> Any:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=WORDS,
            n_positions=300,
            n_embd=32,
            n_layer=2,
            n_head=4,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


@pytest.fixture(params=[qwen3, llama, gpt2], ids=["qwen3", "llama", "gpt2"])
def model(request: pytest.FixtureRequest) -> Any:
    """Random weights, turned up so that the distribution is far from flat."""
    torch.manual_seed(1)
    made = request.param().eval()
    with torch.no_grad():
        made.get_input_embeddings().weight.mul_(4)
    return made


def rolled_out(
    model: Any, count: int, turns: int, gone: Sequence[tuple[int, int]] = ()
) -> tuple[list[TokenRow], list[list[SampledTurn]]]:
    """Conversations with random users; (turn, i) in `gone`: i has ended before that turn."""
    words = np.random.default_rng(5)
    heard = words.integers(4, WORDS, (turns, count, 12))
    lengths = words.integers(1, 13, (turns, count))
    uniforms = torch.from_numpy(words.random((turns, count, LIMIT)))
    sampler = Sampler(model, count, END, 1.0)
    rows, replies = [TokenRow() for _ in range(count)], [list[SampledTurn]() for _ in range(count)]
    live = list(range(count))
    for turn in range(turns):
        live = [i for i in live if (turn, i) not in gone]
        ids = [heard[turn, i, : lengths[turn, i]].tolist() for i in live]
        for i, new, reply in zip(
            live, ids, sampler.speak(live, ids, uniforms[turn][live]), strict=True
        ):
            rows[i].extend(new)
            rows[i].extend(reply.ids, turn + 1)
            rows[i].extend([END] if reply.ids[-1] != END else [])
            replies[i].append(reply)
    return rows, replies


GONE = [(1, 2), (1, 5), (2, 0), (3, 7), (3, 1)]


def test_a_sampler_can_be_stopped_before_each_token(model: Any) -> None:
    called = 0

    def before_token() -> None:
        nonlocal called
        called += 1
        if called == 3:
            raise InterruptedError

    sampler = Sampler(model, 2, END, 1.0, before_token=before_token)
    with pytest.raises(InterruptedError):
        sampler.speak([0, 1], [[5], [6, 7]], torch.zeros(2, 9, dtype=torch.float64))
    assert called == 3


def test_log_probabilities_equal_those_of_a_full_forward(model: Any) -> None:
    rows, replies = rolled_out(model, count=8, turns=4, gone=GONE)
    ids, own = pad_rows([r.ids for r in rows], 0), pad_rows([r.turn for r in rows], 0) > 0
    with torch.no_grad():
        full = log_probabilities(own_logits(model, ids, own), ids[:, 1:][own[:, 1:]], 1.0)
    sampled = torch.tensor([x for turns in replies for turn in turns for x in turn.logp])
    assert len(sampled) > 100
    lengths = {len(turn.ids) for turns in replies for turn in turns}
    assert min(lengths) < LIMIT == max(lengths)
    torch.testing.assert_close(sampled, full, atol=1e-4, rtol=0)


@pytest.mark.parametrize("common", [FEWEST_SHARED - 1, FEWEST_SHARED, 150])
def test_a_long_common_beginning_is_read_once(
    model: Any, monkeypatch: pytest.MonkeyPatch, common: int
) -> None:
    start = [4 + n % 11 for n in range(common)]
    first = [[*start, *own] for own in ([4, 5], [6], [7, 8, 9])]
    then = [[5, 6], [7], [8, 9]]
    reader, sizes = CachedModel(model, 3), list[int]()
    states_of = reader._states

    def counted(ids: torch.Tensor) -> torch.Tensor:
        sizes.append(ids.numel())
        return states_of(ids)

    monkeypatch.setattr(reader, "_states", counted)
    read = [reader.read(first), reader.read(then)]
    assert sizes[:-1] == ([common, 9] if common >= FEWEST_SHARED else [3 * (common + 3)])
    for row, (piece, more) in enumerate(zip(first, then, strict=True)):
        ids = torch.tensor([[*piece, *more]])
        with torch.no_grad():
            whole = model.get_decoder()(input_ids=ids).last_hidden_state[0]
        found = torch.cat([read[0][row, : len(piece)], read[1][row, : len(more)]])
        torch.testing.assert_close(found, whole, atol=1e-4, rtol=1e-4)


def test_a_piece_that_is_all_common_keeps_a_token_of_its_own(model: Any) -> None:
    start = [4 + n % 11 for n in range(100)]
    read = CachedModel(model, 2).read([start, [*start, 5]])
    assert read.shape[:2] == (2, 101)


def test_what_one_conversation_says_does_not_depend_on_the_others(model: Any) -> None:
    _, together = rolled_out(model, count=8, turns=3)
    _, thinned = rolled_out(model, count=8, turns=3, gone=GONE)
    for i in (3, 4, 6):
        assert [t.ids for t in thinned[i]] == [t.ids for t in together[i]]


def test_a_turn_ends_with_the_end_token_or_at_the_limit(model: Any) -> None:
    _, replies = rolled_out(model, count=8, turns=3)
    for turn in [turn for turns in replies for turn in turns]:
        assert END not in turn.ids[:-1]
        assert turn.ids[-1] == END or len(turn.ids) == LIMIT


@pytest.mark.slow
def test_draws_follow_the_distribution() -> None:
    """4,000 first tokens against softmax(logits / T): no word's share is off by 5 sigma."""
    torch.manual_seed(2)
    model = qwen3().eval()
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(4)
    count, temperature = 4000, 1.7
    uniforms = torch.from_numpy(np.random.default_rng(3).random((count, 1)))
    first_turns = Sampler(model, count, END, temperature).speak(
        range(count), [[7, 8]] * count, uniforms
    )
    shares = np.bincount([t.ids[0] for t in first_turns], minlength=WORDS) / count
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[7, 8]])).logits[0, -1]
    wanted = torch.softmax(logits / temperature, -1).double().numpy()
    error = np.sqrt(wanted * (1 - wanted) / count)
    assert (np.abs(shares - wanted) < 5 * error + 1e-4).all()
    assert 0.5 < -(wanted * np.log(wanted)).sum() < 4.0
