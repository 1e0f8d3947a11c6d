"""The language guard: salad and gibberish are found, what people write passes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.calibration.validity import replies
from harness.config.simulator import LANGUAGE_RULES
from harness.simulator.draws import uniforms
from harness.simulator.reference import Reference, attentive, converse, random_supporter
from harness.simulator.scripted import language_guard
from harness.simulator.scripted.sentence_guard import LanguageFault
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.simulator_contract import key
from tests.simulator.distortions import ATTACKS, SLOT_JUNK, Attack
from tests.simulator.made_scripted import level

FLUENT = Path(__file__).with_name("fluent_replies.txt").read_text().splitlines()
HIT_RATE = {
    "shuffled": 0.6, "dropped": 0.2, "repeated": 0.85, "truncated": 0.22, "key_phrases": 0.4,
    "slot_junk": 0.5,
}  # fmt: skip
"""Least share found; what is not found is worth little, which the scores below show."""


def test_fluent_replies_pass() -> None:
    wrong = {text: language_guard.fault(text) for text in FLUENT if language_guard.fault(text)}
    assert len(FLUENT) >= 50
    assert len(wrong) <= 0.02 * len(FLUENT), wrong


@pytest.mark.parametrize("name", ATTACKS)
def test_salad_is_found_at_least_this_often(name: str) -> None:
    r = random.Random(1)
    salads = [ATTACKS[name](reply, r) for reply in FLUENT for _ in range(20)]
    assert np.mean([language_guard.fault(text) is not None for text in salads]) >= HIT_RATE[name]


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "name", [pytest.param("easy", marks=SLOW), "medium", pytest.param("hard", marks=SLOW)]
)
def test_salad_of_the_best_replies_is_worth_less_than_random_ones(name: str) -> None:
    fluent = _mean_final(name, random_supporter)
    for attack in ATTACKS.values():
        assert _mean_final(name, _spoilt(attack)) < fluent, attack.__name__


def _mean_final(name: str, policy: Reference) -> float:
    keys = [key(group=n, seed=21) for n in range(60)]
    talks = converse(ScriptedSimulator(level(name)), policy, keys)
    return float(np.mean([turns[-1].emotion for turns in talks]))


def _spoilt(attack: Attack) -> Reference:
    def reply(heard: Sequence[str], said: Sequence[str], u: Sequence[float]) -> str:
        r = random.Random(int(uniforms(len(said), str(u[0]))[0] * 2**32))
        return attack(attentive(heard, said, u), r)

    return reply


@pytest.mark.parametrize(
    ("text", "rule", "why"),
    [
        ("", "empty", "empty"),
        ("You are brave:", "ending", "not a whole sentence"),
        ("You feel thank you makes sense take your time.", "stuffed", "a string of stock phrases"),
        ("Ich bin immer bei dir, mein Freund.", "vocabulary", "another language"),
        ("User: I feel so much better now.", "speaker", "speaks for somebody else"),
        ('{"emotion": 100, "change": 10}', "signs", "signs that nobody says"),
        ("# Empathy I see what you mean.", "signs", "signs that nobody says"),
        ("?taht leef uoy od I see what you mean.", "spacing", "a stop before the first word"),
        ("Yes. " * 1000, "endless", "endless"),
        ("You are are brave.", "repetition", "a doubled word"),
        ("It hurts to talk. It hurts to wait.", "repetition", "sentences that begin alike"),
        ("It sounds like you feel.", "ending", "a sentence without its end"),
        ("When do you feel sad.", "ending", "a question without its mark"),
        ("It is your mother.any people.they know it.", "spacing", "no space after a stop"),
        ("You are brave it did your best.", "neighbours", "a new sentence after 'brave'"),
        ("You should debt makes it hard.", "neighbours", "'should debt'"),
        ("Ja, это не язык.", "script", "another script"),
    ],
)
def test_each_fault_of_a_reply_is_named(text: str, rule: str, why: str) -> None:
    assert language_guard.fault(text) == LanguageFault(rule, why)
    assert rule in LANGUAGE_RULES


def test_a_sign_that_steers_a_terminal_is_no_language() -> None:
    assert language_guard.fault("I am here for you.") is None
    assert language_guard.fault("I am here\u009b for you.") is not None


def test_known_salad_is_found() -> None:
    assert language_guard.fault("So you are it sounds like you feel sad your dog died brave what?")
    assert language_guard.fault(SLOT_JUNK[-1])


@pytest.mark.parametrize(
    "text",
    [
        "hey hey slow down, i'm here ok? one thing at a time",
        "slowly slowly it became more light",
        "We could (a) talk about it, (b) talk about something else, or (c) just sit here.",
        "Ohhh, awww, that is hard.",
        "Simple: rest, and let it wait.",
        "yes :)",
        "They closed it on me.i was lost for weeks",
        "If you look back you see regrets. If you look forward you see a whole year to come.",
        "What were you thinking of when you woke at 3 a.m.",
        "Could you tell me a little more about it.",
        "I don't know, maybe...",
        "He should of been there for you.",
        "I am here for you.\r\nThat sounds very hard.",
        "I am here for you.\r\n\r\nThat sounds very hard.\r\n",
    ],
)
def test_people_type_like_this(text: str) -> None:
    assert language_guard.fault(text) is None


def test_natural_replies_of_all_manners_are_language() -> None:
    """The half that the rules were tuned on; docs/simulator.md has the other."""
    texts = replies.texts("tuned", replies.LANGUAGE)
    assert len(texts) > 100
    assert np.mean([language_guard.fault(text) is not None for text in texts]) <= 0.015


def test_gibberish_is_not() -> None:
    texts = replies.texts("tuned", ["gibberish"])
    assert np.mean([language_guard.fault(text) is not None for text in texts]) > 0.9
