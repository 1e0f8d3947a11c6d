"""What a probe measures: quantities that are ratios of sums over a user's conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.config.run import RunConfig
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
    """How the policy speaks, or whom it meets, while it is probed."""

    name: str
    """Nothing for as its run has it."""
    changed: Callable[[RunConfig], RunConfig] = lambda config: config
    """The config of the run in this setting."""


AS_TRAINED = Setting("")


@dataclass(frozen=True)
class Probe:
    """A set of quantities, and the conversations that they take."""

    name: str
    asks: str
    """The question that it answers, for people."""
    quantities: Callable[[RunConfig], Sequence[Quantity]]
    """Of a run with this config."""
    repeats: int = 4
    """Conversations with each user unless the command says otherwise."""
    settings: Callable[[RunConfig], Sequence[Setting]] = lambda config: (AS_TRAINED,)
    """Those in which a run is asked. Raises ConfigError for a run that cannot be."""
    gap: tuple[str, str] | None = None
    """Two settings: what each quantity is in the second minus in the first is asked too."""
