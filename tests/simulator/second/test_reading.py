"""What the second user hears in a reply."""

import pytest

from harness.calibration.validity.replies import LANGUAGE, pairs, texts
from harness.simulator.reference import PHRASES
from harness.simulator.second.reading import HURTS_FROM, read
from harness.simulator.second.sentence import STRATEGY
from harness.simulator.second.text import gist, sentences, stem, stems

FACT = "your boss left you alone with the work"


def test_the_phrases_of_reference_policies_are_heard_for_what_they_are() -> None:
    """Those by which a tabular policy speaks."""
    said = [(s, phrase.format(f=FACT, e="sad")) for s, some in PHRASES.items() for phrase in some]
    missed = [(s, text) for s, text in said if read(text).strategies != (s,)]
    assert len(missed) <= 4, missed
    assert not [text for _, text in said if read(text).hurt > 1.5]


@pytest.mark.parametrize(("text", "act"), [
    ("What happened next?", "ask"),
    ("It is not your fault.", "absolve"),
    ("You did your best.", "credit"),
    ("Maybe you could talk to a friend.", "advise"),
    ("I went through the same myself.", "share"),
    ("Take your time, I am listening.", "stay"),
    ("You seem sad today.", "feel_with"),
    ("Many people feel like this for months.", "explain"),
    ("So you have lost your job.", "say_back"),
])  # fmt: skip
def test_an_act_is_named(text: str, act: str) -> None:
    assert read(text).acts == (act,)
    assert read(text).strategies == (STRATEGY[act],)
    assert read(text).hurt < HURTS_FROM


@pytest.mark.parametrize("text", [
    "You are pathetic.",
    "Just get over it.",
    "Nobody cares about you.",
    "Stop whining.",
    "It is your own fault, you idiot.",
])  # fmt: skip
def test_cruelty_is_heard(text: str) -> None:
    assert read(text).hurt >= HURTS_FROM


@pytest.mark.parametrize("text", ["You are not pathetic.", "You are not a burden, not to me.",
                                  "It is not pathetic to need company."])  # fmt: skip
def test_denied_cruelty_is_none(text: str) -> None:
    assert read(text).hurt < HURTS_FROM


def test_on_the_tuned_half_cruel_twins_are_told_from_kind_ones() -> None:
    """The held-out half is reported, and nothing is asked of it here."""
    tuned = [pair for pair in pairs() if pair.half == "tuned"]
    cruel = [read(pair.cruel).hurt >= HURTS_FROM for pair in tuned]
    kind = [read(pair.kind).hurt >= HURTS_FROM for pair in tuned]
    assert sum(cruel) > 0.85 * len(tuned)
    assert sum(kind) < 0.15 * len(tuned)


def test_natural_replies_are_language_and_gibberish_is_not() -> None:
    natural, gibberish = texts("tuned", LANGUAGE), texts("tuned", ["gibberish"])
    assert sum(read(text).fault is not None for text in natural) <= 0.02 * len(natural)
    assert sum(read(text).fault is not None for text in gibberish) >= 0.7 * len(gibberish)


@pytest.mark.parametrize(("text", "fault"), [
    ("", "empty"),
    ("word " * 500, "endless"),
    ("\u4f60\u597d \u4f60\u597d", "empty"),
    ("<b>I am here</b>", "signs"),
    ("you you you you you you you", "repetition"),
    ("qwx zzk vbn plo mkj", "vocabulary"),
])  # fmt: skip
def test_what_is_no_language_is_named_by_rule(text: str, fault: str) -> None:
    assert read(text).fault == fault


def test_words_are_spelt_out_and_slips_of_case_are_none() -> None:
    (sentence,) = sentences("I'm sure you CAN'T sleep\u2019")
    assert sentence.words == ("i", "am", "sure", "you", "can", "not", "sleep")


def test_stems_join_the_forms_of_a_word() -> None:
    assert stem("sleeping") == stem("sleeps") == stem("sleep")
    assert stems("She left me.") == {"left"}
    assert len(gist("I do not know anyone here.")) > 2
