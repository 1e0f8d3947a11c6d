"""Shares over users: known intervals, what bounds them, and how often they hold the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from harness.probes.over_users import NOT_MEASURED, Parts, ProbeEstimate, ratio
from harness.probes.shares import share, share_change
from tests.present import present

SHARES = st.lists(
    st.integers(1, 20).flatmap(
        lambda n: st.tuples(st.integers(0, n).map(float), st.just(float(n)))
    ),
    min_size=3,
    max_size=30,
)


def answers(hits: int, of: int) -> Parts:
    return [(float(n < hits), 1.0) for n in range(of)]


def test_rewards_whose_users_are_alike_are_as_sure_as_students_interval() -> None:
    rng = np.random.default_rng(5)
    rewards = [(float(r), 1.0) for r in rng.normal(0.6, 0.02, 60)]
    assert bounds(share(rewards)) == pytest.approx(bounds(ratio(rewards)), abs=1e-3)


def bounds(found: ProbeEstimate) -> tuple[float, float]:
    return present(found.low), present(found.high)


def test_with_one_answer_of_many_users_it_is_clopper_and_pearsons_interval() -> None:
    expected = binomtest(30, 4000).proportion_ci(method="exact")
    found = share(answers(30, 4000))
    assert found.value == 30 / 4000
    assert bounds(found) == pytest.approx((expected.low, expected.high), rel=2e-3)


def test_answers_of_one_user_count_by_what_users_differ() -> None:
    """All of a user's eight answers alike: they are one. Each user like the rest: all of them."""
    alike = [(8.0 * (n < 8), 8.0) for n in range(40)]
    assert bounds(share(alike)) == pytest.approx(bounds(share(answers(8, 40))))
    rng = np.random.default_rng(4)
    mixed = [(float(hits), 8.0) for hits in rng.binomial(8, 0.2, 400)]
    low, high = bounds(share(mixed))
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.2 * 0.8 / 3200), rel=0.15)


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0.0, 0.019), (200, 0.981, 1.0)])
def test_what_was_never_or_always_seen_has_a_width(hits: int, low: float, high: float) -> None:
    assert bounds(share(answers(hits, 200))) == pytest.approx((low, high), abs=1e-3)
    assert bounds(ratio(answers(hits, 200))) == (hits / 200, hits / 200)


@given(SHARES)
def test_an_interval_holds_its_share_and_stays_within_0_and_1(parts: Parts) -> None:
    found = share(parts)
    low, high = bounds(found)
    assert 0 <= low <= present(found.value) <= high <= 1
    assert low < high
    assert found.value == ratio(parts).value


@given(SHARES, st.randoms())
def test_a_change_holds_what_it_is_and_is_the_other_way_round_backwards(
    before: Parts, random: object
) -> None:
    after = [(below - above, below) for above, below in before]
    forth, back = share_change(before, after), share_change(after, before)
    low, high = bounds(forth)
    assert -1 <= low <= present(forth.value) <= high <= 1
    assert bounds(back) == pytest.approx((-high, -low), abs=1e-12)


def test_users_without_an_answer_of_one_policy_do_not_make_its_share_surer() -> None:
    """Of 64 users three have an answer of the policy: its share may be nearly anything."""
    never, seldom = [(0.0, 1.0)] * 64, [(0.0, 1.0)] * 3 + [(0.0, 0.0)] * 61
    changed, alone = share_change(never, seldom), share(seldom)
    assert present(alone.high) > 0.8
    assert present(changed.high) == pytest.approx(present(alone.high), abs=0.01)


def test_too_few_users_and_a_share_beyond_one_are_refused() -> None:
    assert share([(1.0, 1.0), (0.0, 0.0), (1.0, 2.0)]) == NOT_MEASURED
    assert share_change(answers(1, 3), [(0.0, 0.0)] * 3) == NOT_MEASURED
    with pytest.raises(ValueError, match="the share of a user must be within 0 and the whole"):
        share([(2.0, 1.0), (0.0, 1.0), (1.0, 1.0)])


def test_a_percentage_is_a_share_of_a_hundred() -> None:
    percent = [(100 * above, below) for above, below in answers(3, 40)]
    own, of_hundred = share(answers(3, 40)), share(percent, 100.0)
    assert of_hundred.value == pytest.approx(7.5)
    assert bounds(of_hundred) == pytest.approx(tuple(100 * end for end in bounds(own)))
    changed = share_change(percent, [*reversed(percent)], 100.0)
    assert changed.value == 0


SAMPLES = 1000


@pytest.mark.parametrize("p", [0.005, 0.02, 0.15, 0.5])
def test_intervals_hold_the_truth_also_of_what_is_rare(p: float) -> None:
    rng = np.random.default_rng(2_031)
    counts = rng.binomial(200, p, SAMPLES)
    held = {int(hits): share(answers(int(hits), 200)).holds(p) for hits in {*counts.tolist()}}
    assert np.mean([held[int(hits)] for hits in counts]) > 0.94


@pytest.mark.parametrize(("then", "now"), [(0.15, 0.01), (0.02, 0.02), (0.2, 0.25)])
def test_changes_hold_the_truth_of_items_that_are_unlike(then: float, now: float) -> None:
    """Whether an item is taken up depends on the item, so that both policies' answers go along."""
    rng = np.random.default_rng(2_032)
    held = 0
    for _ in range(SAMPLES):
        ease = rng.beta(0.5, 0.5, 200) * 2  # of mean 1
        before, after = (rng.random(200) < np.minimum(1, p * ease) for p in (then, now))
        was, then_is = ([(float(hit), 1.0) for hit in hits] for hits in (before, after))
        held += share_change(was, then_is).holds(now - then)
    assert held / SAMPLES > 0.94
