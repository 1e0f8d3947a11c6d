"""Variances over seeds that moderate each other: against the formula, and what it is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from scipy import special

from harness.law.compare import claims, moderation, random_effects
from harness.law.compare.moderation import GroupMean
from harness.law.compare.random_effects import MeanDifference
from tests.present import present

SPREAD = 0.02


def drawn(rng: Generator, spreads: list[float], seeds: int = 3) -> list[GroupMean]:
    """A mean for each group, of seeds around 0."""
    means = []
    for place, spread in enumerate(spreads):
        mean = random_effects.mean(random_effects.unweighted(list(rng.normal(0, spread, seeds))))
        means.append(GroupMean(place, present(mean), seeds))
    return means


def differences(means: list[GroupMean]) -> list[MeanDifference]:
    """Of each later group and each earlier one."""
    prior = moderation.prior(means)
    found = [prior.difference(a, b) for i, b in enumerate(means) for a in means[i + 1 :]]
    return [present(difference) for difference in found]


@given(st.floats(1e-3, 1e3))
def test_the_inverse_of_trigamma_is_its_inverse(value: float) -> None:
    assert special.polygamma(1, moderation.trigamma_inverse(value)) == pytest.approx(value)


@pytest.mark.parametrize("weight", [3.0, 12.0])
def test_the_prior_that_variances_were_drawn_from_is_found(weight: float) -> None:
    rng = np.random.default_rng(int(weight))
    sigma = SPREAD * np.sqrt(weight / rng.chisquare(weight, 4000))
    prior = moderation.prior(drawn(rng, list(sigma), seeds=6))
    assert prior.weight == pytest.approx(weight, rel=0.25)
    assert prior.variance == pytest.approx(SPREAD**2, rel=0.1)


def test_a_moderated_variance_is_the_mean_of_both_by_their_degrees_of_freedom() -> None:
    prior = moderation.Prior({}, {}, variance=4.0, weight=6.0)
    assert prior.moderated(1.0, df=2.0, limit=math.inf) == pytest.approx((6 * 4 + 2 * 1) / 8)
    assert prior.moderated(1.0, df=2.0, limit=2.0) == pytest.approx((2 * 4 + 2 * 1) / 4)


def test_two_groups_alone_have_nobody_to_borrow_from_and_are_told_by_welchs_test() -> None:
    values = ([0.31, 0.42, 0.39], [0.5, 0.71, 0.66, 0.9])
    samples = [random_effects.unweighted(list(v)) for v in values]
    means = [
        GroupMean(place, present(random_effects.mean(s)), len(s)) for place, s in enumerate(samples)
    ]
    found = present(moderation.prior(means).difference(means[1], means[0]))
    known = present(random_effects.difference(samples[1], samples[0]))
    assert (found.value, found.error, found.df) == pytest.approx(
        (known.value, known.error, known.df)
    )
    assert found.spreads == pytest.approx(known.spreads)


def test_groups_that_spread_alike_lend_each_other_degrees_of_freedom() -> None:
    means = drawn(np.random.default_rng(0), [SPREAD] * 40)
    found = differences(means)
    assert min(d.df for d in found) > 60
    assert np.mean([d.spreads[0] for d in found]) == pytest.approx(SPREAD, rel=0.1)


def test_a_group_that_spreads_unlike_the_others_keeps_its_own_variance() -> None:
    means = drawn(np.random.default_rng(1), [*[0.01] * 4, *[0.1] * 4], seeds=8)
    prior = moderation.prior(means)
    assert prior.weight < 5
    quiet = present(prior.difference(means[1], means[0]))
    loud = present(prior.difference(means[7], means[6]))
    assert quiet.error < 0.4 * loud.error


def test_moderation_finds_more_of_what_is_there_and_hardly_more_of_what_is_not() -> None:
    rng, trials = np.random.default_rng(2), 400
    hits = {"moderated": [0, 0], "welch": [0, 0]}
    for _ in range(trials):
        samples = [random_effects.unweighted(list(rng.normal(0, SPREAD, 3))) for _ in range(3)]
        moved = random_effects.unweighted([*(samples[2].values + 0.05)])
        for truth, of_groups in enumerate((samples, [*samples[:2], moved])):
            means = [
                GroupMean(place, present(random_effects.mean(s)), 3)
                for place, s in enumerate(of_groups)
            ]
            moderated = present(moderation.prior(means).difference(means[2], means[0]))
            welch = present(random_effects.difference(of_groups[2], of_groups[0]))
            hits["moderated"][truth] += claims.p_differs(moderated) < 0.05
            hits["welch"][truth] += claims.p_differs(welch) < 0.05
    assert hits["moderated"][0] <= 0.08 * trials
    assert hits["moderated"][1] > hits["welch"][1] + 0.05 * trials


@given(st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=5), min_size=2, max_size=5))
def test_a_difference_turns_its_sign_and_never_has_more_df_than_all_groups(
    of_groups: list[list[float]],
) -> None:
    means = [
        GroupMean(
            place, present(random_effects.mean(random_effects.unweighted(values))), len(values)
        )
        for place, values in enumerate(of_groups)
    ]
    prior = moderation.prior(means)
    found, back = prior.difference(means[0], means[1]), prior.difference(means[1], means[0])
    if found is None:
        assert back is None
        return
    assert present(back).value == -found.value
    assert present(back).error == pytest.approx(found.error)
    assert 0 < found.error < math.inf
    assert 0 < found.df <= sum(mean.estimate.df for mean in means) * (1 + 1e-9)


def test_without_any_spread_there_is_no_difference_to_tell() -> None:
    means = [
        GroupMean(place, present(random_effects.mean(random_effects.unweighted([value] * 3))), 3)
        for place, value in enumerate((0.25, 0.5, 1.0))
    ]
    assert moderation.prior(means).difference(means[0], means[1]) is None
