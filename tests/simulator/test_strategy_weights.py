"""Known words, pairs and weights are what is made of the sentences; unseen wordings are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import word_weights
from harness.simulator.scripted import recognition


@pytest.mark.slow
@pytest.mark.parametrize("script", ["known_words", "english_pairs", "strategy_reader"])
def test_the_tables_of_words_are_those_that_are_made(script: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{script}", "--check"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_probabilities_are_a_distribution_over_the_kinds() -> None:
    by_kind = recognition.probabilities("No wonder you are worn out.")
    assert set(by_kind) == set(recognition.KINDS)
    assert sum(by_kind.values()) == pytest.approx(1)


def test_words_nobody_used_carry_no_strategy() -> None:
    assert recognition.likeliest("Zyx qwv plugh.") is None


HEADER = "feature\tcare\tharm"


@pytest.mark.parametrize(
    ("rows", "are_alike"),
    [
        ([HEADER, "a\t5\t-5", "b\t20\t-20"], True),
        ([HEADER, "a\t5\t-5", "b\t21\t-20"], True),  # rounded otherwise
        ([HEADER, "b\t20\t-20"], True),  # `a` weighs no more than is left out
        ([HEADER, "a\t5\t-5", "b\t22\t-20"], False),
        ([HEADER, "a\t5\t-5"], False),
        ([HEADER, "a\t5\t-5", "b\t20\t-20", "c\t-6\t6"], False),
        (["feature\tharm\tcare", "a\t5\t-5", "b\t20\t-20"], False),
    ],
)
def test_weights_differ_by_what_rounding_does_alone(rows: list[str], are_alike: bool) -> None:
    kept = [HEADER, "a\t5\t-5", "b\t20\t-20"]
    assert word_weights.alike(rows, kept, 5) is are_alike
