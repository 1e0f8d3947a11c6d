"""One primary quantity, the others on what is left: by hand, and how often all of it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError
from harness.law.compare import families
from harness.law.compare.quantities import CONTRASTED


def test_the_primary_quantity_has_three_fifths_and_holm_over_its_pairs() -> None:
    found = families.adjust_families({"ceiling": [0.01, 0.5], "gain": [0.2], "fall": [0.001]})
    assert found["ceiling"].primary
    assert found["ceiling"].p == pytest.approx((2 * 0.01 / 0.6, 0.5 / 0.6))
    assert found["ceiling"].first == pytest.approx(2 / 0.6)
    assert [found[name].primary for name in ("gain", "fall")] == [False, False]
    assert found["fall"].p == pytest.approx((0.001 / 0.2,))


def test_the_quantity_that_is_named_is_primary_where_it_can_be_tested() -> None:
    p = {"ceiling": [0.5], "gain": [0.02], "fall": []}
    found = families.adjust_families(p, "gain")
    assert found["gain"].primary
    assert found["gain"].p == pytest.approx((0.02 / 0.6,))
    assert not found["ceiling"].primary
    assert families.adjust_families(p, "fall") == families.adjust_families(p), "the usual one, else"
    with pytest.raises(ConfigError, match=r"--primary: .*ceiling, gain.*got 'reward'"):
        families.check_primary("reward")


def test_a_quantity_that_is_decided_hands_its_part_to_the_other_secondary_ones_first() -> None:
    open_primary = families.adjust_families({"ceiling": [0.5], "gain": [0.2], "fall": [0.001]})
    assert open_primary["gain"].p == pytest.approx((0.2 / 0.4,))
    assert open_primary["ceiling"].p == pytest.approx((0.5 / 0.6,))
    both = families.adjust_families({"ceiling": [0.5], "gain": [0.001], "fall": [0.001]})
    assert both["ceiling"].p == pytest.approx((0.5,))


def test_a_primary_that_is_decided_in_all_pairs_opens_the_gate_for_the_others() -> None:
    shut = families.adjust_families({"ceiling": [0.001, 0.2], "fall": [0.02, 0.02], "onset": [0.9]})
    opened = families.adjust_families(
        {"ceiling": [0.001, 0.002], "fall": [0.02, 0.02], "onset": [0.9]}
    )
    assert min(shut["fall"].p) > 0.05
    assert opened["fall"].p == pytest.approx((2 * 0.02 / 0.5,) * 2)


@pytest.mark.parametrize(
    ("tested", "primary"),
    [(CONTRASTED, "ceiling"), (("a", "gain", "fall"), "gain"), (("onset", "fall"), "fall")],
)
def test_primary_is_the_first_that_can_be_tested(tested: tuple[str, ...], primary: str) -> None:
    found = families.adjust_families({name: [0.5] * (name in tested) for name in CONTRASTED})
    assert [name for name, family in found.items() if family.primary] == [primary]
    assert {name for name, family in found.items() if family.p} == set(tested)


def test_every_quantity_of_a_contrast_has_its_place_in_the_order() -> None:
    assert sorted(families.PRIMARY) == sorted(CONTRASTED)


def test_one_quantity_alone_is_plain_holm() -> None:
    found = families.adjust_families({"ceiling": [0.02, 0.03], "a": []})
    assert found["ceiling"].p == pytest.approx((0.04, 0.04))
    assert found["a"].p == ()


@given(
    st.dictionaries(st.sampled_from(CONTRASTED), st.lists(st.floats(0, 1), max_size=4), min_size=1)
)
def test_adjusting_only_raises_p(of_quantity: dict[str, list[float]]) -> None:
    found = families.adjust_families(of_quantity)
    for name, p in of_quantity.items():
        assert all(a >= min(1.0, raw) for a, raw in zip(found[name].p, p, strict=True))


def test_where_nothing_differs_an_analysis_decides_anything_in_one_of_twenty() -> None:
    rng, trials = np.random.default_rng(3), 4000
    wrong = {"any": 0, "primary": 0}
    for _ in range(trials):
        found = families.adjust_families({name: list(rng.random(3)) for name in CONTRASTED})
        wrong["any"] += any(p < 0.05 for family in found.values() for p in family.p)
        wrong["primary"] += min(found["ceiling"].p) < 0.05
    assert wrong["any"] / trials < 0.058
    assert wrong["primary"] / trials < 0.036
