"""Evaluations of another size than the pilot's."""

from __future__ import annotations

import pytest

from harness.planning import search, sizes
from harness.planning.costs import RunSize
from tests.planning import made


@pytest.mark.parametrize("repeats", [1, 2])
def test_fewer_users_cost_precision_also_with_repeats_that_the_pilot_lacks(repeats: int) -> None:
    pilot = made.pilot(*(made.level(mean, per_user=0.02) for mean in (0.4, 0.3)))
    task = made.task(pilot, typed=("eval.repeats",))
    own = sizes.own_size(task)
    fewer = RunSize(own.steps, own.evaluations, own.users // 4, repeats)
    planned, smaller = (search.draw_pairs(task, size) for size in (own, fewer))
    assert not isinstance(planned, str)
    assert not isinstance(smaller, str)
    for before, after in zip(planned[0].variances, smaller[0].variances, strict=True):
        assert after.mean() > 1.5 * before.mean()
