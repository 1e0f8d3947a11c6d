from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.simulator.draws import uniforms
from harness.simulator.reference import Reference, attentive, converse, random_supporter
from harness.simulator.scripted import language_guard
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.simulator_contract import key
from tests.simulator.distortions import ATTACKS, SLOT_JUNK, Attack
from tests.simulator.test_scripted import level

FLUENT = Path(__file__).with_name("fluent_replies.txt").read_text().splitlines()
HIT_RATE = {
    "shuffled": 0.6, "dropped": 0.2, "repeated": 0.9, "truncated": 0.25, "key_phrases": 0.4,
    "slot_junk": 0.6,
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
    ("text", "why"),
    [
        ("", "empty"),
        ("You are brave,", "not a whole sentence"),
        ("You feel thank you makes sense take your time.", "a string of stock phrases"),
        ("Ich bin immer bei dir, mein Freund.", "another language"),
        ("User: I feel so much better now.", "speaks for somebody else"),
        ('{"emotion": 100, "change": 10}', "signs that nobody says"),
        ("Yes. " * 1000, "endless"),
        ("You are are brave.", "a doubled word"),
        ("It hurts to talk. It hurts to wait.", "sentences that begin alike"),
        ("It sounds like you feel.", "a sentence without its end"),
        ("When do you feel sad.", "a question without its mark"),
        ("It is about your mother.any people know it.", "no space after a stop"),
        ("You are strong you did your best.", "a new sentence after 'strong'"),
        ("You should debt makes it hard.", "'should debt'"),
        ("Ja, это не язык.", "another script"),
    ],
)
def test_each_fault_of_a_reply_is_named(text: str, why: str) -> None:
    assert language_guard.fault(text) == why


def test_known_salad_is_found() -> None:
    assert language_guard.fault("So you are it sounds like you feel sad your dog died brave what?")
    assert language_guard.fault(SLOT_JUNK[-1])
