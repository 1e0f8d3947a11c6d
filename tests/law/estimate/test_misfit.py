"""The test of fit finds rewards that only look like the law, and the unit of R changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.law.estimate import identifiability, misfit, rivals
from harness.law.io.clean import Points
from harness.testing import cells, misfits, synthetic
from harness.testing.misfits import SCATTERS, STICKY, USUAL
from harness.testing.promises import CLAIMED, HOLDS
from harness.testing.synthetic import HIGH, LOW, SyntheticRun

RUNS = 20


def words(
    path: misfits.Path, reward: misfits.Reward, n: int, scatter: misfits.ScatterNoise
) -> list[str]:
    return [cells.judge_run(misfits.make(s, n, path, reward, scatter)).word for s in range(RUNS)]


@pytest.mark.parametrize("name", misfits.MISFITS)
def test_a_reward_that_no_law_made_is_not_said_to_follow_it(name: str) -> None:
    found = words(*misfits.MISFITS[name], 300, USUAL)
    assert sum(word in CLAIMED for word in found) <= 0.15 * RUNS


def test_a_line_beside_an_entropy_that_is_spent_followed_it_at_no_time() -> None:
    found = words(*misfits.MISFITS["line beside spent H"], 300, USUAL)
    assert found.count("holds_until_onset") <= 0.15 * RUNS


@pytest.mark.parametrize("name", ["lag", "bounce"])
def test_a_hundred_rows_tell_a_reward_that_lags_or_goes_by_the_step_alone(name: str) -> None:
    found = words(*misfits.MISFITS[name], 100, USUAL)
    assert sum(word in CLAIMED for word in found) <= 0.15 * RUNS


def test_where_entropy_hardly_moves_no_turn_or_break_of_the_reward_denies_the_law() -> None:
    made = [misfits.make(s, 60, misfits.slight, misfits.lawful, STICKY) for s in range(50)]
    found = [cells.judge_run(log) for log in made]
    turned = [v for v in found if {"law_break", "reward_falls_while_entropy_falls"} & {*v.reasons}]
    assert turned
    denied = [v for v in found if v.word == "fails"]
    assert all({"wrong_sign", "no_relation"} & {*verdict.reasons} for verdict in denied)


@pytest.mark.parametrize("scatter", ["usual", "small batch"])
def test_an_early_fall_of_entropy_is_enough_for_an_interval_of_a_above_0(scatter: str) -> None:
    made = [
        misfits.make(s, 100, misfits.early, misfits.lawful, SCATTERS[scatter]) for s in range(40)
    ]
    a = [fit.spread.a for fit in map(identifiability.fit, map(cells.points_of, made)) if fit.spread]
    assert sum(interval.low > 0 for interval in a) >= 38
    assert sum(interval.low <= misfits.A <= interval.high for interval in a) >= 36


@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize("path", misfits.PATHS)
def test_a_law_is_seldom_denied_by_the_test_of_fit(path: str, scatter: str) -> None:
    made = [
        misfits.make(s, 300, misfits.PATHS[path], misfits.lawful, SCATTERS[scatter])
        for s in range(RUNS)
    ]
    found = [cells.judge_run(log) for log in made]
    assert sum("misfit" in verdict.reasons for verdict in found) <= 2


def test_noise_that_is_larger_where_entropy_is_high_is_no_misfit() -> None:
    assert all(word in HOLDS for word in words(misfits.deep, misfits.lawful, 300, USUAL))


@pytest.mark.parametrize("path", [misfits.deep, misfits.even])
def test_a_line_in_entropy_is_called_linear_and_a_law_is_not(path: misfits.Path) -> None:
    assert words(path, misfits.linear_in_h, 300, USUAL).count("linear") >= 0.6 * RUNS
    assert words(path, misfits.lawful, 300, USUAL).count("linear") == 0


def test_where_both_forms_do_alike_the_form_is_open() -> None:
    assert words(misfits.slight, misfits.lawful, 1000, USUAL).count("holds_form_open") >= 0.7 * RUNS


def test_a_leap_is_found_where_it_is() -> None:
    n, at = 400, 250
    log = misfits.make(1, n, misfits.even, misfits.lawful, USUAL)
    leapt = Points(log.steps, log.entropy, log.reward + 0.15 * (log.steps > at))
    line = identifiability.fit(leapt).line
    assert line is not None
    found = misfit.test(line)
    assert found is not None
    assert found.size() > 0
    assert abs(found.leap_at * n / found.bins - at) <= 0.02 * n


def test_the_level_of_the_smooth_test_is_its_own_under_the_law() -> None:
    """With no noise on H the residuals are one AR(1), for which p is made."""
    p = []
    for seed in range(400):
        log = synthetic.lawful(seed, 400, synthetic.Noise(0.5, 0.0, 0.0))
        line = identifiability.fit(cells.points_of(log)).line
        found = misfit.test(line) if line is not None else None
        assert found is not None
        p.append(found.p)
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.10


def test_an_exact_law_and_a_short_run_have_no_misfit() -> None:
    h = np.linspace(1.0, 0.1, 100)
    exact = identifiability.fit(Points(np.arange(100.0), h, misfits.law(h))).line
    assert exact is not None
    found = misfit.test(exact)
    assert found is None or not found.size()
    short = identifiability.fit(cells.points_of(synthetic.lawful(1, 16, LOW))).line
    assert short is not None
    assert misfit.test(short) is None


MADE: dict[str, SyntheticRun] = {
    **{
        name: misfits.make(5, 200, path, reward, USUAL)
        for name, (path, reward) in misfits.MISFITS.items()
    },
    **{
        f"law, {path}": misfits.make(6, 200, misfits.PATHS[path], misfits.lawful, STICKY)
        for path in misfits.PATHS
    },
    **{name: make(7, 120, noise) for name, make in cells.REGIMES.items() for noise in (LOW, HIGH)},
}


@settings(max_examples=80, deadline=None)
@given(
    name=st.sampled_from(sorted(MADE)),
    scale=st.floats(0.01, 100),
    shift=st.floats(-1000, 1000),
)
def test_the_unit_of_the_reward_changes_no_verdict(name: str, scale: float, shift: float) -> None:
    log = MADE[name]
    other = replace(log, reward=scale * log.reward + shift)
    (one, two) = (cells.look(log), cells.look(other))
    assert two.verdict.word == one.verdict.word
    assert two.verdict.reasons == one.verdict.reasons
    assert two.regime == one.regime
    assert (two.onset is None) == (one.onset is None)
    first, second = (identifiability.fit(cells.points_of(made)) for made in (log, other))
    assert first.spread is not None
    assert second.spread is not None
    assert second.spread.a.low == pytest.approx(scale * first.spread.a.low, rel=1e-6, abs=1e-6)
    assert identifiability.judge_identifiability(second) == identifiability.judge_identifiability(
        first
    )
    assert rivals.against_linear(rivals.compare(second.points)) == rivals.against_linear(
        rivals.compare(first.points)
    )
