"""Choose the best of several arms, and say whether a better one may lie beyond them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.law.compare import groups
from harness.law.compare.comparison_basis import ComparisonBasis
from harness.law.compare.groups import Member
from harness.law.compare.quantities import QUANTITIES

Runs = Mapping[int, Member]
"""Seed -> run."""


@dataclass(frozen=True)
class GridEdge:
    """The setting by which arms differ, at whose smallest or largest value the best of them is."""

    key: str
    """Dotted config key."""
    value: float
    is_largest: bool

    @property
    def side(self) -> str:
        return "largest" if self.is_largest else "smallest"


def highest_arm(names: Sequence[str], runs: Mapping[str, Runs], evaluation: str) -> str | None:
    """Return the arm with the highest mean reward at the end, on the evaluation of that name."""
    final_reward, basis, means = QUANTITIES["final_reward"], ComparisonBasis(evaluation), {}
    for name in names:
        values = [final_reward.value(member, basis) for member in runs[name].values()]
        ends = [end.value for end in values if end is not None]
        if ends:
            means[name] = sum(ends) / len(ends)
    return max(means, key=lambda name: means[name]) if means else None


def grid_edge(best: str | None, names: Sequence[str], runs: Mapping[str, Runs]) -> GridEdge | None:
    """Return at which edge of the grid of `names` the best arm is.

    None if it is inside, if an arm has no run, or if the arms differ otherwise than by one number.
    """
    members = [next(iter(runs[name].values()), None) for name in names]
    configs = [
        groups.flatten_config(member.identity.full_config or {})
        for member in members
        if member is not None
    ]
    if best is None or len(configs) < len(names):
        return None
    differing = [
        key
        for key in sorted({key for config in configs for key in config})
        if any(config.get(key) != configs[0].get(key) for config in configs)
    ]
    if len(differing) != 1:
        return None
    values = [config.get(differing[0]) for config in configs]
    numbers = [
        float(value)
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if len(numbers) < len(names):
        return None
    chosen = numbers[list(names).index(best)]
    if chosen not in (min(numbers), max(numbers)):
        return None
    return GridEdge(differing[0], chosen, chosen == max(numbers))
