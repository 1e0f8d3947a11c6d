"""The lexicon against ordinary English, and against the grammar it has never seen."""

from __future__ import annotations

import random

import pytest

from harness.config.run import STRATEGIES
from harness.policy import grammar
from harness.simulator.scripted import language_guard
from harness.simulator.scripted.reading import read
from harness.simulator.scripted.recognition import dismisses
from harness.simulator.scripted.sentence_reader import recognise

ORDINARY = (
    ("How are you holding up today?", "question"),
    ("What would you say to a friend who told you the same story?", "question"),
    ("So the landlord raised the rent again, and you already work two jobs.", "restate"),
    ("If I understand correctly, the worst part was telling your parents.", "restate"),
    ("It sounds like the silence in the house is the hardest thing right now.", "reflect"),
    ("I can't imagine how lonely those evenings must be.", "reflect"),
    ("When my own father was ill, I felt the same mix of guilt and anger.", "disclose"),
    ("It's not your fault that he left.", "affirm"),
    ("You handled that meeting with so much grace.", "affirm"),
    ("What strength you have!", "affirm"),
    ("What strength do you have?", "question"),
    ("I'd suggest calling the bank first thing tomorrow.", "suggest"),
    ("Maybe you could write him a short note.", "suggest"),
    ("Many people find that grief comes in waves.", "inform"),
    ("Studies suggest that regular walks can ease stress.", "inform"),
    ("Thank you for trusting me with this.", "other"),
    ("I'm here, and I'm not going anywhere.", "other"),
)
HEARD = ["It is about my dog. My dog died on Friday. I feel so sad.", "Yes. I had him for years."]


@pytest.mark.parametrize(("sentence", "strategy"), ORDINARY)
def test_ordinary_sentences_carry_their_strategy(sentence: str, strategy: str) -> None:
    assert recognise(sentence) == (strategy,)


def test_each_sentence_counts_once_and_in_order() -> None:
    assert recognise("I am sorry to hear that. How are you today?") == ("other", "question")


@pytest.mark.parametrize("text", ["", "Brave.", "sad brave what", "Zyx qwv plugh dree."])
def test_fragments_and_unknown_words_carry_none(text: str) -> None:
    assert recognise(text) == ()


def test_a_plain_statement_is_information_at_most() -> None:
    assert recognise("The train leaves at nine.") in ((), ("inform",))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_policys_grammar_is_understood(strategy: str) -> None:
    draw = random.Random(3).random
    replies = [grammar.speak(strategy, HEARD, draw) for _ in range(200)]
    understood = [recognise(s) == (strategy,) and language_guard.fault(s) is None for s in replies]
    assert sum(understood) >= 0.9 * len(replies)


@pytest.mark.parametrize(
    "text",
    ["You are an idiot.", "I hate you.", "Nobody likes you.", "Fuck off.", "I won't listen to you.",
     "You are not strong.", "I do not think you did well.", "I don't think that sounds hard."],
)  # fmt: skip
def test_abuse_and_praise_denied_hurt(text: str) -> None:
    assert dismisses(text)
    assert read(text).hurts
    assert read(text).strategies == ()


@pytest.mark.parametrize(
    "text", ["You are not alone.", "You are not to blame.", "You are not weak."]
)
def test_what_is_denied_may_be_kind(text: str) -> None:
    assert recognise(text) == ("affirm",)
