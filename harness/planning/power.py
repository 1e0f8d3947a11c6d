"""The probability that a difference is decided, in closed form: quick, for a search.

Welch's test with the strictest step of Holm's correction, by the shifted t that
claims.seeds_needed uses. With few seeds it is up to five points too hopeful; made studies settle
the seeds found (`made_studies`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.law.compare import claims
from harness.law.results import Floats
from harness.planning.task import Rule

FEWEST, MOST = 3, 200
"""Seeds a level that a plan asks for: two are decided on, but with an interval five times wider
than their spread."""


@dataclass(frozen=True)
class Drawn:
    """One pair in one design: its difference, and what the variances of all levels may be."""

    at: int
    """Number of the pair."""
    difference: float
    variances: tuple[Floats, ...]
    """Of each level, shape (DRAWS,); of a paired rule, of each pair."""
    telling: tuple[float, ...]
    least: float = 0.0
    """The variance of a run by its own interval: a mean of weighed runs is no surer than that."""


def closed(rule: Rule, pair: Drawn, seeds: Floats) -> Floats:
    """Power for each draw and each number of seeds, shape (DRAWS, sizes)."""
    if rule.paired:
        places: tuple[int, ...] = (pair.at,)
    else:
        places = rule.pairs[pair.at]
    terms, squares = [], []
    for place in places:
        n = np.maximum(seeds * pair.telling[place], 2.0)
        term = np.maximum(pair.variances[place], pair.least)[:, None] / n[None, :]
        terms.append(term)
        squares.append(term**2 / (n - 1)[None, :])
    total = np.sum(terms, axis=0)
    free = total**2 / np.sum(squares, axis=0)
    critical = special.stdtrit(free, 1 - claims.LEVEL / rule.comparisons / 2)
    result: Floats = special.stdtr(free, pair.difference / np.sqrt(total) - critical)
    return result


def size(rule: Rule, pair: Drawn, wanted: float) -> int | None:
    """The fewest seeds whose mean power over the draws is `wanted`; None beyond MOST."""
    low, high = FEWEST, MOST
    if _mean(rule, pair, high) < wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        if _mean(rule, pair, middle) >= wanted:
            high = middle
        else:
            low = middle + 1
    return high


def size_of_all(rule: Rule, pairs: Sequence[Drawn], wanted: float) -> int | None:
    """The fewest seeds with which every pair has that power; None beyond MOST."""
    most = 0
    for pair in sorted(pairs, key=_difficulty, reverse=True):
        if most and _mean(rule, pair, most) >= wanted:
            continue
        needed = size(rule, pair, wanted)
        if needed is None:
            return None
        most = max(most, needed)
    return most


def _difficulty(pair: Drawn) -> float:
    """Grows with the seeds that the pair takes."""
    return sum(float(of.mean()) for of in pair.variances) / max(pair.difference, 1e-12) ** 2


def _mean(rule: Rule, pair: Drawn, seeds: int) -> float:
    return float(closed(rule, pair, np.array([float(seeds)])).mean())


def sizes(rule: Rule, pair: Drawn, wanted: float) -> tuple[int | None, int | None]:
    """The seeds it would take at the small and at the large end of what the spread may be: the 2.5
    and 97.5 percent quantiles over the draws; None beyond MOST.
    """
    every = np.arange(FEWEST, MOST + 1, dtype=float)
    enough = closed(rule, pair, every) >= wanted
    needed = np.where(enough.any(axis=1), every[enough.argmax(axis=1)], np.inf)
    low, high = np.quantile(needed, (0.025, 0.975), method="inverted_cdf")
    return tuple(int(end) if np.isfinite(end) else None for end in (low, high))  # type: ignore[return-value]
