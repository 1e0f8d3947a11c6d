"""Components of a crossed table: known truths, drawn numbers, seeds that are missing."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from harness.law.compare import crossed, link_tests, links
from harness.law.compare.link_observations import LinkObservations
from harness.law.compare.worst_case import UNBOUNDED
from harness.law.results import Floats
from harness.records.study_file import FactorialTable, Link
from tests.present import present

TABLE = FactorialTable(
    "algorithm", "prior", tuple(tuple(f"a{i}_p{j}" for j in range(3)) for i in range(4))
)
MORE = Link("more", "final_reward", "prior", "algorithm", "more", 0.0025, crossed=TABLE)
Numbers = list[dict[int, float]]


def truth(algorithm: float, prior: float, both: float = 0.0) -> Floats:
    """Expected numbers whose standard deviations between levels are these, and of both `both`."""
    rows, columns = np.array([-1.0, 2.0, -2.0, 1.0]), np.array([-1.0, 2.0, -1.0])
    only_both = np.outer(rows, [1.0, 0.0, -1.0])
    parts = [(rows[:, None], algorithm, 3), (columns[None], prior, 2), (only_both, both, 6)]
    return 0.5 + sum(
        (size * part / np.sqrt((part**2).sum() / free) for part, size, free in parts),
        np.zeros((4, 3)),
    )


def drawn(
    means: Floats, seeds: int, rng: np.random.Generator, noise: float = 0.04, shared: float = 0.03
) -> Numbers:
    """Runs of which those of a seed share a part of their noise, as runs with common draws do."""
    of_seed = shared * rng.normal(size=(seeds, 1, 1))
    cells = means + of_seed + noise * rng.normal(size=(seeds, *means.shape))
    return [dict(enumerate(of.tolist(), start=1)) for of in cells.reshape(seeds, -1).T]


def seen(numbers: Numbers) -> LinkObservations:
    whole = crossed.complete_seeds(numbers)
    names = MORE.named_arms
    return LinkObservations(
        MORE,
        crossed.differences(MORE, numbers),
        own=crossed.components(TABLE, numbers),
        of_arms={n: {s: of[s] for s in whole} for n, of in zip(names, numbers, strict=True)},
    )


def test_components_are_the_mean_products_of_effects_in_two_seeds() -> None:
    numbers = drawn(truth(0.05, 0.1, 0.02), 5, np.random.default_rng(1))
    cells = np.array([[of[s] for of in numbers] for s in range(1, 6)]).reshape(5, 4, 3)
    rows = cells.mean(axis=2) - cells.mean(axis=(1, 2))[:, None]
    columns = cells.mean(axis=1) - cells.mean(axis=(1, 2))[:, None]
    both = cells - rows[:, :, None] - columns[:, None] - cells.mean(axis=(1, 2))[:, None, None]

    def u(effects: Floats, free: int, of: list[int]) -> float:
        return float(
            np.mean([(effects[s] * effects[t]).sum() for s, t in combinations(of, 2)]) / free
        )

    found, every = crossed.components(TABLE, numbers), list(range(5))
    assert list(found) == ["algorithm", "prior", "algorithm x prior"]
    for values, effects, free in zip(found.values(), (rows, columns, both), (3, 2, 6), strict=True):
        whole = u(effects, free, every)
        assert np.mean([*values.values()]) == pytest.approx(whole)
        for seed in every:
            without = u(effects, free, [s for s in every if s != seed])
            assert values[seed + 1] == pytest.approx(5 * whole - 4 * without)


def test_without_noise_they_are_the_squares_that_were_put_in() -> None:
    numbers = drawn(truth(0.05, 0.1, 0.02), 3, np.random.default_rng(1), noise=0.0)
    means = {name: of[1] for name, of in crossed.components(TABLE, numbers).items()}
    assert means == pytest.approx({"algorithm": 0.0025, "prior": 0.01, "algorithm x prior": 0.0004})
    assert crossed.differences(MORE, numbers)[2] == pytest.approx(0.0075)


def rates(
    algorithm: float, prior: float, seeds: int, studies: int, noise: float = 0.04, **more: float
) -> tuple[float, float, float]:
    """How often the 95% interval holds the truth, lies above 0, and the mean estimate."""
    means, rng = truth(algorithm, prior, 0.02), np.random.default_rng([seeds, studies])
    holds = above = total = 0.0
    for _ in range(studies):
        numbers = drawn(means, seeds, rng, noise, **more)
        estimate = present(
            link_tests.paired_estimate([*crossed.differences(MORE, numbers).values()])
        )
        interval = estimate.interval()
        holds += interval.low <= prior**2 - algorithm**2 <= interval.high
        above += interval.low > 0
        total += estimate.value
    return holds / studies, above / studies, total / studies


@pytest.mark.parametrize(("algorithm", "prior", "seeds"), [(0.02, 0.1, 20), (0.05, 0.05, 5)])
def test_the_interval_holds_the_truth_in_95_of_100_studies(
    algorithm: float, prior: float, seeds: int
) -> None:
    holds, _, mean = rates(algorithm, prior, seeds, 1000)
    assert 0.93 <= holds <= 0.97
    assert mean == pytest.approx(prior**2 - algorithm**2, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
def test_at_any_number_of_seeds_and_size_of_both_factors(seeds: int) -> None:
    sizes = (0.03, 0.05, 0.1)
    for algorithm, prior in [*product(sizes, sizes), (0.0, 0.05), (0.05, 0.0)]:
        for shared in (0.0, 0.1):
            holds, above, mean = rates(algorithm, prior, seeds, 4000, shared=shared)
            assert 0.93 <= holds <= 0.97, (algorithm, prior, shared)
            assert mean == pytest.approx(prior**2 - algorithm**2, abs=2e-4)
            if algorithm >= prior:
                assert above < 0.025 + 3 * (0.025 * 0.975 / 4000) ** 0.5


def test_factors_that_matter_equally_are_seldom_told_apart() -> None:
    """In 2.5% of studies; the bound is three standard errors of 1,000 above."""
    for size in (0.05, 0.02, 0.0):
        _, above, _ = rates(size, size, 5, 1000)
        assert above < 0.025 + 3 * (0.025 * 0.975 / 1000) ** 0.5


def test_where_nothing_matters_the_interval_is_wider_than_need_be() -> None:
    """The products have no part that is linear in one seed, which is what the jackknife is for."""
    holds, above, _ = rates(0.0, 0.0, 20, 500)
    assert holds > 0.97
    assert above < 0.025


def test_a_link_is_judged_by_pseudo_values_as_by_pairs() -> None:
    rng = np.random.default_rng(3)
    (found,) = links.judge_links([seen(drawn(truth(0.02, 0.1), 10, rng))], ["more"])
    assert (found.verdict, found.pairs) == ("supported", 10)
    assert present(found.own["prior"]).value == pytest.approx(0.01, abs=0.003)
    (other,) = links.judge_links([seen(drawn(truth(0.1, 0.02), 10, rng))], ["more"])
    assert other.verdict == "contradicted"
    (same,) = links.judge_links([seen(drawn(truth(0.01, 0.01), 10, rng))], ["more"])
    assert (same.verdict, same.why) == ("no effect", "more by 0.0025 is ruled out, p <0.001")


def test_a_seed_that_one_arm_lacks_is_left_out_and_of_three_each_is_needed() -> None:
    numbers = drawn(truth(0.05, 0.1), 5, np.random.default_rng(2))
    del numbers[7][2]
    without = [{seed: value for seed, value in of.items() if seed != 2} for of in numbers]
    assert crossed.differences(MORE, numbers) == crossed.differences(MORE, without)
    assert sorted(crossed.differences(MORE, numbers)) == [1, 3, 4, 5]
    for arm, seed in ((0, 3), (1, 4)):
        del numbers[arm][seed]
    (found,) = links.judge_links([seen(numbers)], ["more"])
    why = "too few seeds with a number for every arm of the table: 2, and at least 3 are needed"
    assert (found.verdict, found.judged, found.why) == ("undecided", None, why)


@pytest.mark.parametrize("arm", ["prior", "algorithm"])
def test_a_run_that_diverged_bounds_its_seed_by_the_ends_of_its_range(arm: str) -> None:
    """The mean with it is exactly that of all seeds with the missing number at that end."""
    other = "algorithm" if arm == "prior" else "prior"
    link = Link("more", "final_reward", arm, other, "more", 0.0025, crossed=TABLE)
    whole = drawn(truth(0.05, 0.1), 6, np.random.default_rng(4))
    lacking = [dict(of) for of in whole]
    for number in (3, 8):
        del lacking[number][2]
    low, high = crossed.range_of(link, lacking, 2, (0.0, 1.0))
    means = []
    for ends in product((0.0, 1.0), repeat=2):
        for number, end in zip((3, 8), ends, strict=True):
            whole[number][2] = end
        means.append(float(np.mean([*crossed.differences(link, whole).values()])))
    known = [*crossed.differences(link, lacking).values()]
    assert np.mean([*known, low]) == pytest.approx(min(means))
    assert np.mean([*known, high]) == pytest.approx(max(means))
    assert crossed.range_of(link, lacking, 2, (0.0, np.inf)) == UNBOUNDED


def test_arms_that_gained_nothing_leave_open_what_is_alike() -> None:
    rng = np.random.default_rng(5)
    observed = seen(drawn(truth(0.01, 0.01), 10, rng))
    idle = {arm: [0.01 * float(g) for g in rng.normal(size=10)] for arm in MORE.named_arms}
    (found,) = links.judge_links([LinkObservations(**{**vars(observed), "gains": idle})], ["more"])
    why = "nothing was learnt: no arm gains 0.05 or more with an interval above 0"
    assert (found.verdict, found.why) == ("undecided", why)
