"""The reference listener: what it takes from what a user says, and the phrases it answers in."""

from __future__ import annotations

import pytest

from harness.simulator.listening import listen, to_second_person
from harness.simulator.reference import DISMISSIVE, PHRASES
from harness.simulator.scripted.reading import read
from harness.simulator.scripted.sentence_reader import recognise


def test_a_listener_keeps_facts_and_feelings_apart() -> None:
    heard = listen(["It is about my dog. My dog died on Friday. I feel so sad.", "Yes. I am here."])
    assert heard.facts[0] == "My dog died on Friday."
    assert heard.feelings == ("sad",)
    assert heard.need is None


def test_a_fact_is_turned_to_the_one_who_told_it() -> None:
    assert to_second_person("My boss shouted at me.") == "your boss shouted at you"
    assert (
        to_second_person("I was on a trip with my sister.") == "you were on a trip with your sister"
    )


@pytest.mark.parametrize("strategy", PHRASES)
def test_each_phrase_carries_its_strategy(strategy: str) -> None:
    for phrase in PHRASES[strategy]:
        sentence = phrase.format(f="you failed the exam twice", e="ashamed")
        assert recognise(sentence) == (strategy,), sentence


def test_hurtful_replies_are_heard_as_such() -> None:
    assert all(read(text).hurts and not read(text).strategies for text in DISMISSIVE)
