"""An arm at three times a rate is that on every rung."""

from __future__ import annotations

import pytest

from harness import launch
from harness.errors import ConfigError
from harness.study import file, times

RATE = "algorithm.learning_rate"


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        (["policy=tabular"], 4.0),
        (["policy=tiny"], 1e-3),
        (["policy=tiny", f"{RATE}=2e-3"], 2e-3),
    ],
)
def test_the_ladder_varies_the_rate_round_that_of_its_rung(words: list[str], rate: float) -> None:
    arms = file.read("difficulty_ladder").arms
    for arm, factor in (("medium_fast", 3), ("beyond_slow_null", 1 / 3)):
        found = launch.point(times.resolved([*words, *arms[arm]])).config
        assert found.algorithm.learning_rate == pytest.approx(factor * rate)


def test_words_without_a_factor_stay_as_they_are() -> None:
    assert times.resolved(["policy=tabular", f"{RATE}=2"]) == ["policy=tabular", f"{RATE}=2"]


def test_a_count_stays_a_whole_number() -> None:
    words = ["policy=tabular", "trainer.steps=100", "trainer.steps=*3/2"]
    assert times.resolved(words) == ["policy=tabular", "trainer.steps=150"]


NUMBER = "behind * must stand a number, as in *3 or *1/3, got"


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        (f"{RATE}=*fast", f"{RATE}=*fast: {NUMBER} 'fast'"),
        (f"{RATE}=*1/0", f"{RATE}=*1/0: {NUMBER} '1/0'"),
        (
            "algorithm.null_control=*2",
            "algorithm.null_control=*2: *N is of a number alone, and "
            "algorithm.null_control is False",
        ),
        ("algorithm.learnin_rate=*2", "algorithm.learnin_rate=1: "),
    ],
)
def test_what_cannot_be_multiplied_is_said(word: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        times.resolved(["policy=tabular", word])
    assert str(told.value).startswith(sentence)
