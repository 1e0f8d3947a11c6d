"""Scores of given words: those of a plain forward pass, whatever is cached and shared."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from harness.policy import huggingface
from harness.policy.chat import chat_of
from harness.train.engines.engine import TransformersEngine
from harness.train.objective.own_tokens import own_log_probabilities
from harness.train.saved_policy.language import ModelWords
from tests.probes.made import LORA

POLICY = replace(LORA, lora_rank=0, system_prompt="You listen to people who have a hard time.")
OPTIONS = ("Yes.", "No, it does not help anybody at all.", "Perhaps it does.")
TURNS = (("user", "It is about my exam."), ("policy", "I see."), ("user", "Does it help?"))


@pytest.fixture(scope="module")
def words() -> ModelWords:
    tokenizer = huggingface.load_tokenizer(POLICY, None)
    model = huggingface.load_model(POLICY, None, "cpu")
    chat = chat_of(tokenizer, POLICY.system_prompt)
    return ModelWords(model, chat, TransformersEngine(model), POLICY)


def test_an_option_scores_as_in_a_pass_of_its_own(words: ModelWords) -> None:
    prompt = words.chat.prefix(TURNS)
    for turns, ids in ((TURNS, prompt), (TURNS[:1], words.chat.prefix(TURNS[:1]))):
        scores = words.scores(turns, OPTIONS)
        for option, score in zip(OPTIONS, scores, strict=True):
            reply = words.chat.words(option)
            own = [[False] * len(ids) + [True] * len(reply)]
            (alone,) = own_log_probabilities(words.model, [[*ids, *reply]], own, 1.0)
            assert score == pytest.approx(float(alone.mean()), abs=1e-5)


def test_scores_depend_neither_on_order_nor_on_what_else_is_asked(words: ModelWords) -> None:
    forwards = words.scores(TURNS, OPTIONS)
    assert words.scores(TURNS, OPTIONS[::-1])[::-1] == pytest.approx(forwards, abs=1e-5)
    assert words.scores(TURNS, OPTIONS[1:2]) == pytest.approx(forwards[1:2], abs=1e-5)
    assert words.scores(TURNS, OPTIONS) == forwards


@pytest.mark.parametrize("begun", ["", "<think>\n"])
def test_who_thinks_is_scored_after_one_empty_thought(words: ModelWords, begun: str) -> None:
    chat, encode = words.chat, words.chat.tokenizer.encode
    first = (chat.first[0], (*chat.first[1], *encode(begun, add_special_tokens=False)))
    thinking = replace(words, chat=replace(chat, thought=5, first=first))
    prompts = []
    real = ModelWords._states

    class Seen(ModelWords):
        def _states(self, prompt, options):  # type: ignore[no-untyped-def]
            prompts.append(chat.tokenizer.decode(prompt))
            return real(self, prompt, options)

    Seen(thinking.model, thinking.chat, thinking.engine, POLICY).scores(TURNS[:1], OPTIONS)
    (prompt,) = prompts
    assert prompt.count("<think>") == 1
    assert prompt.endswith("</think>\n\n")


def test_a_reply_depends_on_its_place_alone(words: ModelWords) -> None:
    openings = ["It is about my exam.", "It is about my dog. He died.", "Hello."]
    with torch.no_grad():
        replies = words.replies(openings)
        assert words.replies(openings[:2]) == replies[:2]
    assert len({*replies}) == 3
