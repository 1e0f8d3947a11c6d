"""The tiny policy's tokenizer and model: any text survives, and a seed gives the same weights."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy import tiny
from harness.policy.chat import chat_of

TEXTS = [f"It is about my {w}. I feel so sad today." for w in ("exam", "boss", "dog", "sleep")] * 9
SMALL = PolicyConfig(hidden_size=16, layers=1, attention_heads=2, vocabulary=400)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return tiny.build_tokenizer(TEXTS, SMALL.vocabulary)


@given(text=st.text(max_size=80))
def test_any_text_is_encoded_and_none_becomes_a_special_token(
    tokenizer: PreTrainedTokenizerFast, text: str
) -> None:
    chat = chat_of(tokenizer)
    spoken = f"{text}{tiny.END}{tiny.SUPPORTER}"
    ids = chat.words(spoken)
    assert chat.end not in ids
    assert tokenizer.decode(ids) == spoken.encode("utf-8", "replace").decode()


def test_a_conversation_is_framed_as_the_chat_template_has_it(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    chat = chat_of(tokenizer)
    reply = chat.words("I am here.")
    ids = [*chat.opening("My dog died."), *reply, chat.end, *chat.following("I feel sad.")]
    messages = [
        {"role": "user", "content": "My dog died."},
        {"role": "assistant", "content": "I am here."},
        {"role": "user", "content": "I feel sad."},
    ]
    templated = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    assert ids == templated["input_ids"]
    assert chat.text([*reply, chat.end]) == "I am here."


def test_a_template_that_ends_a_turn_otherwise_is_refused(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    other = tiny.build_tokenizer(TEXTS, SMALL.vocabulary)
    other.chat_template = tiny.CHAT_TEMPLATE.replace(tiny.END, tiny.PAD)
    with pytest.raises(ConfigError, match="a policy turn must end with") as raised:
        chat_of(other)
    assert "'<|end|>', got '<|pad|>" in str(raised.value)


def test_the_same_seed_gives_the_same_weights_and_leaves_the_generator_alone(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    torch.manual_seed(9)
    before = torch.random.get_rng_state()
    first, second, other = (tiny.build_model(SMALL, tokenizer, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True)]
    assert all(same)
    assert not torch.equal(first.model.embed_tokens.weight, other.model.embed_tokens.weight)


def test_a_saved_folder_gives_back_model_and_tokenizer(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    model = tiny.build_model(SMALL, tokenizer, 1)
    tiny.save(tmp_path, model, tokenizer)
    loaded = tiny.load_model(tmp_path)
    ids = torch.tensor([chat_of(tiny.load_tokenizer(tmp_path)).opening("My dog died.")])
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, model.eval()(ids).logits)
    assert not loaded.training
