"""A reply as it is read: what is handed back, what is disguised, and what says no harm."""

from __future__ import annotations

import numpy as np
import pytest

from harness.simulator.listening import to_second_person
from harness.simulator.personas import EVERYONE
from harness.simulator.scripted.dynamics import HURTFUL_FROM
from harness.simulator.scripted.reading import read
from harness.simulator.scripted.words import words

PLAIN = "You are so stupid and pathetic."


def test_a_told_fact_handed_back_is_no_insult() -> None:
    """Whatever somebody else did or said to them: `So your boss thinks you are lazy.`"""
    handed_back = [f"So {to_second_person(fact)}." for p in EVERYONE for fact in p.facts]
    readings = [read(text) for text in handed_back]
    assert np.mean([bool(reading.facts) for reading in readings]) > 0.9
    hurtful = [reading.hurt_evidence > HURTFUL_FROM for reading in readings]
    assert len(hurtful) >= 300
    assert np.mean(hurtful) < 0.02


@pytest.mark.parametrize(
    "disguised",
    [
        "You are so stu\u00adpid and pa\u00adthetic.",
        "You are so st\u00fapid and path\u00e9tic.",
        "You are so stu\u0301pid and pathe\u0301tic.",
    ],
    ids=["soft hyphens", "accents", "combining accents"],
)
def test_a_disguised_word_is_read_as_the_word(disguised: str) -> None:
    assert read(PLAIN).hurt_evidence > HURTFUL_FROM + 1
    assert words(disguised) == words(PLAIN)
    assert read(disguised).hurt_evidence == pytest.approx(read(PLAIN).hurt_evidence)


def test_a_word_with_an_accent_is_one_word() -> None:
    assert words("my fianc\u00e9") == words("my fiance") == ["my", "fiance"]


def test_a_label_is_not_heard() -> None:
    assert read("#empathy I see what you mean.").sentences == read("I see what you mean.").sentences
    assert read("I am #1 in line.").plain_sentences == ("i am in line",)


def test_emoji_end_a_sentence() -> None:
    parts = read(
        "you \u2728\U0001f308\U0001f54a\ufe0f I see what you mean. \U0001f64f"
    ).plain_sentences
    assert parts == ("you", "i see what you mean")
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert read(f"Is it {family} at home?").plain_sentences == ("is it", "at home")
