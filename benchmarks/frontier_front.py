"""The front of the methods, with simultaneous intervals, and whether one beats a better rate.

A cell is held against the *best rate*: that of plain grpo whose mean reward is highest on the same
level, chosen on the same seeds, which favours it; and at equal entropy against all rates
(frontier_rates.py). Differences are paired by seed; their intervals hold together at 95% over all
cells of the level and all quantities (Bonferroni), by a standard deviation that is pooled over a
method's strengths: with five seeds a cell's own has 4 degrees of freedom, by which no interval of a
thousand would say anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks import frontier_rates
from benchmarks.frontier_measured import Measured

QUANTITIES: Mapping[str, float] = {
    "entropy": 0.1,
    "reward": 0.05,
    "best_at_16": 0.05,
    "listening": 0.05,
    "trainability": 0.05,
}
"""What a cell is judged by, more being better, with the loss that matters: nats for entropy and
listening, final emotion / 100 for the others."""
LEVEL = 0.05
BEATS, SHOWN_NOT, OPEN = "beats the best rate", "does not", "open"
ABOVE, BELOW, OUTSIDE = "above the rates", "below the rates", "no rate leaves as much"


@dataclass(frozen=True)
class Difference:
    """A cell's quantity less a rate's, with its simultaneous interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Judged:
    """A cell beside the best rate."""

    cell: Measured
    differences: Mapping[str, Difference]
    """Of the quantities that both have in two seeds or more."""
    verdict: str
    """BEATS, SHOWN_NOT or OPEN; empty for a rate."""
    on_front: bool
    """Whether no other cell of the level is as good in the mean of every quantity, and better in
    one."""
    at_equal_entropy: Difference | None
    """Its reward less that of plain grpo at the rate that leaves as much entropy; None for a rate,
    where no rate leaves as much, and where fewer than two seeds have both."""
    leaves_more: bool
    """Whether it leaves more entropy than any rate."""

    @property
    def beside_rates(self) -> str:
        """ABOVE, BELOW, OPEN or OUTSIDE; empty for a rate, and where it is not known."""
        one = self.at_equal_entropy
        if one is None:
            return OUTSIDE if self.leaves_more else ""
        return ABOVE if one.low > 0 else BELOW if one.high < 0 else OPEN


def judge(cells: Sequence[Measured]) -> tuple[Measured | None, list[Judged]]:
    """The best rate of a level's cells, None where none has a reward, and all cells beside it."""
    rates = [(cell.mean("reward"), cell) for cell in cells if cell.is_rate]
    known = [(mean, cell) for mean, cell in rates if mean is not None]
    best = max(known, key=lambda one: one[0])[1] if known else None
    front, beside = _front(cells), [cell for cell in cells if cell is not best]
    found = {cell.name: {} if best is None else _paired(cell, best) for cell in beside}
    count = max(1, sum(map(len, found.values())))
    curve = frontier_rates.curve([cell for cell in cells if cell.is_rate])
    at_equal = _at_equal_entropy(cells, curve)
    judged = []
    for cell in cells:
        alike = [found[one.name] for one in beside if one.method == cell.method]
        differences = {
            quantity: _interval(numbers, [one.get(quantity, []) for one in alike], count)
            for quantity, numbers in found.get(cell.name, {}).items()
        }
        word = "" if cell.is_rate else verdict(differences)
        on_front, equal = cell.name in front, at_equal.get(cell.name)
        more = not cell.is_rate and frontier_rates.is_beyond(cell, curve)
        judged.append(Judged(cell, differences, word, on_front, equal, more))
    return best, judged


def _at_equal_entropy(
    cells: Sequence[Measured], curve: Sequence[Measured]
) -> dict[str, Difference]:
    """By name of a cell that is no rate: its reward less the rates' at its entropy. These intervals
    hold together over the cells of the level.
    """
    asked = [cell for cell in cells if not cell.is_rate]
    found = {cell.name: frontier_rates.beside(cell, curve) for cell in asked}
    found = {name: numbers for name, numbers in found.items() if len(numbers) > 1}
    method = {cell.name: cell.method for cell in asked}
    return {
        name: _interval(
            numbers,
            [other for one, other in found.items() if method[one] == method[name]],
            len(found),
        )
        for name, numbers in found.items()
    }


def verdict(differences: Mapping[str, Difference]) -> str:
    """Whether a cell beats the best rate: shown to be better in a quantity, and to be worse by its
    margin in none. SHOWN_NOT: shown to be worse by the margin in one, or to be better in none.
    """
    if not differences:
        return OPEN
    margins = [(one, QUANTITIES[quantity]) for quantity, one in differences.items()]
    gains = any(one.low > 0 for one, _ in margins)
    if gains and all(one.low > -margin for one, margin in margins):
        return BEATS
    loses = any(one.high < -margin for one, margin in margins)
    return SHOWN_NOT if loses or all(one.high <= 0 for one, _ in margins) else OPEN


def sentence(level: str, best: Measured | None, judged: Sequence[Judged]) -> str:
    """The answer for a level, which may be that none beats a better learning rate."""
    if best is None:
        return f"On {level} no run at a plain rate is done: nothing is judged."
    asked = [one for one in judged if not one.cell.is_rate]
    winners = [one.cell.name for one in asked if one.verdict == BEATS]
    still_open = sum(one.verdict == OPEN for one in asked)
    against = f"the best rate ({best.strength}, reward {best.mean('reward'):.3f})"
    rest = f"{still_open} of {len(asked)} cells are open at these seeds"
    if winners:
        return f"On {level} {', '.join(winners)} beat {against}; {rest}."
    return f"On {level} none is shown to beat a better learning rate, {against}; {rest}."


def sentence_at_equal_entropy(level: str, judged: Sequence[Judged]) -> str:
    """How the methods stand to plain grpo at the rate that leaves as much entropy."""
    cells = {
        word: [
            one.cell.name.removeprefix(f"{level}-") for one in judged if one.beside_rates == word
        ]
        for word in (ABOVE, BELOW, OPEN, OUTSIDE)
    }
    above, below = (", ".join(cells[word]) or "no cell" for word in (ABOVE, BELOW))
    return (
        f"At the entropy that they leave, more reward than a rate that leaves as much: {above}. "
        f"Less: {below}. Not told apart: {len(cells[OPEN])} cells; more entropy than any rate: "
        f"{len(cells[OUTSIDE])}."
    )


def _front(cells: Sequence[Measured]) -> set[str]:
    """Names of the cells with a reward that no other is as good as in the mean of each quantity
    that both have, and better than in one.
    """
    cells = [cell for cell in cells if cell.mean("reward") is not None]
    means = np.array(
        [[math.nan if (m := cell.mean(q)) is None else m for q in QUANTITIES] for cell in cells]
    ).reshape(len(cells), len(QUANTITIES))
    less = means[:, None] - means[None]  # nan where one lacks the quantity
    beaten = (~(less < 0)).all(axis=2) & (less > 0).any(axis=2)
    return {cell.name for cell, by in zip(cells, beaten.T, strict=True) if not by.any()}


def _paired(cell: Measured, best: Measured) -> dict[str, list[float]]:
    """Differences by seed of each quantity that both have in two seeds or more."""
    found = {}
    for quantity in QUANTITIES:
        mine, theirs = cell.values.get(quantity, {}), best.values.get(quantity, {})
        seeds = sorted(mine.keys() & theirs.keys())
        if len(seeds) > 1:
            found[quantity] = [mine[seed] - theirs[seed] for seed in seeds]
    return found


def _interval(numbers: Sequence[float], pool: Sequence[Sequence[float]], count: int) -> Difference:
    """The mean of a cell's differences; `pool`: those of the strengths of its method, it among
    them; `count`: of all intervals that hold together.
    """
    of_cells = [np.array(one) for one in pool if len(one) > 1]
    free = sum(len(one) - 1 for one in of_cells)
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in of_cells)
    error = math.sqrt(squares / free / len(numbers))
    half = float(stats.t.ppf(1 - LEVEL / (2 * count), free)) * error
    mean = float(np.mean(numbers))
    return Difference(mean, mean - half, mean + half)
