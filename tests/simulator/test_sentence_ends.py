"""Sentences that are broken off are found, and whole ones that look so are not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from harness.simulator.scripted import language_guard
from harness.simulator.scripted.sentence_guard import LanguageFault
from harness.simulator.scripted.words import sentences
from tests.simulator.distortions import truncated
from tests.simulator.made_scripted import NATURAL

BROKEN_OFF = """
I can imagine how it hurts that you lost a. | It seems so painful to you that your father.
It sounds like you feel sad because your old friends. | I can see how heavy it.
You are here now that she. | So your wife. | It must be so hard that. | It is very common to.
Many people need a long. | They act out of. | I am here with. | It happens as.
What hurts most. | What I hear is. | I know what it. | I am glad you can tell me that he.
"""
WHOLE = """
We spoke of it, my wife and I. | You do not have to. | I would be glad to. | You tried so hard to.
You have every right to. | Everybody needs somebody to be with. | Tell me what you are afraid of.
That is nothing to be ashamed of. | You have been taken advantage of. | I know how you feel.
I heard that the other day. | Of course it hurts like that. | I know that. | That is so you.
It is not as bad as that. | Nobody should go through that. | It can be that hard.
It is grim when it rains. | I get annoyed when he snores. | It hurts that they bicker.
You cried because it stung. | I know that it sucks. | It hurts that your dad drank.
What a long day. | What strength you have. | What fun that was. | What courage that took.
What hurts most is that he lied. | so what hurts most | What matters is you know it.
If you want to. | If it helps. | When nobody listens. | If only it were that simple.
Stay for a while. | It is worth your while. | It is harder than it sounds. | I have no idea why.
I am not sure how. | Feel whatever you feel. | It is hard to come back from.
"""
"""Most of them written by a reader of the rules, to break them."""

UNFINISHED = LanguageFault("ending", "a sentence without its end")


def each(text: str) -> list[str]:
    return [sentence.strip() for line in text.split("\n")[1:-1] for sentence in line.split("|")]


@pytest.mark.parametrize("text", each(BROKEN_OFF))
def test_what_is_broken_off_is_found(text: str) -> None:
    assert language_guard.fault(text) == UNFINISHED


@pytest.mark.parametrize("text", each(WHOLE))
def test_what_ends_though_it_looks_open_is_whole(text: str) -> None:
    assert language_guard.fault(text) != UNFINISHED


def test_natural_sentences_cut_short_are_found_a_sixth_of_the_time() -> None:
    """The rest are sentences still, or end on a word that sentences end on."""
    r = random.Random(3)
    whole = [s for _, kind, text in NATURAL for s in sentences(text) if kind != "none"][::3]
    cut = [truncated(s, r) for s in whole if len(s.split()) > 4]
    assert len(cut) > 800
    assert np.mean([language_guard.fault(text) is not None for text in cut]) > 0.17
