"""Compare the effects of two factors on a number, over a crossed table of arms.

Every level of one factor is trained with every level of the other. With x[i, j] the expected
number of the arm in row i and column j, the effects and the variance component of the rows are

    a_i = mean over j of x[i, j] - mean of x        sum of a_i^2 / (rows - 1)

and those of the columns likewise (Scheffe, The Analysis of Variance, 1959, chapter 4). Neither
contains the interaction. Levels are fixed: nothing is claimed about other levels.

A square of estimated effects is too large by their noise, so each square is the mean product of the
effects in two different seeds (a U-statistic, Hoeffding 1948). It is unbiased, even if the runs of
one seed share random draws. Each seed has a pseudo-value, seeds * U - (seeds - 1) * U without that
seed. Their mean is U, and their t interval is the jackknife's (Arvesen 1969, for U-statistics, with
variance components as an example). So a difference of two components is judged like the difference
of two arms, by one number per seed.

`law.variance` estimates components for arms with independent errors; here arms share seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.law.compare.worst_case import UNBOUNDED
from harness.law.results import Floats
from harness.records.study_file import FactorialTable, Link

FEWEST_SEEDS = 3
"""Leaving one out must leave two seeds to multiply."""
Numbers = Sequence[Mapping[int, float]]
"""For each arm, row by row: seed -> the number of its run."""


def complete_seeds(numbers: Numbers) -> list[int]:
    """Return the seeds that have a number in every arm."""
    return sorted(set.intersection(*(set(by_seed) for by_seed in numbers)))


def components(table: FactorialTable, numbers: Numbers) -> dict[str, dict[int, float]]:
    """Return factor (or `table.interaction`) -> seed -> pseudo-value of its component.

    Empty if fewer than three seeds have a number in every arm.
    """
    seeds = complete_seeds(numbers)
    if len(seeds) < FEWEST_SEEDS:
        return {}
    cells = _cells(table, numbers, seeds)
    rows, columns = _effects(cells)
    interaction = cells - cells.mean(axis=(1, 2), keepdims=True) - rows - columns
    row_df, column_df = cells.shape[1] - 1, cells.shape[2] - 1
    parts = {
        table.rows: pseudo_values(rows[:, :, 0], row_df),
        table.columns: pseudo_values(columns[:, 0, :], column_df),
        table.interaction: pseudo_values(interaction.reshape(len(seeds), -1), row_df * column_df),
    }
    return {
        name: {seed: float(value) for seed, value in zip(seeds, values, strict=True)}
        for name, values in parts.items()
    }


def parts(link: Link, numbers: Numbers) -> dict[str, dict[int, float]]:
    """Return the components, that of the link's arm first."""
    assert link.crossed is not None
    by_factor = components(link.crossed, numbers)
    return {name: by_factor[name] for name in sorted(by_factor, key=lambda name: name != link.arm)}


def differences(link: Link, numbers: Numbers) -> dict[int, float]:
    """Return seed -> pseudo-value of one factor's component minus that of the other factor."""
    assert link.crossed is not None
    assert link.against is not None
    by_factor = components(link.crossed, numbers)
    if not by_factor:
        return {}
    first, second = by_factor[link.arm], by_factor[link.against]
    return {seed: first[seed] - second[seed] for seed in first}


def pseudo_values(effects: Floats, df: int) -> Floats:
    """Return the pseudo-value of each seed, shape (seeds,).

    U is the mean over pairs of seeds of the product of their effects, summed over levels and
    divided by `df`. `effects` has shape (seeds, levels), with at least three seeds.
    """
    seeds = len(effects)
    products = effects @ effects.T / df
    with_others = products.sum(axis=1) - products.diagonal()
    total = with_others.sum()
    u = total / (seeds * (seeds - 1))
    u_without = (total - 2 * with_others) / ((seeds - 1) * (seeds - 2))
    return np.asarray(seeds * u - (seeds - 1) * u_without, float)


def range_of(
    link: Link, numbers: Numbers, seed: int, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return the range of a seed's pseudo-value if its missing numbers lie within `bounds`.

    The pseudo-value is linear in the seed's numbers, so the extremes put each missing number at an
    end of `bounds`. If only one seed is incomplete, the mean of the pseudo-values is the U of all
    seeds. The range is unbounded if `bounds` are, or below three complete seeds.
    """
    assert link.crossed is not None
    seeds = complete_seeds(numbers)
    if len(seeds) < FEWEST_SEEDS or not np.isfinite(bounds).all():
        return UNBOUNDED
    shape = len(link.crossed.arms), len(link.crossed.arms[0])
    rows, columns = _effects(_cells(link.crossed, numbers, seeds).mean(axis=0, keepdims=True))
    sign = 1.0 if link.arm == link.crossed.columns else -1.0
    slopes = 2 * sign * (columns / (shape[1] - 1) / shape[0] - rows / (shape[0] - 1) / shape[1])
    base = float(np.mean([*differences(link, numbers).values()]))
    low = high = -base
    for by_seed, slope in zip(numbers, slopes.ravel(), strict=True):
        ends = sorted(slope * end for end in ([by_seed[seed]] if seed in by_seed else bounds))
        low, high = low + float(ends[0]), high + float(ends[-1])
    return low, high


def _cells(table: FactorialTable, numbers: Numbers, seeds: Sequence[int]) -> Floats:
    """Return the numbers as an array of shape (seeds, rows, columns)."""
    values = np.array([[by_seed[seed] for by_seed in numbers] for seed in seeds], float)
    return values.reshape(len(seeds), len(table.arms), -1)


def _effects(cells: Floats) -> tuple[Floats, Floats]:
    """Return the effects of rows and columns, shapes (seeds, rows, 1) and (seeds, 1, columns)."""
    mean = cells.mean(axis=(1, 2), keepdims=True)
    return cells.mean(axis=2, keepdims=True) - mean, cells.mean(axis=1, keepdims=True) - mean
