"""What a study's links do not state: means of arms, and differences computed afterwards."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import study_arms
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.records.study_file import FactorialTable, Link
from tests.study.made import Arms, Course, config, record_of, study_of

SEEDS = 4
GAINS = {
    "grpo_narrow": 0.3, "grpo_wide": 0.3, "ppo_narrow": 0.32, "ppo_wide": 0.32,
    "kto_narrow": 0.1, "kto_wide": 0.1,
}  # fmt: skip
"""The algorithm alone moves the gain, and kto most of all."""
TABLE = FactorialTable(
    "algorithm",
    "prior",
    (("grpo_narrow", "grpo_wide"), ("ppo_narrow", "ppo_wide"), ("kto_narrow", "kto_wide")),
)
MORE = Link("prior more", "gain", "prior", "algorithm", "more", 0.0025, crossed=TABLE)
LEVEL = "eval/medium/reward"


def of_rate(rate: float) -> RunConfig:
    """No two arms alike: runs of one config and seed are taken for the same."""
    one = config("medium", 1, False)
    return replace(one, algorithm=replace(one.algorithm, learning_rate=rate))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("study")
    arms: Arms = {
        arm: (of_rate(0.1 * place), [Course(gain=gain)] * SEEDS)
        for place, (arm, gain) in enumerate(GAINS.items(), start=1)
    }
    best = {"kto": ["kto_narrow", "kto_wide"]}
    record_of(root, study_of(root, arms, [MORE], best=best), SEEDS)
    return root


def numbers(line: str) -> list[float]:
    """Mean, low and high of a printed row."""
    return [float(number) for number in re.findall(r"-?\d+\.\d+", line)]


def test_arms_have_their_means_and_pairs_their_difference(root: Path) -> None:
    head, rule, *rows = "\n".join(
        study_arms.lines(root, "gain", LEVEL, ["ppo_wide-kto_wide"], None)
    ).splitlines()
    assert (head, rule) == (f"| gain, {LEVEL} | seeds | mean [95%] |", "|---|---|---|")
    *of_arms, best, pair = rows
    for row, (arm, gain) in zip(of_arms, GAINS.items(), strict=True):
        mean, low, high = numbers(row)
        assert row.startswith(f"| {arm} | {SEEDS} |")
        assert mean == pytest.approx(gain, abs=0.03)
        assert low < mean < high
    assert best.startswith("| kto, which is kto_")
    difference, low, high = numbers(pair)
    assert difference == pytest.approx(0.22, abs=0.03)
    assert 0 < low < difference < high


def test_without_a_row_the_components_are_of_the_others(root: Path) -> None:
    algorithm, prior, both = list(study_arms.lines(root, "gain", LEVEL, [], "kto"))[-3:]
    assert algorithm.startswith("| variance of algorithm without kto |")
    assert prior.startswith("| variance of prior without kto |")
    assert both.startswith("| variance of algorithm x prior without kto |")
    mean, low, high = numbers(algorithm)
    assert mean == pytest.approx(2 * 0.01**2, abs=3e-4), "of .30 and .32"
    assert low < mean < high


def test_what_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^medium: must be an evaluation of the runs, .* has gain"
    ):
        list(study_arms.lines(root, "gain", "medium", [], None))
    with pytest.raises(ConfigError, match=r"^grpo_wide-dapo: must be two of .*, A-B; it has grpo"):
        list(study_arms.lines(root, "gain", LEVEL, ["grpo_wide-dapo"], None))
    with pytest.raises(ConfigError, match=r"^--without: must be of some rows, and leave two, got "):
        list(study_arms.lines(root, "gain", LEVEL, [], "d"))
