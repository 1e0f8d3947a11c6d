"""The share of seeds that follow the law, with seeds of which nobody knows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.law.population import between_seeds
from harness.law.results import VERDICTS
from tests.present import present


def exact(count: int, n: int) -> tuple[float, float]:
    limits = stats.binomtest(count, n).proportion_ci(0.95, "exact")
    return limits.low, limits.high


def test_decided_seeds_have_the_exact_interval_of_a_share() -> None:
    told = between_seeds.share_following(
        ["holds", "holds_until_onset", "holds_form_open", "fails", "linear"]
    )
    share = present(told.share)
    assert (told.followers, told.others, told.undetermined) == (3, 2, 0)
    assert share.value == pytest.approx(0.6)
    assert (share.low, share.high) == pytest.approx(exact(3, 5))
    assert told.share == told.decided


def test_an_undetermined_seed_is_read_both_ways() -> None:
    told = between_seeds.share_following(["holds", "holds", "holds", "undetermined", None])
    share, decided = present(told.share), present(told.decided)
    assert (told.followers, told.others, told.undetermined) == (3, 0, 2)
    assert share.value == 1
    assert share.low == pytest.approx(exact(3, 5)[0])
    assert share.high == 1
    assert decided.low == pytest.approx(exact(3, 3)[0])


def test_where_nothing_is_decided_there_is_no_share() -> None:
    told = between_seeds.share_following(["undetermined", "undetermined"])
    assert (told.share, told.decided, told.why, told.undetermined) == (None, None, "no_law", 2)
    assert between_seeds.share_following([]).why == "no_run"


@given(st.lists(st.sampled_from([*VERDICTS, None]), min_size=1, max_size=30))
def test_the_interval_holds_the_share_and_that_of_the_decided(verdicts: list[str | None]) -> None:
    told = between_seeds.share_following(verdicts)
    assert told.followers + told.others + told.undetermined == len(verdicts)
    if told.share is not None:
        assert 0 <= told.share.low <= told.share.value <= told.share.high <= 1
