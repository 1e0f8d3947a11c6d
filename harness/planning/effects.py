"""The difference that a plan is to decide, and which rule decides it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.law.compare import families
from harness.law.compare.quantities import CONTRASTED, QUANTITIES, REWARD
from harness.law.variance.results import REWARD_RANGE

OPTION = "--effect"
DEFAULTS: Mapping[str, float] = {
    "gain": 0.05, "final_reward": 0.05, "entropy_lost": 0.10, "ceiling": 0.05, "a": 0.20,
}  # fmt: skip
"""The quantities that can be planned for, and a difference of each that matters; that of `a` is a
share of the mean of both a, as a margin of claims.DEFAULT_MARGINS is."""
DEFAULT = "gain=0.05"
MOST_OF_A = 2.0
"""Two slopes of one sign differ by at most twice their mean."""
STRATEGIES = 8
"""What a tabular policy chooses among."""


@dataclass(frozen=True)
class Effect:
    """A true difference of one quantity between two levels."""

    quantity: str
    value: float

    @property
    def is_contrast(self) -> bool:
        """Whether fit-entropy-law decides it, by a contrast; else a link of a study does."""
        return self.quantity in CONTRASTED

    @property
    def unit(self) -> str:
        relative = self.quantity == "a"
        return "of the mean of both" if relative else QUANTITIES[self.quantity].unit

    def absolute(self, middle: float) -> float:
        """In the unit of the quantity, whose mean over the levels is `middle`."""
        return self.value * abs(middle) if self.quantity == "a" else self.value

    def __str__(self) -> str:
        return f"{self.quantity}={self.value:g}"


def parse(text: str) -> Effect:
    """`QUANTITY=VALUE`, or a quantity alone for its default. Raises ConfigError."""
    quantity, equals, number = text.partition("=")
    if quantity not in DEFAULTS:
        rule = f"must be QUANTITY=VALUE for one of {', '.join(DEFAULTS)}"
        raise ConfigError(f"{OPTION}: {rule}, got {text!r}")
    if not equals:
        return Effect(quantity, DEFAULTS[quantity])
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{OPTION}: VALUE must be a finite number above 0, got {text!r}")
    return Effect(quantity, value)


def check_primary(primary: str | None, effect: Effect) -> None:
    """Raise ConfigError for a quantity that no contrast is of, and beside a link's effect."""
    families.check_primary(primary)
    if primary is not None and not effect.is_contrast:
        rule = f"has no effect on {effect.quantity}, which a link of a study decides by itself"
        raise ConfigError(f"{families.PRIMARY_OPTION}: {rule}; got {primary}")


def check_range(effect: Effect, config: RunConfig) -> None:
    """Raise ConfigError for a difference larger than two runs of `config` can have."""
    most, why = _most(effect, config)
    if effect.value > most:
        rule = f"{effect.quantity} must be at most {most:.3g}, {why}"
        raise ConfigError(f"{OPTION}: {rule}; got {effect.value:g}")


def _most(effect: Effect, config: RunConfig) -> tuple[float, str]:
    if effect.quantity == "a":
        return MOST_OF_A, "since it is a share of the mean of both"
    if QUANTITIES[effect.quantity].unit == REWARD:
        return REWARD_RANGE, "the range of a reward"
    tabular = config.policy.kind == "tabular"
    choices = STRATEGIES if tabular else max(config.policy.vocabulary, 2)
    return math.log(choices), f"the entropy of {choices} equally likely choices"
