"""What the benchmark calls reached and short; and the two regimes that end without a fall."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.law.estimate import identifiability
from harness.testing import cells, promises, synthetic
from harness.testing.cells import Coverage, IntervalCoverage, RegimeResult
from harness.testing.synthetic import LOW

PEER_A, PEER_CEILING = 15.6, 0.0216
"""Of n200 rho.5 sigma.05."""


def held(count: int, half_width: float) -> Coverage:
    return Coverage(count, 500, 70.0, half_width)


def one_cell(count: int = 480, wider: float = 1.0) -> IntervalCoverage:
    a = held(count, wider * PEER_A / 100 * synthetic.TRUE_A)
    return IntervalCoverage("n200 rho.5 sigma.05", 0.0, a, held(480, PEER_CEILING), 0.0, 5.0)


def said(found: list[promises.Promise], text: str) -> str:
    (line,) = [line for line in promises.table(found).splitlines() if line.startswith(f"| {text}")]
    return line


@pytest.mark.parametrize(
    ("count", "end"), [(434, "| reached |"), (430, "| short in 1: n200 rho.5 sigma.05 (86.0) |")]
)
def test_coverage_is_short_only_where_chance_does_not_explain_it(count: int, end: str) -> None:
    found = promises.of_intervals([one_cell(count)])
    assert said(found, "coverage of a, % |").endswith(end)


def test_a_run_with_drift_is_not_asked_for_coverage() -> None:
    drifting = replace(one_cell(100), cell="drift n200")
    assert said(promises.of_intervals([one_cell(), drifting]), "coverage of a, % |").endswith(
        "| reached |"
    )


@pytest.mark.parametrize(("wider", "end"), [(1.14, "reached |"), (1.16, "(1.16) |")])
def test_a_width_is_held_against_the_one_measured_before(wider: float, end: str) -> None:
    found = promises.of_intervals([one_cell(wider=wider)])
    assert said(found, "median half-width of a").endswith(end)
    assert said(found, "median half-width of ceiling").endswith("reached |")


def judged(regime: str, noise: str, **words: float) -> RegimeResult:
    return RegimeResult(regime, 300, noise, words, {}, 99.0, 1.0, 3.0, 99.0)


def test_false_holds_name_their_cells() -> None:
    measured = [
        judged("law", "low", holds=96.0),
        judged("law", "high", holds=74.0),
        judged("kink_flat", "low", holds=11.0, holds_until_onset=91.0),
        judged("hack", "low", holds=2.0, fails=98.0),
        judged("flat", "low"),
        judged("law_slight", "low", fails=46.0),
    ]
    found = promises.of_verdicts(measured)
    assert said(found, "law, n >= 300, low").endswith("| reached |")
    assert said(found, "law, n >= 300, high").endswith("| short in 1: law n300 high (74.0) |")
    assert said(found, "law where").endswith("| short in 1: law_slight n300 low (46.0) |")
    assert said(found, "no law").endswith("| short in 1: kink_flat n300 low (11.0) |")
    assert said(found, "the same").endswith("| 2.00 | at most 5 | reached |")


def test_every_cell_without_drift_has_a_width_to_be_held_against() -> None:
    assert set(promises.PEER_HALF_WIDTHS) == {
        cell for cell in cells.COVERAGE if not cell.startswith("drift")
    }


def test_starvation_is_called_so_and_passes_for_no_law() -> None:
    looks = [cells.look(synthetic.starved(s, 300, LOW)) for s in range(30)]
    assert sum(look.regime == "starved" for look in looks) >= 24
    assert sum(look.verdict.word in promises.CLAIMED for look in looks) <= 3
    assert all(look.onset is None for look in looks)


def test_a_drift_of_the_reward_passes_for_a_larger_a() -> None:
    """One run cannot show it; the page on the law says so."""
    fits = [
        identifiability.fit(cells.points_of(synthetic.drift(s, 1000, LOW))).line for s in range(20)
    ]
    too_large = sum(line is not None and line.a > 1.1 * synthetic.TRUE_A for line in fits)
    assert too_large >= 18


def test_a_cell_is_measured_by_its_name() -> None:
    found = cells.judge("kink_fall", 60, "low", 10)
    assert found.cell == "kink_fall n60 low"
    assert sum(found.words.values()) == pytest.approx(100)
    assert found.found >= 90
    assert found.median_error is not None
    assert found.median_error < 5
    assert cells.judge("flat", 60, "low", 10).median_error is None
