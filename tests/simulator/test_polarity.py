"""The polarity of a sentence: what is said, of whom, and whether it is denied."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.errors import ConfigError
from harness.simulator.data_files import columns
from harness.simulator.scripted import word_kinds
from harness.simulator.scripted.language_guard import MAX_CHARACTERS
from harness.simulator.scripted.polarity import polarity_of
from harness.simulator.scripted.reading import read
from harness.simulator.scripted.sentence_features import extract_features, tokenise
from harness.simulator.scripted.word_kinds import ANY, ANY_FEW, PHRASE_KINDS, PHRASES, PhraseMatch
from harness.simulator.scripted.words import words

TWINS = [
    ("You are not a burden to anybody.", "You are a burden to everybody."),
    ("It is not your fault.", "It is all your fault."),
    ("You are brave to say that.", "You are pathetic to say that."),
    ("I believe every word you said.", "I do not believe a word you said."),
]
DENIED = [
    ("victim_blaming", "Everybody says you had it coming.", "Nobody says you had it coming."),
    ("threat", "I think that you will regret it.", "I do not think that you will regret it."),
]
"""A kind of phrases, a sentence that holds one, and another that denies the same phrase."""
ROWS = columns(
    PHRASES, ("polarity", "kind", "phrase"), {"polarity": tuple(PHRASE_KINDS)}
)  # fmt: skip
"""Polarity, kind and phrase of each row."""


def said(phrase: str) -> str:
    """Return a phrase as somebody may say it: nothing in its gaps, and some word for any word."""
    return " ".join("really" if w == ANY else w for w in phrase.split() if w != ANY_FEW)


def whole(phrase: str, polarity: str, kind: str) -> PhraseMatch:
    """Return what is to be found in a phrase by itself: all of it."""
    return PhraseMatch(0, len(words(said(phrase))), polarity, kind)


VOCABULARY = {polarity: [said(phrase) for p, _, phrase in ROWS if p == polarity]
              for polarity in PHRASE_KINDS} | {"any": sorted(word_kinds.word_kinds())}  # fmt: skip


def strung(polarity: str, seed: int, count: int, between: str) -> str:
    """Return words or phrases drawn from the tables in one text as long as a reply may be."""
    drawn = random.Random(seed).sample(VOCABULARY[polarity], count)
    return between.join(drawn)[:MAX_CHARACTERS]


strung_texts = st.builds(
    strung,
    st.sampled_from(sorted(VOCABULARY)),
    st.integers(0, 2**32),
    st.integers(1, 300),
    st.sampled_from([" ", ", ", ". ", " not ", " and you are "]),
)


@pytest.mark.slow
def test_the_weights_are_those_that_are_learnt() -> None:
    command = [sys.executable, "-m", "benchmarks.polarity_reader", "--check"]
    root, env = Path(__file__).parents[2], os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("kind", "cruel"), TWINS)
def test_a_word_or_two_turn_care_into_cruelty(kind: str, cruel: str) -> None:
    caring, hurtful = polarity_of(kind), polarity_of(cruel)
    assert caring.caring > 0.5 > caring.hurtful
    assert hurtful.hurtful > 0.5 > hurtful.caring


@settings(deadline=None)
@given(st.text(max_size=200) | strung_texts)
@example(strung("hurtful", 1, 120, ", "))
@example(strung("caring", 0, 120, ", "))
@example("")
def test_any_text_has_a_distribution_and_can_be_read(text: str) -> None:
    """Cruel clauses in a row leave no doubt at all, and still no log-odds without bounds."""
    polarity = polarity_of(text)
    assert polarity.caring + polarity.neutral + polarity.hurtful == pytest.approx(1)
    assert math.isfinite(polarity.hurt_log_odds)
    assert math.isfinite(read(text).hurt_evidence)


def test_a_negation_reaches_to_the_end_of_its_clause() -> None:
    features = extract_features("You are not weak, but he is lazy.").features
    assert "bad_trait|YOU|N" in features
    assert "bad_trait|THEY|P" in features
    assert tokenise("No, really - yes.") == ["no", ",", "really", ",", "yes"]


def test_phrases_are_found_with_their_gaps() -> None:
    assert "victim_blaming" in extract_features("You had it coming.").phrase_kinds
    assert "apology" in extract_features("I should not have said that.").phrase_kinds


@pytest.mark.parametrize(("kind", "affirmed", "denied"), DENIED)
def test_a_denied_phrase_is_not_what_it_denies(kind: str, affirmed: str, denied: str) -> None:
    assert f"phrase:{kind}|P" in extract_features(affirmed).features
    assert f"phrase:{kind}|N" in extract_features(denied).features, "the same phrase, denied"
    assert kind in extract_features(affirmed).phrase_kinds
    assert kind not in extract_features(denied).phrase_kinds
    assert polarity_of(denied).hurt_log_odds < polarity_of(affirmed).hurt_log_odds - 0.5


def test_every_kind_has_words() -> None:
    kinds = {kind for some in word_kinds.word_kinds().values() for kind in some}
    assert kinds == word_kinds.KINDS
    (match, *_) = word_kinds.phrases_in(["please", "cry", "me", "a", "river", "now"])
    assert (match.start, match.end, match.polarity) == (1, 5, "hurtful")


def test_every_phrase_is_found_in_itself() -> None:
    """As it is read: a phrase with a word that is corrected into another can never be found."""
    lost = [
        phrase
        for polarity, kind, phrase in ROWS
        if whole(phrase, polarity, kind) not in word_kinds.phrases_in(words(said(phrase)))
    ]
    assert len(ROWS) > 8000
    assert not lost, f"{len(lost)} phrases are not found: {'; '.join(lost)}"


def test_a_malformed_row_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "word_kinds.tsv"
    path.write_text("word\tkinds\nstupid\tbad_trait\nkind\tlovely\n", encoding="utf-8")
    monkeypatch.setattr(word_kinds, "WORD_KINDS", path)
    with pytest.raises(ConfigError) as error:
        word_kinds.word_kinds.__wrapped__()
    assert str(error.value) == f"{path}:3: kinds must be known ones, got 'lovely'"
