"""Components of variance of outcomes whose components are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.law.results import Floats
from harness.law.variance import components
from harness.law.variance.components import REPEAT, REST, SEED, SEED_USER, USER
from tests.present import present

SD = {SEED: 0.1, USER: 0.17, REPEAT: 0.2, SEED_USER: 0.1, REST: 0.15}


def drawn(rng: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    seeds, users, repeats = shape
    parts = {
        SEED: (seeds, 1, 1), USER: (1, users, 1), REPEAT: (1, users, repeats),
        SEED_USER: (seeds, users, 1), REST: shape,
    }  # fmt: skip
    total = np.zeros(shape)
    for name, part in parts.items():
        total += SD[name] * rng.normal(size=part)
    return total


def test_mean_squares_are_those_of_a_table_by_hand() -> None:
    """Two seeds, two users, two repeats; sums of squares by hand."""
    outcomes = np.array([[[1.0, 3.0], [2.0, 2.0]], [[5.0, 3.0], [4.0, 8.0]]])
    # means: seeds 2, 5; users 3, 4; cells 2 2 / 4 6; repeats 3 3 / 3 5; all 3.5
    # squares: seed 18 (1), user 2 (1), crossed 2 (1), repeat in user 4 (2), rest
    # total 40 - 28 = 12 - ... : 37.5 = 8 values about 3.5
    total = float(((outcomes - 3.5) ** 2).sum())
    rest = total - 18 - 2 - 2 - 4
    found = components.from_crossed_outcomes(outcomes)
    square = {SEED: 18.0, USER: 2.0, SEED_USER: 2.0, REPEAT: 4 / 2, REST: rest / 2}
    assert found[REST].value == pytest.approx(square[REST])
    assert found[SEED].value == pytest.approx((square[SEED] - square[SEED_USER]) / 4)
    assert found[REPEAT].value == max(0.0, (square[REPEAT] - square[REST]) / 2)
    assert found[SEED_USER].value == max(0.0, (square[SEED_USER] - square[REST]) / 2)
    user = (square[USER] - square[SEED_USER] - square[REPEAT] + square[REST]) / 4
    assert found[USER].value == pytest.approx(max(0.0, user))


@pytest.mark.parametrize("shape", [(6, 20, 3), (6, 30, 1)])
def test_estimates_are_unbiased(shape: tuple[int, int, int]) -> None:
    """Where none is near 0; the mean over draws lies within 4 standard errors."""
    known = {name: sd**2 for name, sd in SD.items()}
    if shape[2] == 1:
        known[USER] += known.pop(REPEAT)
        known[SEED_USER] += known.pop(REST)
    values: dict[str, list[float]] = {name: [] for name in known}
    for n in range(200):
        squares = components.mean_squares(drawn(np.random.default_rng(n), shape))
        weights = components.weights_of(*shape)
        for name in known:
            terms = weights[name].items()
            values[name].append(sum(w * squares[square].value for square, w in terms))
    for name, of in values.items():
        assert np.mean(of) == pytest.approx(known[name], abs=4 * np.std(of) / len(of) ** 0.5), name


def test_a_user_without_chance_has_no_spread_within() -> None:
    users = np.linspace(0.2, 0.8, 16)
    outcomes = np.broadcast_to(users[None, :, None], (4, 16, 4))
    found = components.from_crossed_outcomes(outcomes)
    assert {name: round(part.value, 12) for name, part in found.items() if name != USER} == {
        SEED: 0.0, SEED_USER: 0.0, REPEAT: 0.0, REST: 0.0,
    }  # fmt: skip
    assert found[USER].value == pytest.approx(users.var(ddof=1))


def test_the_same_data_give_the_same_interval() -> None:
    outcomes = drawn(np.random.default_rng(1), (4, 16, 2))
    one, two = (components.from_crossed_outcomes(outcomes)[SEED].interval() for _ in range(2))
    assert one == two
    assert 0 <= one.low <= one.value <= one.high


def test_more_arms_tell_no_more_of_users_whom_all_of_them_meet() -> None:
    table = drawn(np.random.default_rng(2), (5, 32, 4))
    one, many = (
        components.from_crossed_outcomes(table),
        components.from_crossed_outcomes(*[table] * 8),
    )
    for name, part in one.items():
        assert many[name].value == pytest.approx(part.value), name
    assert _width(many[USER]) > 0.9 * _width(one[USER])
    assert _width(many[REPEAT]) > 0.9 * _width(one[REPEAT])
    assert _width(many[SEED]) < 0.5 * _width(one[SEED])


def _width(part: components.ComponentDraws) -> float:
    interval = part.interval()
    return interval.high - interval.low


def test_intervals_over_several_arms_hold_a_small_component() -> None:
    """Each arm's estimate of it is 0 in many tables: held at 0 arm by arm, the mean is too high."""
    sd, held, total = 0.03, 0, 0.0
    for n in range(20):
        rng = np.random.default_rng(n)
        common = rng.normal(0, 0.17, (1, 32, 1))
        arms = [
            common + rng.normal(0, sd, (5, 1, 1)) + rng.normal(0, 0.3, (5, 32, 1)) for _ in range(8)
        ]
        found = components.from_crossed_outcomes(*arms)[SEED]
        interval = found.interval()
        held += interval.low <= sd**2 <= interval.high
        total += found.value / 20
    assert held >= 18
    assert total == pytest.approx(sd**2, rel=0.25)


@pytest.mark.parametrize("shape", [(1, 8, 2), (3, 1, 2), (3, 8, 0)])
def test_too_little_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="two seeds and users at least"):
        components.from_crossed_outcomes(np.zeros(shape))


def test_arms_that_differ_have_the_variance_of_their_means() -> None:
    apart = components.among_means([[(0.8, 0.01, 10), (0.5, 0.01, 10), (0.2, 0.01, 10)]])
    assert apart is not None
    assert apart.value == pytest.approx(0.09 - 1e-4)
    interval = apart.interval()
    assert interval.low < 0.09 < interval.high
    assert interval.high < 0.2
    alike = components.among_means([[(0.500, 0.01, 10), (0.502, 0.01, 10), (0.498, 0.01, 10)]])
    assert alike is not None
    assert (alike.value, alike.interval().low) == (0.0, 0.0)
    assert components.among_means([[(0.5, 0.01, 10)], [(0.4, 0.01, 10)]]) is None
    assert components.among_means([[(0.5, 0.0, 1), (0.4, 0.0, 1)]]) is None


@pytest.mark.parametrize("error", [1e-2, 2e-3, 1e-4, 1e-6])
def test_means_far_beyond_their_noise_have_the_interval_of_any_large_f(error: float) -> None:
    """Its ends, as shares of the variance, tend to those of chi-squared / 6 for 6 df of noise."""
    found = present(components.among_means([[(mean, error, 3) for mean in (0.2, 0.5, 0.8)]]))
    interval = found.interval()
    ends = [interval.low / found.value, interval.high / found.value]
    assert ends == pytest.approx(list(stats.chi2(6).ppf([0.025, 0.975]) / 6), abs=0.01)


@pytest.mark.slow
def test_intervals_cover() -> None:
    """1000 tables, seeds on which nothing was tuned: 95% within 3 standard errors of a share."""
    held = dict.fromkeys(SD, 0)
    for n in range(1000):
        found = components.from_crossed_outcomes(
            drawn(np.random.default_rng(5_000_000 + n), (5, 32, 4))
        )
        for name, part in found.items():
            interval = part.interval()
            held[name] += interval.low <= SD[name] ** 2 <= interval.high
    assert all(0.93 <= count / 1000 <= 0.985 for count in held.values()), held
