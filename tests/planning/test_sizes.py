"""Evaluations of another size than the pilot's, differences beyond any size, shorter runs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from harness.planning import lengths, search, settings, sizes, unclear
from harness.planning.costs import RunSize
from harness.planning.search import OutOfReach
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


@pytest.mark.parametrize(
    ("spread", "wanted"),
    [
        (0.1745, 0.8),
        (0.15, 0.892),
    ],  # closed form and simulated studies fall short; the latter alone
)
def test_what_most_seeds_would_decide_is_told_as_more_than_what_they_do_not(
    spread: float, wanted: float
) -> None:
    pilot = made.pilot(made.level(0.4, spread, 20), made.level(0.3, 1.01 * spread, 20))
    task = replace(made.task(pilot), wanted=wanted)
    found = search.plan(task, search.simulated_studies(task))
    assert isinstance(found, OutOfReach)
    sentence = unclear.out_of_reach(task, found)
    told = re.fullmatch(r"200 seeds a level would decide gain=(.+), not gain=0.05", sentence)
    assert told is not None
    assert 0.05 < float(told[1]) < 0.052


@pytest.mark.parametrize(
    ("words", "steps", "why"),
    [
        (("remedy=entrocraft",), None, "remedy entrocraft changes over the length of the run"),
        (("algorithm=reptile",), 4, None),
        (("remedy=clip_b",), 1, None),
    ],
)
def test_a_shorter_run_is_one_that_the_pilots_first_steps_are_like_and_that_can_be_made(
    words: tuple[str, ...], steps: int | None, why: str | None
) -> None:
    configs = settings.parse_levels((*made.WORDS, *words)).configs
    pilot = made.pilot(made.level(0.4, early=0.9), made.level(0.3, early=0.9))
    task = replace(made.task(pilot), configs=configs)
    shorter = lengths.lengths(task)[1:]
    assert lengths.why_length(task) == why
    assert shorter == [n for n in reversed(made.CUTS[:-1]) if steps and n % steps == 0]
