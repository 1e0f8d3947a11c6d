"""Spend the error of a link over several looks at a study that is continued with more seeds.

A test repeated after every added seed finds something sooner or later, so looks share one error
(alpha spending, Lan and DeMets 1983). If the maximal number of pairs N was stated beforehand, a
look at n pairs has spent (n / N)^3 of the error: little while pairs are few, all at the last. If
not, the first look, at n1 pairs, spends what a single look would, and all later looks share a
tenth of that: at n pairs 1 + 0.1 (1 - (n1 / n)^2) is spent, so at most 2.75% per verdict instead
of 2.5%. The level of a look that spends its share is computed for sums of normal variables
(Armitage, McPherson and Rowe 1969) and applied to the p of Student's t. For the cost, and the
reason against a confidence sequence, see benchmarks/study_verdicts.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from harness.law.compare.claims import LEVEL, MOST_SEEDS, POWER
from harness.law.compare.random_effects import FEWEST_SEEDS
from harness.law.estimate import numbers
from harness.law.results import Floats

LATER, ORDER = 0.1, 2
"""Share of the error that all later looks spend in addition to the first if no maximum was stated,
and the exponent of how early. Subtracting it from the first look would cost 2 points of power at 5
pairs. With a larger share, looks chosen by the result of the last one exceed 3%."""
TOWARDS_MOST = 3
"""Exponent of the spending; approximates O'Brien and Fleming's boundaries (Kim and DeMets 1987)."""
GRID, REACH, HALVINGS = 400, 8.0, 60
"""Grid points of a density, its extent in standard deviations, and bisection steps for a boundary.
They give levels to three digits."""

Pairs = frozenset[str]
"""The pairs of a look, by the names of their runs."""
Sums = tuple[Floats, Floats]
"""Distribution of sums of normal variables: grid points, and the probability at each."""


def error_spent(counts: Sequence[int], most_pairs: int | None = None) -> float:
    """Return the share of the error spent up to this look. `counts`: pairs at each look so far,
    including this one.
    """
    if most_pairs is not None:
        return min(1.0, counts[-1] / most_pairs) ** TOWARDS_MOST
    return 1 + LATER * (1 - (counts[0] / counts[-1]) ** ORDER)


def pairs_per_look(earlier: Sequence[Pairs], current: Pairs) -> tuple[int, ...]:
    """Return the number of known pairs at each look up to `current`.

    Looks without new pairs, or with too few pairs, are left out. If `current` repeats an earlier
    look, only the looks before that one count.
    """
    all_pairs: Pairs = frozenset()
    sizes: list[int] = []
    for look in (*_earlier_looks(earlier, current), current):
        all_pairs |= look
        if len(look) >= FEWEST_SEEDS and len(all_pairs) > (sizes[-1] if sizes else 0):
            sizes.append(len(all_pairs))
    return tuple(sizes)


def _earlier_looks(earlier: Sequence[Pairs], current: Pairs) -> Sequence[Pairs]:
    return earlier[: earlier.index(current)] if current in earlier else earlier


def p_factor(
    earlier: Sequence[Pairs], current: Pairs, comparisons: int, most_pairs: int | None = None
) -> float | None:
    """Return the factor on p at this look that keeps the error over all looks at
    LEVEL / comparisons.

    None if nothing is left to spend: all pairs of `current` were known before, or an earlier look
    had `most_pairs` pairs.
    """
    alpha = LEVEL / 2 / comparisons
    earlier_looks = _earlier_looks(earlier, current)
    if earlier_looks and current <= frozenset().union(*earlier_looks):
        return None
    sizes = pairs_per_look(earlier_looks, current)
    unspent = error_spent(sizes, most_pairs) - (
        error_spent(sizes[:-1], most_pairs) if len(sizes) > 1 else 0.0
    )
    if unspent <= 0:
        return None
    # if `current` lacks known pairs, its correlation with earlier looks is unknown
    if len(current) != sizes[-1]:
        return 1 / unspent
    return alpha / one_sided_level(sizes, alpha, most_pairs)


@functools.lru_cache(maxsize=4096)
def one_sided_level(sizes: tuple[int, ...], alpha: float, most_pairs: int | None = None) -> float:
    """Return the one-sided level of the last look. Each look contains the pairs of those before."""
    earlier = sizes[:-1]
    added = sizes[-1] - (earlier[-1] if earlier else 0)
    unspent = error_spent(sizes, most_pairs) - (
        error_spent(earlier, most_pairs) if earlier else 0.0
    )
    undecided = _undecided(earlier, alpha, most_pairs) if earlier else None
    return float(special.ndtr(-_boundary(undecided, added, alpha * unspent) / math.sqrt(sizes[-1])))


@functools.lru_cache(maxsize=4096)
def _undecided(sizes: tuple[int, ...], alpha: float, most_pairs: int | None) -> Sums:
    """Return the distribution of sums that passed the boundary at none of these looks."""
    previous = _undecided(sizes[:-1], alpha, most_pairs) if len(sizes) > 1 else None
    added = sizes[-1] - (sizes[-2] if previous else 0)
    boundary = -float(special.ndtri(one_sided_level(sizes, alpha, most_pairs))) * math.sqrt(
        sizes[-1]
    )
    points = np.linspace(-REACH * math.sqrt(sizes[-1]), boundary, GRID)
    previous_points, weights = previous or (np.zeros(1), np.ones(1))
    density = np.exp(-((points[:, None] - previous_points) ** 2) / (2 * added)) @ weights
    step = np.full(GRID, points[1] - points[0])
    step[[0, -1]] /= 2
    return points, density * step / math.sqrt(2 * math.pi * added)


def _boundary(undecided: Sums | None, added: int, probability: float) -> float:
    """Return the boundary that is passed with this probability, with none passed before."""
    if undecided is None:
        return -float(special.ndtri(probability)) * math.sqrt(added)
    points, weights = undecided
    low, high = float(points[0]), float(points[-1]) + REACH * math.sqrt(added)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        passed = float(weights @ special.ndtr((points - middle) / math.sqrt(added)))
        low, high = (middle, high) if passed > probability else (low, middle)
    return high


def detectable_difference(pairs: int, one_sided: float) -> float:
    """Return the difference, in standard errors, that is detected with probability POWER."""
    df = pairs - 1
    return numbers.t_quantile(1 - one_sided, df) + numbers.t_quantile(POWER, df)


def pairs_needed(
    spread: float,
    margin: float,
    comparisons: int,
    sizes: tuple[int, ...] = (),
    most_pairs: int | None = None,
) -> int | None:
    """Return the pairs with which the next look detects a difference of `margin` with POWER.

    `spread` is the standard deviation over pairs, `sizes` the number of pairs at the looks so far.
    The result is at least that of the last look. None above MOST_SEEDS, or above `most_pairs` if
    that is stated.
    """
    alpha = LEVEL / 2 / comparisons

    def enough(pairs: int) -> bool:
        looks = (*sizes, pairs) if not sizes or pairs > sizes[-1] else sizes
        one_sided = one_sided_level(looks, alpha, most_pairs)
        return spread / math.sqrt(pairs) * detectable_difference(pairs, one_sided) <= margin

    low, high = max(FEWEST_SEEDS, *sizes, 0), most_pairs or MOST_SEEDS
    if low > high or not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
