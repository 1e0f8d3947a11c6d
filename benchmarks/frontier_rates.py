"""What plain grpo earns at the entropy that a method leaves: the curve of its learning rates.

A smaller rate leaves more entropy and earns less, so a remedy that does the same may be worth no
more than a smaller rate. The curve is the upper concave hull of the rates' mean entropy and reward,
from the best rate to the one that leaves most: straight lines between rates, none of which lies
above it. It is drawn on the seeds that are compared, which favours the rates; where rates lie far
apart, and what they earn is bent, a straight line between them favours the methods. Below the
entropy of the best rate it is flat: who leaves less than that rate has to earn as much. Above the
rate that leaves most there is no curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.frontier_measured import Measured


def curve(rates: Sequence[Measured]) -> list[Measured]:
    """The rates at the corners of the hull, by entropy, the least first; the first is the best."""
    known = [
        (entropy, reward, rate)
        for rate in rates
        if (entropy := rate.mean("entropy")) is not None
        and (reward := rate.mean("reward")) is not None
    ]
    corners: list[tuple[float, float, Measured]] = []
    for one in sorted(known, key=lambda point: (-point[0], point[1])):
        while corners and one[1] >= corners[0][1] and _is_under(corners[:2], one):
            corners.pop(0)
        if not corners or one[1] > corners[0][1]:
            corners.insert(0, one)
    return [rate for _, _, rate in corners]


def _is_under(
    corners: Sequence[tuple[float, float, Measured]], new: tuple[float, float, Measured]
) -> bool:
    """Whether the first corner lies on or under the line from a new point to the second; alone, if
    it has no more entropy than the new one.
    """
    if len(corners) == 1:
        return corners[0][0] <= new[0]
    (x, y, _), (far_x, far_y, _) = corners
    return (y - new[1]) * (far_x - new[0]) <= (far_y - new[1]) * (x - new[0])


def beside(cell: Measured, rates: Sequence[Measured]) -> list[float]:
    """By seed, a cell's reward less that of a `curve` of rates at the cell's mean entropy; empty
    where the curve does not reach. Weights of two neighbours are those of the means, equal for all
    seeds, so that the difference is linear in the rewards.
    """
    entropy = cell.mean("entropy")
    if entropy is None:
        return []
    rewards = _rewards_at(entropy, rates)
    mine = cell.values.get("reward", {})
    return [mine[seed] - rewards[seed] for seed in sorted(mine.keys() & rewards.keys())]


def is_beyond(cell: Measured, rates: Sequence[Measured]) -> bool:
    """Whether a cell leaves more entropy than a `curve` of rates reaches."""
    entropy, most = (cell.mean("entropy"), rates[-1].mean("entropy")) if rates else (None, None)
    return entropy is not None and most is not None and entropy > most


def _rewards_at(entropy: float, rates: Sequence[Measured]) -> Mapping[int, float]:
    """Reward by seed of a curve at an entropy."""
    at = [(mean, rate) for rate in rates if (mean := rate.mean("entropy")) is not None]
    if not at or entropy > at[-1][0]:
        return {}
    if entropy <= at[0][0]:
        return at[0][1].values["reward"]
    place = next(n for n, (mean, _) in enumerate(at) if mean >= entropy)
    (low, less), (high, more) = at[place - 1], at[place]
    weight = (entropy - low) / (high - low)
    first, second = less.values["reward"], more.values["reward"]
    return {
        seed: (1 - weight) * first[seed] + weight * second[seed]
        for seed in first.keys() & second.keys()
    }
