"""Power in closed form, by made studies, and by the functions that decide real ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from harness.law.results import Interval
from harness.planning import power, search, sizes
from harness.planning.costs import RunSize
from harness.planning.pilot import PilotLevel
from harness.planning.power import PairDraws
from harness.planning.simulated_studies import SimulatedStudies
from harness.planning.spread import DRAWS, SeedSpread, SeedSpreads
from harness.planning.task import DecisionRule, PlanningTask
from tests.planning.made import level, pilot, task

WELCH = DecisionRule("gain", ((1, 0),))


def drawn(difference: float, *variances: float) -> PairDraws:
    return PairDraws(
        0, difference, tuple(np.full(DRAWS, v) for v in variances), (1.0,) * len(variances)
    )


def test_one_quantity_of_two_levels_is_decided_by_welch() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        later, baseline = rng.normal(0.03, 0.02, 6), rng.normal(0.0, 0.05, 6)
        runs = [[Interval(float(v), -np.inf, np.inf) for v in of] for of in (baseline, later)]
        p = stats.ttest_ind(later, baseline, equal_var=False).pvalue
        sign = np.sign(later.mean() - baseline.mean())
        assert WELCH.decided(runs, 0) == (sign if p < 0.05 else 0)


def test_a_link_is_decided_by_the_pairs() -> None:
    rng, rule = np.random.default_rng(2), DecisionRule("final_reward", ((1, 0),), paired=True)
    for _ in range(200):
        baseline = rng.normal(0.0, 0.1, 6)
        later = baseline + rng.normal(0.02, 0.02, 6)
        runs = [[Interval(float(v), -np.inf, np.inf) for v in of] for of in (baseline, later)]
        p = stats.ttest_rel(later, baseline).pvalue
        sign = np.sign(later.mean() - baseline.mean())
        assert rule.decided(runs, 0) == (sign if p < 0.05 else 0)


def test_other_quantities_leave_a_part_of_the_error() -> None:
    assert DecisionRule("gain", ((1, 0),)).comparisons == 1
    assert DecisionRule("ceiling", ((1, 0),), ("gain", "fall")).comparisons == pytest.approx(
        1 / 0.6
    )
    assert DecisionRule("gain", ((1, 0),), ("ceiling", "fall")).comparisons == pytest.approx(5)
    three = ((1, 0), (2, 0), (2, 1))
    assert DecisionRule("gain", three, ("ceiling", "fall")).comparisons == pytest.approx(15)


def test_the_closed_form_is_near_what_made_studies_decide() -> None:
    made = SimulatedStudies(WELCH, 2)
    for seeds, spread in ((4, 0.02), (8, 0.03), (15, 0.06)):
        pair = drawn(0.05, spread**2, spread**2)
        closed = float(power.closed_form_power(WELCH, pair, np.array([float(seeds)]))[0, 0])
        assert made.power(pair, seeds).value == pytest.approx(closed, abs=0.06)


@given(spread=st.floats(0.005, 0.2), ratio=st.floats(0.2, 5.0), difference=st.floats(0.02, 0.3))
def test_more_seeds_and_larger_differences_never_lose_power(
    spread: float, ratio: float, difference: float
) -> None:
    pair = drawn(difference, spread**2, (ratio * spread) ** 2)
    seeds = np.arange(3.0, 60.0)
    each = power.closed_form_power(WELCH, pair, seeds)[0]
    assert (np.diff(each) >= -1e-9).all()
    assert (
        power.closed_form_power(WELCH, search.scale_difference(pair, 1.5), seeds)[0] >= each - 1e-9
    ).all()


@given(spread=st.floats(0.005, 0.1), wanted=st.floats(0.6, 0.95))
def test_the_size_is_the_fewest_seeds_with_the_power(spread: float, wanted: float) -> None:
    pair = drawn(0.05, spread**2, spread**2)
    seeds = power.size(WELCH, pair, wanted)
    if seeds is None:
        assert power.closed_form_power(WELCH, pair, np.array([float(power.MOST)])).mean() < wanted
        return
    reached = power.closed_form_power(WELCH, pair, np.array([seeds, seeds - 1.0]))[0]
    assert reached[0] >= wanted
    assert seeds == power.FEWEST or reached[1] < wanted


def test_a_pilot_that_hardly_tells_the_spread_asks_for_more_seeds() -> None:
    sizes = []
    for seeds in (3, 5, 20):
        found = search.plan(*_planned(seeds))
        assert isinstance(found, search.PlannedDesign)
        assert found.seeds_low is not None
        assert found.seeds_low <= found.design.seeds <= (found.seeds_high or power.MOST)
        sizes.append(found.design.seeds)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def _planned(seeds: int) -> tuple[PlanningTask, SimulatedStudies]:
    made = task(pilot(level(seeds=seeds), level(0.3, seeds=seeds)))
    return made, search.simulated_studies(made, 200)


def test_both_variances_of_a_pair_are_as_sure_as_satterthwaite_says() -> None:
    alike = search.draw_pairs(*_sized(level(seeds=5), level(0.3, seeds=5)))
    assert not isinstance(alike, str)
    factors = alike[0].variances[0] / 0.02**2
    quantiles = (np.arange(len(factors)) + 0.5) / len(factors)
    assert np.allclose(factors, 8 / special.chdtri(8, 1 - quantiles))


@given(st.lists(st.floats(0.005, 0.1), min_size=2, max_size=2))
def test_two_levels_keep_their_own_variances(spreads: list[float]) -> None:
    each = tuple(SeedSpread(value**2, 4) for value in spreads)
    moderated, df = SeedSpreads(each).moderated((1, 0))
    assert [one.variance for one in moderated] == pytest.approx([one.variance for one in each])
    total = sum(one.variance for one in each)
    assert df == pytest.approx(total**2 / sum(one.variance**2 / 4 for one in each))


def test_more_levels_tell_of_each_others_spread() -> None:
    each = (SeedSpread(0.001, 2), SeedSpread(0.0001, 2), SeedSpread(0.0003, 2))
    moderated, df = SeedSpreads(each).moderated((1, 0))
    assert 0.0001 < moderated[1].variance < moderated[2].variance < moderated[0].variance < 0.001
    assert 4 < df <= 6


def _sized(*levels: PilotLevel) -> tuple[PlanningTask, RunSize]:
    made = task(pilot(*levels))
    return made, sizes.own_size(made)


def test_more_users_take_off_the_evaluations_part_alone() -> None:
    per_user = 0.015**2 * 64
    levels = (level(mean, seeds=400, per_user=per_user) for mean in (0.4, 0.3))
    made, own = _sized(*levels)
    for users, variance in ((256, 0.02**2 - 0.75 * 0.015**2), (16, 0.02**2 + 3 * 0.015**2)):
        pairs = search.draw_pairs(replace(made, known=True), replace(own, users=users))
        assert not isinstance(pairs, str)
        assert pairs[0].variances[0] == pytest.approx(variance)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("known_share", [1.0, 0.7])
@pytest.mark.parametrize("levels", [2, 3, 5])
def test_all_studies_at_once_are_decided_as_each_by_the_rule(
    paired: bool, known_share: float, levels: int
) -> None:
    pairs = tuple((later, one) for one, later in combinations(range(levels), 2))
    rule = DecisionRule("gain", pairs, () if paired else ("ceiling", "fall"), paired)
    made = SimulatedStudies(rule, levels, studies=100)
    wide = np.linspace(0.01, 0.06, DRAWS) ** 2
    variances = (wide, wide / 4, wide[::-1], wide * 2, wide / 100)
    units = len(pairs) if paired else levels
    each = tuple(variances[place % len(variances)] for place in range(units))
    pair = PairDraws(0, 0.07, each, (known_share,) * units)
    found = []
    for seeds in (3, 7):
        found += (every := made._are_decided(pair, seeds).tolist())
        assert every == [made._is_decided(pair, seeds, number) for number in range(made.studies)]
    assert 10 < sum(found) < 190, "studies of both kinds are held against each other"


def test_three_levels_are_decided_as_contrasts_decide_them() -> None:
    made = task(pilot(level(0.5), level(0.45), level(0.4), tested=("ceiling", "gain")), "gain=0.08")
    assert len(made.rule.pairs) == 3
    assert made.rule.comparisons == pytest.approx(3 / 0.4)
    found = search.plan(made, search.simulated_studies(made, 100))
    assert isinstance(found, search.PlannedDesign)
    assert found.power.value >= 0.8


def test_runs_without_the_quantity_make_the_study_larger() -> None:
    whole = level(seeds=8)
    some = replace(
        whole, values={"gain": {600: (*whole.values["gain"][600][:5], None, None, None)}}
    )
    other = level(0.3, seeds=8)
    other = replace(other, values={"gain": {600: other.values["gain"][600]}})
    full = replace(whole, values={"gain": {600: whole.values["gain"][600]}})
    sizes = []
    for one in (full, some):
        made = task(pilot(one, other))
        found = search.plan(made, search.simulated_studies(made, 200))
        assert isinstance(found, search.PlannedDesign)
        sizes.append(found.design.seeds)
    assert sizes[1] > sizes[0]


def test_what_no_study_decides_is_out_of_reach_and_says_what_is_in_reach() -> None:
    made = task(pilot(level(), level(0.3)), "gain=0.001")
    found = search.plan(made, search.simulated_studies(made, 50))
    assert isinstance(found, search.OutOfReach)
    assert found.least is not None
    reached = task(pilot(level(), level(0.3)), f"gain={found.least:.6f}")
    assert isinstance(search.cheapest(reached), search.Design)
