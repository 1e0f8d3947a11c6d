"""Templates of other people's models: taken apart where that is exact, refused where it is not."""

import pytest
from transformers import PreTrainedTokenizerFast

from harness.errors import ConfigError
from harness.policy.chat import chat_of
from harness.policy.huggingface import made_up_tokenizer
from tests.train.made_hugging_face import THINKS, TURNS

SYSTEM = "Be kind."


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    return made_up_tokenizer(1000)


def test_a_conversation_in_pieces_is_what_the_template_makes_of_the_whole(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    tokenizer.chat_template = TURNS
    chat = chat_of(tokenizer, SYSTEM)
    reply = chat.words("I am here.")
    ids = [*chat.opening("My dog died."), *reply, chat.end, *chat.following("I feel sad.")]
    turns = [("system", SYSTEM), ("user", "My dog died."), ("assistant", "I am here."),
            ("user", "I feel sad.")]  # fmt: skip
    messages = [{"role": role, "content": text} for role, text in turns]
    assert ids == tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]


def test_what_is_only_thought_does_not_reach_the_user(tokenizer: PreTrainedTokenizerFast) -> None:
    tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
    tokenizer.chat_template = THINKS
    chat = chat_of(tokenizer, thinking=True)
    thought = tokenizer.encode("<think>", add_special_tokens=False) + chat.words("He lies.")
    over = tokenizer.encode("</think>", add_special_tokens=False)
    assert chat.text([*thought, *over, *chat.words("I see."), chat.end]) == "I see."
    assert chat.text(thought) == ""
    assert chat_of(tokenizer).text(chat.words("I see.")) == "I see."


REFUSED = {
    "another end": (
        TURNS.replace("<|end|>", "<|pad|>"),
        "a policy turn must end with '<|end|>', g",
    ),
    "capitals": (TURNS.replace("m['content']", "m['content'] | upper"), "the same tokens inside"),
    "forgets": (
        TURNS.replace("in messages", "in messages[-1:]"),
        "must each appear in it once, got",
    ),
    "twice": (
        TURNS.replace("<|end|>", "{{ m['content'] }}<|end|>"),
        "must each appear in it once, got",
    ),
    "no system": (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('none here') }}{% endif %}"
        + TURNS,
        "must take a system message, then user and assistant turns, got none here",
    ),
    "rewrites": (
        TURNS.replace("<|user|>assistant", "{{ messages | length }}<|user|>assistant").replace(
            "<|user|>{{ m['role'] }}", "{{ messages | length }}<|user|>{{ m['role'] }}"
        ),
        "what stands before a policy turn must not change once the turn is over",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_template_that_could_not_be_met_again_is_refused(
    name: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    tokenizer.chat_template, sentence = REFUSED[name]
    with pytest.raises(ConfigError) as refused:
        chat_of(tokenizer, SYSTEM)
    assert str(refused.value).startswith("policy.model: chat template: ")
    assert sentence in str(refused.value)


def test_a_thinker_needs_a_token_for_the_end_of_thinking(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    tokenizer.chat_template = THINKS
    with pytest.raises(ConfigError, match="must have one token for '</think>', got "):
        chat_of(tokenizer, thinking=True)
