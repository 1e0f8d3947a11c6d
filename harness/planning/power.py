"""Compute the probability that a difference is decided, in closed form for a fast search.

It is that of Welch's test at the strictest step of Holm's correction, by the shifted t of
claims.seeds_needed. With few seeds it is up to five points too high, so simulated studies determine
the final number of seeds (`simulated_studies`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.law.compare import claims
from harness.law.results import Floats
from harness.planning.task import DecisionRule

FEWEST, MOST = 3, 200
"""Range of the seeds per level of a plan. Two seeds can be tested, but with an interval five times
wider than their spread."""


@dataclass(frozen=True)
class PairDraws:
    """One pair in one design: its difference, and draws of the variances of all levels."""

    at: int
    """Index of the pair."""
    difference: float
    variances: tuple[Floats, ...]
    """Draws of the variance of each level, or of each pair for a paired rule, shape (DRAWS,)."""
    known_shares: tuple[float, ...]
    """Share of the runs of each level that have the quantity."""
    least: float = 0.0
    """Variance of a run by its own interval, a lower limit for weighted runs."""


def closed_form_power(rule: DecisionRule, pair: PairDraws, seeds: Floats) -> Floats:
    """Return the power for each draw and each number of seeds, shape (DRAWS, len(seeds))."""
    if rule.paired:
        indices: tuple[int, ...] = (pair.at,)
    else:
        indices = rule.pairs[pair.at]
    terms, squares = [], []
    for index in indices:
        n = np.maximum(seeds * pair.known_shares[index], 2.0)
        term = np.maximum(pair.variances[index], pair.least)[:, None] / n[None, :]
        terms.append(term)
        squares.append(term**2 / (n - 1)[None, :])
    total = np.sum(terms, axis=0)
    df = total**2 / np.sum(squares, axis=0)
    critical = special.stdtrit(df, 1 - claims.LEVEL / rule.comparisons / 2)
    result: Floats = special.stdtr(df, pair.difference / np.sqrt(total) - critical)
    return result


def size(rule: DecisionRule, pair: PairDraws, wanted: float) -> int | None:
    """Return the smallest number of seeds with mean power `wanted`; None beyond MOST."""
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


def size_of_all(rule: DecisionRule, pairs: Sequence[PairDraws], wanted: float) -> int | None:
    """Return the smallest number of seeds with that power for every pair; None beyond MOST."""
    most = 0
    for pair in sorted(pairs, key=_difficulty, reverse=True):
        if most and _mean(rule, pair, most) >= wanted:
            continue
        needed = size(rule, pair, wanted)
        if needed is None:
            return None
        most = max(most, needed)
    return most


def _difficulty(pair: PairDraws) -> float:
    """Return a sort key that grows with the seeds that the pair needs."""
    return (
        sum(float(variances.mean()) for variances in pair.variances)
        / max(pair.difference, 1e-12) ** 2
    )


def _mean(rule: DecisionRule, pair: PairDraws, seeds: int) -> float:
    return float(closed_form_power(rule, pair, np.array([float(seeds)])).mean())


def sizes(rule: DecisionRule, pair: PairDraws, wanted: float) -> tuple[int | None, int | None]:
    """Return the 2.5% and 97.5% quantiles, over the draws of the spread, of the seeds needed.

    An end is None beyond MOST.
    """
    seed_counts = np.arange(FEWEST, MOST + 1, dtype=float)
    enough = closed_form_power(rule, pair, seed_counts) >= wanted
    needed = np.where(enough.any(axis=1), seed_counts[enough.argmax(axis=1)], np.inf)
    low, high = np.quantile(needed, (0.025, 0.975), method="inverted_cdf")
    return tuple(int(end) if np.isfinite(end) else None for end in (low, high))  # type: ignore[return-value]
