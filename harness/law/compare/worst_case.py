"""Bound the numbers that are missing because a run diverged.

An arm may diverge because of the treatment, so its pairs are not missing at random. A verdict is
kept only if it holds with the missing pairs at their least favourable values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.config.run import STRATEGIES
from harness.law.compare.comparison_basis import ComparisonBasis
from harness.law.compare.groups import Member
from harness.law.compare.quantities import NATS, RunQuantity
from harness.law.settings import setting

SHARES_AND_REWARDS: Mapping[str, tuple[float, float]] = {
    "gain": (-1.0, 1.0),
    "final_reward": (0.0, 1.0),
    "probe_onset": (0.0, 1.0),
    "lead": (-1.0, 1.0),
    "starved_share": (0.0, 1.0),
    "solving": (0.0, 1.0),
    "solving_after_feeling": (0.0, 1.0),
    "solving_where_wanted": (0.0, 1.0),
    "solving_where_unwanted": (0.0, 1.0),
    "grounding": (0.0, math.inf),
    "question_value": (-math.inf, math.inf),
    "alliance": (0.0, 1.0),
    "divergence": (-math.inf, math.inf),
    "listening": (-1.0, math.log(len(STRATEGIES))),  # its estimate may fall below 0
    "within_sd": (0.0, math.sqrt(0.5)),  # two conversations, one at 0 and one at 1
    "best_at_16": (0.0, 1.0),
    "adaptation": (-1.0, 1.0),
}
"""Quantity of links -> its range. The reward of an evaluation is an emotion / 100, in [0, 1]."""
UNBOUNDED = (-math.inf, math.inf)


@dataclass(frozen=True)
class LostPair:
    """A pair without a number because a run of it diverged: the range of its difference."""

    runs: tuple[str, ...]
    """The diverged runs, each with the step it reached."""
    low: float
    high: float
    plain: tuple[float, float] | None = None
    """The range before subtracting null controls; None if that number is known or not needed."""


def difference(
    first: tuple[float, float], second: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the range of one number minus another, or of the first alone if `second` is None."""
    low, high = second or (0.0, 0.0)
    return first[0] - high, first[1] - low


def range_of(
    name: str, quantity: RunQuantity, basis: ComparisonBasis, members: Sequence[Member]
) -> tuple[float, float]:
    """Return the range of a quantity in runs like `members`; UNBOUNDED if it is not known."""
    if quantity.unit != NATS:
        return SHARES_AND_REWARDS.get(name, UNBOUNDED)
    highest = [_highest_entropy(member) for member in members]
    quantity_basis = replace(basis, probe=quantity.probe or basis.probe)
    starts = [
        float(entropy[0])
        for entropy in (quantity_basis.entropy_series(member).values for member in members)
        if len(entropy)
    ]
    measured = [entropy for entropy in highest if entropy is not None]
    if not starts or len(measured) < len(highest):
        return UNBOUNDED
    return min(starts) - max(measured), max(starts)  # from the start to an H in [0, max]


def _highest_entropy(member: Member) -> float | None:
    """Return H of a uniform policy in nats; None if the config does not state its size."""
    config = member.identity.full_config
    if setting(config, "policy", "kind") == "tabular":
        return math.log(len(STRATEGIES))  # the acts of the policy
    size = setting(config, "policy", "vocabulary")
    is_tiny = setting(config, "policy", "kind") == "tiny" and isinstance(size, int) and size > 0
    return math.log(size) if is_tiny else None
