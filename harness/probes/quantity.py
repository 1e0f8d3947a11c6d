"""What a probe measures: quantities that are ratios of sums over a user's conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.train.saved_policy.policy import Held


@dataclass(frozen=True)
class Quantity:
    """A number that a policy's conversations have."""

    name: str
    unit: str
    of_user: Callable[[Sequence[Held]], tuple[float, float]]
    """Numerator and denominator of the conversations with one user."""
    people: float | None = None
    """What human supporters have, by the same reader; None where nobody measured it."""


@dataclass(frozen=True)
class Setting:
    """How the policy speaks while it is probed."""

    name: str
    """Nothing for the policy as its run has it."""
    temperature: float | None = None
    """None for the run's own."""


@dataclass(frozen=True)
class Probe:
    """A set of quantities, and the conversations that they take."""

    name: str
    asks: str
    """The question that it answers, for people."""
    quantities: tuple[Quantity, ...]
    repeats: int
    """Conversations with each user unless the command says otherwise."""
    settings: tuple[Setting, ...] = (Setting(""),)
