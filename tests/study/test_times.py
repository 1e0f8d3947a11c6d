"""An arm at three times a rate is that on every rung."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.compose import planner
from harness.compose.plan import Plan
from harness.errors import ConfigError
from harness.study import file, times
from tests.study.made import SMALL, planned, written

RATE = "algorithm.learning_rate"


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        (["policy=tabular"], 3.0),
        (["policy=tiny"], 5e-4),
        (["policy=tiny", f"{RATE}=2e-3"], 2e-3),
    ],
)
def test_the_ladder_varies_the_rate_round_that_of_its_rung(words: list[str], rate: float) -> None:
    arms = file.read("difficulty_ladder").arms
    for arm, factor in (("medium_fast", 3), ("beyond_slow", 1 / 3)):
        found = planner.point(times.resolve_factors([*words, *arms[arm]])).config
        assert found.algorithm.learning_rate == pytest.approx(factor * rate)


def test_words_without_a_factor_stay_as_they_are() -> None:
    assert times.resolve_factors(["policy=tabular", f"{RATE}=2"]) == ["policy=tabular", f"{RATE}=2"]


def test_a_count_stays_a_whole_number() -> None:
    words = ["policy=tabular", "trainer.steps=100", "trainer.steps=*3/2"]
    assert times.resolve_factors(words) == ["policy=tabular", "trainer.steps=150"]


def test_a_plan_composes_what_factors_multiply_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three arms, two of which have a factor: each arm, and once what the factors are of."""
    arms = f"  slow: [{RATE}=*1/3]\n  medium: []\n  fast: [{RATE}=*3]\n"
    written(tmp_path, SMALL.replace("  medium: [difficulty=medium]\n", arms))
    monkeypatch.chdir(tmp_path)
    composed: list[list[str]] = []
    plan = planner.plan

    def seen(texts: Sequence[str]) -> Plan:
        composed.append(list(texts))
        return plan(texts)

    monkeypatch.setattr(planner, "plan", seen)
    planned()
    bases = [words for words in composed if not any(word.startswith("seed=") for word in words)]
    assert len(bases) == 1
    assert len(composed) - len(bases) == 4


ONLY = "only numeric keys can be multiplied, except seed and the keys of a remedy"


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        (f"{RATE}=*fast", f"{RATE}=*fast: {times.RULE}, got 'fast'"),
        (f"{RATE}=*1/0", f"{RATE}=*1/0: {times.RULE}, got '1/0'"),
        (f"{RATE}=*1e400", f"{RATE}=*1e400: {times.RULE}, got '1e400'"),
        (f"{RATE}=*1e999999999", f"{RATE}=*1e999999999: {times.RULE}, got '1e999999999'"),
        (f"{RATE}=*1e-99_999_999", f"{RATE}=*1e-99_999_999: {times.RULE}, got '1e-99_999_999'"),
        ("algorithm.null_control=*2", f"algorithm.null_control=*2: {ONLY}"),
        ("seed=*2", f"seed=*2: {ONLY}"),
        (
            "remedy.methods.entropy_bonus.coefficient=*2",
            f"remedy.methods.entropy_bonus.coefficient=*2: {ONLY}",
        ),
        ("algorithm.learnin_rate=*2", "algorithm.learnin_rate=2: "),
    ],
)
def test_what_cannot_be_multiplied_is_said(word: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as told:
        times.resolve_factors(["policy=tabular", word])
    assert str(told.value).startswith(sentence)


def test_a_key_takes_one_factor() -> None:
    with pytest.raises(ConfigError, match="a key takes one factor, got two"):
        times.resolve_factors(["policy=tabular", f"{RATE}=*2", f"{RATE}=*3"])
