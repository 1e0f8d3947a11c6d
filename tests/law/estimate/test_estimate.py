"""The estimator against runs whose a and b are known, and against what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from harness.law.estimate import estimate, identifiability, interval, spikes
from harness.law.estimate.identifiability import LawFit
from harness.law.io.clean import Points
from harness.law.results import Identifiability
from harness.testing import cells, synthetic
from harness.testing.synthetic import (
    HIGH,
    LOW,
    NONE,
    TRUE_A,
    TRUE_B,
    TRUE_CEILING,
    Noise,
    SyntheticRun,
)


def fit(log: SyntheticRun) -> LawFit:
    return identifiability.fit(Points(log.steps, log.entropy, log.reward))


def test_without_noise_the_law_comes_back() -> None:
    steps = np.arange(1.0, 201)
    entropy = np.exp(-steps / 60)
    fitted = identifiability.fit(Points(steps, entropy, synthetic.law(entropy)))
    assert fitted.line is not None
    assert fitted.line.a == pytest.approx(TRUE_A, rel=1e-9)
    assert fitted.line.b == pytest.approx(TRUE_B, rel=1e-9)


def test_noise_on_h_shrinks_least_squares_and_not_the_instrument() -> None:
    fits = [fit(synthetic.lawful(s, 1000, Noise(0.5, 0.15))) for s in range(40)]
    lines = np.mean([f.line.a for f in fits if f.line])
    squares = np.mean([f.ols.a for f in fits if f.ols])
    assert lines == pytest.approx(TRUE_A, rel=0.03)
    assert squares < 0.93 * TRUE_A


def test_noise_on_h_leaves_no_bias_that_a_longer_run_cannot_shrink() -> None:
    """E exp(H + e) is above exp(H): without the correction a comes out 1.5% too small here."""
    found = []
    for seed in range(40):
        true = synthetic.lawful(seed, 2000, Noise(0.5, 0.0)).entropy
        noise = np.random.default_rng([seed, 1]).normal(size=2000)
        seen = np.maximum(true * (1 + 0.25 * noise), 0.0)
        line = fit(SyntheticRun(np.arange(1.0, 2001), seen, synthetic.law(true))).line
        assert line is not None
        found.append(line.a)
    assert np.mean(found) == pytest.approx(TRUE_A, rel=0.008)


def test_fast_moves_of_h_that_the_reward_follows_are_no_noise() -> None:
    log = synthetic.lawful(3, 1000, Noise(0.0, 0.0, wander=0.0))
    fast = log.entropy * (1 + 0.4 * np.random.default_rng(3).uniform(-1, 1, 1000))
    line = fit(SyntheticRun(log.steps, fast, synthetic.law(fast))).line
    assert line is not None
    assert line.a == pytest.approx(TRUE_A, rel=0.005)


CELLS = {
    "n200 rho.5 sigma.05": (200, Noise(0.5, 0.05), 0.05),
    "n200 rho.5 sigma.15": (200, Noise(0.5, 0.15), 0.05),
    "n1000 rho.9 sigma.05": (1000, Noise(0.9, 0.05), 0.05),
    "partial n1000": (1000, Noise(0.5, 0.05), 0.5),
}


@pytest.mark.parametrize("cell", CELLS)
def test_intervals_cover_where_the_textbook_ones_do_not(cell: str) -> None:
    n, noise, end = CELLS[cell]
    course = synthetic.exponential(end)
    fits = [fit(synthetic.lawful(s, n, noise, course)) for s in range(200)]
    spreads = [f.spread for f in fits if f.spread is not None]
    textbook = [cells.classical(f.points) for f in fits]
    assert len(spreads) == 200
    assert cells.coverage_percent([s.a for s in spreads], TRUE_A) >= 90
    assert cells.coverage_percent([s.ceiling for s in spreads], TRUE_CEILING) >= 90
    assert cells.coverage_percent([a for a, _ in textbook], TRUE_A) < 80
    assert cells.coverage_percent([c for _, c in textbook], TRUE_CEILING) < 85


def test_least_squares_is_what_curve_fit_finds() -> None:
    log = synthetic.lawful(5, 300, LOW)
    (a, b), _ = optimize.curve_fit(
        lambda h, a, b: b - a * np.exp(h), log.entropy, log.reward, p0=(0.1, 0.5)
    )
    ols = fit(log).ols
    assert ols is not None
    assert (ols.a, ols.b) == pytest.approx((a, b), rel=1e-6)


def test_narrow_and_short_runs_are_not_identified() -> None:
    narrow = fit(synthetic.lawful(1, 200, LOW, lambda u: 0.3 - 0.02 * u))
    short = fit(synthetic.lawful(1, 12, LOW))
    constant = fit(synthetic.constant(1, 200, LOW))
    assert narrow.spread is not None
    assert not identifiability.judge_identifiability(narrow).a
    assert identifiability.judge_identifiability(short) == Identifiability(a=False, ceiling=False)
    assert identifiability.judge_identifiability(constant) == Identifiability(
        a=False, ceiling=False
    )
    assert constant.line is None
    wide = fit(synthetic.lawful(1, 1000, LOW))
    assert identifiability.judge_identifiability(wide) == Identifiability(a=True, ceiling=True)


def test_a_low_entropy_run_knows_its_ceiling_and_not_its_a() -> None:
    low = fit(synthetic.lawful(2, 300, LOW, synthetic.exponential(0.1, start=0.1)))
    assert identifiability.judge_identifiability(low) == Identifiability(a=False, ceiling=True)


def test_a_first_stage_that_is_strong_beyond_doubt_needs_no_closer_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noises = (LOW, HIGH, Noise(0.5, 0.4), Noise(0.5, 1.0))
    runs = [synthetic.lawful(s, n, noise) for s in range(8) for n in (40, 400) for noise in noises]
    quick = [fit(run) for run in runs]
    monkeypatch.setattr(estimate, "FAR_ABOVE", np.inf)
    thorough = [fit(run) for run in runs]
    strengths = [
        (q.line.first_stage_f, t.line.first_stage_f)
        for q, t in zip(quick, thorough, strict=True)
        if q.line and t.line
    ]
    assert [q.spread for q in quick] == [t.spread for t in thorough]
    assert 0.2 < np.mean([least < exact for least, exact in strengths]) < 0.8
    assert all(least == exact or 25 < least < exact for least, exact in strengths)


def test_the_covariance_is_that_of_a_and_b_over_many_runs() -> None:
    fits = [fit(synthetic.lawful(s, 300, LOW)) for s in range(150)]
    found = np.array([(f.spread.a.value, f.spread.b.value) for f in fits if f.spread])
    said = np.median([f.spread.cov_ab for f in fits if f.spread])
    assert 0.8 < said / np.cov(found.T)[0, 1] < 2.5


def test_the_steep_start_of_a_run_is_no_spike_and_a_lone_value_is() -> None:
    start = np.concatenate(([0.26, 0.68, 0.75, 0.86, 0.93], np.full(45, 0.94)))
    noisy = start + 0.003 * np.random.default_rng(1).normal(size=50)
    noisy[30] = 0.2
    cleaned = spikes.without_spikes(noisy)
    np.testing.assert_allclose(cleaned[:5], noisy[:5], atol=0.02)
    assert cleaned[30] == pytest.approx(0.94, abs=0.03)


def test_spikes_do_not_move_the_estimate_much() -> None:
    log = synthetic.lawful(4, 1000, LOW)
    clean = fit(log).line
    rng = np.random.default_rng(1)
    reward, entropy = log.reward.copy(), log.entropy.copy()
    reward[rng.choice(1000, 30, replace=False)] -= 0.4
    entropy[rng.choice(1000, 30, replace=False)] *= 3
    spiked = fit(SyntheticRun(log.steps, entropy, reward))
    assert clean is not None
    assert spiked.line is not None
    assert spiked.ols is not None
    assert spiked.line.a == pytest.approx(clean.a, rel=0.08)
    assert abs(spiked.ols.a / clean.a - 1) > 0.2


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    scale=st.floats(0.01, 100),
    shift=st.floats(-10, 10),
    n=st.integers(6, 120),
)
def test_an_affine_change_of_reward_changes_a_and_b_alike(
    seed: int, scale: float, shift: float, n: int
) -> None:
    log = synthetic.lawful(seed, n, HIGH)
    first = fit(log)
    second = fit(SyntheticRun(log.steps, log.entropy, scale * log.reward + shift))
    assert first.spread is not None
    assert second.spread is not None
    one, two = first.spread, second.spread
    size = scale * (abs(one.a.value) + interval.half_width(one.a))
    assert two.a.value == pytest.approx(scale * one.a.value, abs=1e-6 * size)
    assert two.b.value == pytest.approx(scale * one.b.value + shift, abs=1e-5 * (size + 10))
    assert interval.half_width(two.a) == pytest.approx(scale * interval.half_width(one.a), rel=1e-4)
    assert two.n_eff == pytest.approx(one.n_eff, rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 1000),
    digits=st.sampled_from([0, 1, 15]),
)
def test_any_short_or_lumpy_run_has_an_answer(n: int, seed: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    entropy, reward = np.round(rng.uniform(0, 20, (2, n)), digits)
    fitted = identifiability.fit(Points(np.arange(1.0, n + 1), entropy, reward))
    if fitted.spread is not None:
        numbers = [fitted.spread.cov_ab, fitted.spread.n_eff]
        for i in (fitted.spread.a, fitted.spread.b, fitted.spread.ceiling):
            assert i.low <= i.value <= i.high
            numbers += [i.low, i.high]
        assert np.isfinite(numbers).all()


def test_a_constant_reward_without_noise_gives_no_slope() -> None:
    steps = np.arange(1.0, 101)
    fitted = identifiability.fit(Points(steps, np.exp(-steps / 50), np.full(100, 0.5)))
    assert fitted.line is not None
    assert fitted.line.a == pytest.approx(0, abs=1e-12)
    assert fitted.ols is not None
    assert fitted.ols.r2 == 0


def test_least_squares_of_three_points_on_a_line_in_exp_h() -> None:
    entropy = np.log([1.0, 2.0, 3.0])
    fitted = identifiability.fit(Points(np.arange(1.0, 4), entropy, np.array([0.9, 0.7, 0.5])))
    assert fitted.ols is not None
    assert (fitted.ols.a, fitted.ols.b, fitted.ols.r2) == pytest.approx((0.2, 1.1, 1.0))


def test_no_noise_means_every_point_counts() -> None:
    log = synthetic.lawful(1, 200, NONE)
    exact = identifiability.fit(Points(log.steps, log.entropy, synthetic.law(log.entropy)))
    assert exact.spread is not None
    assert exact.spread.n_eff == 200
