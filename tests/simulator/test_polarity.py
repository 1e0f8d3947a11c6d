"""The polarity of a sentence: what is said, of whom, and whether it is denied."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError
from harness.simulator.scripted import word_kinds
from harness.simulator.scripted.polarity import polarity_of
from harness.simulator.scripted.sentence_features import tokenise, wording_of

TWINS = [
    ("You are not a burden to anybody.", "You are a burden to everybody."),
    ("It is not your fault.", "It is all your fault."),
    ("You are brave to say that.", "You are pathetic to say that."),
    ("I believe every word you said.", "I do not believe a word you said."),
]


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


@given(st.text(max_size=200))
def test_any_text_has_a_distribution(text: str) -> None:
    polarity = polarity_of(text)
    assert polarity.caring + polarity.neutral + polarity.hurtful == pytest.approx(1)
    assert -40 < polarity.hurt_log_odds < 40


def test_a_negation_reaches_to_the_end_of_its_clause() -> None:
    features = wording_of("You are not weak, but he is lazy.").features
    assert "bad_trait|YOU|N" in features
    assert "bad_trait|THEY|P" in features
    assert tokenise("No, really - yes.") == ["no", ",", "really", ",", "yes"]


def test_phrases_are_found_with_their_gaps_and_unless_denied() -> None:
    assert "victim_blaming" in wording_of("You had it coming.").phrase_kinds
    assert "apology" in wording_of("I should not have said that.").phrase_kinds
    assert "victim_blaming" not in wording_of("You never had it coming.").phrase_kinds


def test_every_kind_has_words_and_every_phrase_is_found_in_itself() -> None:
    kinds = {kind for some in word_kinds.word_kinds().values() for kind in some}
    assert kinds == word_kinds.KINDS
    (match, *_) = word_kinds.phrases_in(["please", "cry", "me", "a", "river", "now"])
    assert (match.start, match.end, match.polarity) == (1, 5, "hurtful")


def test_a_malformed_row_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "word_kinds.tsv"
    path.write_text("word\tkinds\nstupid\tbad_trait\nkind\tlovely\n", encoding="utf-8")
    monkeypatch.setattr(word_kinds, "WORD_KINDS", path)
    with pytest.raises(ConfigError) as error:
        word_kinds.word_kinds.__wrapped__()
    assert str(error.value) == f"{path}:3: kinds must be known ones, got 'lovely'"
