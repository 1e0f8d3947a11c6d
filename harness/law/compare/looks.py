"""The error that a link may spend at each look at a study that is continued with more seeds.

A test repeated with every seed that is added finds something sooner or later, so looks share one
error (Lan and DeMets 1983). Where the most pairs were stated beforehand, a look at n of N pairs has
spent (n / N)^3 of it: little while pairs are few, all at the last. Where they were not, the first
look, n1 pairs, spends what a single one would, and all later ones share a tenth of that: at n
pairs 1 + 0.1 (1 - (n1 / n)^2) is spent, on each word 2.75% at most instead of 2.5%. How much of
its share a look can use is taken from sums of normal numbers (Armitage, McPherson and Rowe 1969),
as a level for the p of Student's t. What this costs, and why no confidence sequence:
benchmarks/study_verdicts.md.
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
"""What all later looks may spend beside the first where no most was stated, and how early. Taken
off the first instead, it would cost that 2 points of power at 5 pairs; with more, looks that are
chosen by what the last one showed pass 3%."""
TOWARDS_MOST = 3
"""About O'Brien and Fleming's boundaries (Kim and DeMets 1987)."""
GRID, REACH, HALVINGS = 400, 8.0, 60
"""Places that a sum's density is held at, standard deviations below and above, and steps of the
search for a boundary: levels to three digits."""

Pairs = frozenset[str]
"""The pairs of a look, by the names of their runs."""
Sums = tuple[Floats, Floats]
"""Sums of normal numbers: places, and the probability at each."""


def spent(counts: Sequence[int], most: int | None = None) -> float:
    """The share of the error spent by a look; `counts`: pairs at each look, the last is this."""
    if most is not None:
        return min(1.0, counts[-1] / most) ** TOWARDS_MOST
    return 1 + LATER * (1 - (counts[0] / counts[-1]) ** ORDER)


def counts(earlier: Sequence[Pairs], now: Pairs) -> tuple[int, ...]:
    """The pairs known at each look up to one at `now`; a look that knew no more is none.

    The same pairs again are the same look, whatever was added after it.
    """
    known: Pairs = frozenset()
    sizes: list[int] = []
    for look in (*_before(earlier, now), now):
        known |= look
        if len(look) >= FEWEST_SEEDS and len(known) > (sizes[-1] if sizes else 0):
            sizes.append(len(known))
    return tuple(sizes)


def _before(earlier: Sequence[Pairs], now: Pairs) -> Sequence[Pairs]:
    return earlier[: earlier.index(now)] if now in earlier else earlier


def price(
    earlier: Sequence[Pairs], now: Pairs, comparisons: int, most: int | None = None
) -> float | None:
    """What p is multiplied by at this look, so that over all looks the error is LEVEL / comparisons
    at most; None where nothing is left to spend: `now` was known before, or a look before this one
    had `most` pairs.
    """
    alpha = LEVEL / 2 / comparisons
    before = _before(earlier, now)
    if before and now <= frozenset().union(*before):
        return None
    sizes = counts(before, now)
    left = spent(sizes, most) - (spent(sizes[:-1], most) if len(sizes) > 1 else 0.0)
    if left <= 0:
        return None
    # where known pairs are left out, how this look hangs together with those before is not known
    return alpha / level(sizes, alpha, most) if len(now) == sizes[-1] else 1 / left


@functools.lru_cache(maxsize=4096)
def level(sizes: tuple[int, ...], alpha: float, most: int | None = None) -> float:
    """The one-sided level of the last look; each look holds the pairs of those before it."""
    earlier = sizes[:-1]
    added = sizes[-1] - (earlier[-1] if earlier else 0)
    left = spent(sizes, most) - (spent(earlier, most) if earlier else 0.0)
    below = _undecided(earlier, alpha, most) if earlier else None
    return float(special.ndtr(-_boundary(below, added, alpha * left) / math.sqrt(sizes[-1])))


@functools.lru_cache(maxsize=4096)
def _undecided(sizes: tuple[int, ...], alpha: float, most: int | None) -> Sums:
    """The sums that have passed the boundary of none of these looks."""
    before = _undecided(sizes[:-1], alpha, most) if len(sizes) > 1 else None
    added = sizes[-1] - (sizes[-2] if before else 0)
    boundary = -float(special.ndtri(level(sizes, alpha, most))) * math.sqrt(sizes[-1])
    at = np.linspace(-REACH * math.sqrt(sizes[-1]), boundary, GRID)
    places, weights = before or (np.zeros(1), np.ones(1))
    density = np.exp(-((at[:, None] - places) ** 2) / (2 * added)) @ weights
    step = np.full(GRID, at[1] - at[0])
    step[[0, -1]] /= 2
    return at, density * step / math.sqrt(2 * math.pi * added)


def _boundary(below: Sums | None, added: int, left: float) -> float:
    """The sum that is passed with probability `left`, having passed none before."""
    if below is None:
        return -float(special.ndtri(left)) * math.sqrt(added)
    at, weights = below
    low, high = float(at[0]), float(at[-1]) + REACH * math.sqrt(added)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        passed = float(weights @ special.ndtr((at - middle) / math.sqrt(added)))
        low, high = (middle, high) if passed > left else (low, middle)
    return high


def reach(pairs: int, one_sided: float) -> float:
    """Standard errors that a difference must measure to be found with probability POWER."""
    free = pairs - 1
    return numbers.t_quantile(1 - one_sided, free) + numbers.t_quantile(POWER, free)


def pairs_needed(
    spread: float,
    margin: float,
    comparisons: int,
    sizes: tuple[int, ...] = (),
    most: int | None = None,
) -> int | None:
    """Pairs with which the next look finds a difference of `margin` with probability POWER.

    `spread` is the standard deviation over pairs, `sizes` the pairs at the looks so far. At least
    as many as at the last one; None above MOST_SEEDS, or above the `most` stated.
    """
    alpha = LEVEL / 2 / comparisons

    def enough(pairs: int) -> bool:
        looks = (*sizes, pairs) if not sizes or pairs > sizes[-1] else sizes
        one_sided = level(looks, alpha, most)
        return spread / math.sqrt(pairs) * reach(pairs, one_sided) <= margin

    low, high = max(FEWEST_SEEDS, *sizes, 0), most or MOST_SEEDS
    if low > high or not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
