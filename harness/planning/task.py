"""Define the task of a plan: the difference to decide, the decision rule, and the pilot.

The rule calls the functions that will judge the finished runs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.law.compare import claims, families, link_tests, moderation, quantities, random_effects
from harness.law.compare.moderation import GroupMean
from harness.law.compare.quantities import CONTRASTED, QUANTITIES, REWARD
from harness.law.results import Interval
from harness.law.variance.results import REWARD_RANGE
from harness.planning.pilot import Pilot

OPTION = "--effect"
EFFECTS: Mapping[str, float] = {
    "gain": 0.05, "final_reward": 0.05, "entropy_lost": 0.10, "ceiling": 0.05, "a": 0.20,
}  # fmt: skip
"""Quantity that can be planned for -> its default difference. That of `a` is a share of the mean a
of both levels, as in claims.DEFAULT_MARGINS."""
DEFAULT_EFFECT = "gain=0.05"
MOST_OF_A = 2.0
"""Two slopes of the same sign differ by at most twice their mean."""
STRATEGIES = 8
"""Number of strategies of a tabular policy."""
Runs = Sequence[Interval]
"""The value of each run of a level, with its own 95% interval (infinite if unknown)."""


@dataclass(frozen=True)
class PlanningTask:
    """A difference to decide, its decision rule, and the pilot."""

    effect: TargetEffect
    rule: DecisionRule
    pilot: Pilot
    configs: tuple[RunConfig, ...]
    wanted: float
    typed: frozenset[str] = frozenset()
    known: bool = False
    """Whether the pilot's spread over seeds is treated as exact."""


@dataclass(frozen=True)
class TargetEffect:
    """A true difference of one quantity between two levels."""

    quantity: str
    value: float

    @property
    def is_contrast(self) -> bool:
        """Whether a contrast of fit-entropy-law decides it, rather than a link of a study."""
        return self.quantity in CONTRASTED

    @property
    def unit(self) -> str:
        relative = self.quantity == "a"
        return "of the mean of both" if relative else QUANTITIES[self.quantity].unit

    def absolute(self, middle: float) -> float:
        """Return the difference in the unit of the quantity. `middle`: its mean over the levels."""
        return self.value * abs(middle) if self.quantity == "a" else self.value

    def __str__(self) -> str:
        return f"{self.quantity}={self.value:g}"


def parse_effect(text: str) -> TargetEffect:
    """Parse `QUANTITY=VALUE`, or a quantity alone for its default. Raise ConfigError if invalid."""
    quantity, equals, number = text.partition("=")
    if quantity not in EFFECTS:
        rule = f"must be QUANTITY=VALUE for one of {', '.join(EFFECTS)}"
        raise ConfigError(f"{OPTION}: {rule}, got {text!r}")
    if not equals:
        return TargetEffect(quantity, EFFECTS[quantity])
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{OPTION}: VALUE must be a finite number above 0, got {text!r}")
    return TargetEffect(quantity, value)


def check_primary(primary: str | None, effect: TargetEffect) -> None:
    """Raise ConfigError if `primary` is no quantity of contrasts, or a link decides the effect."""
    families.check_primary(primary)
    if primary is not None and not effect.is_contrast:
        rule = f"has no effect on {effect.quantity}, which is decided by a link of a study"
        raise ConfigError(f"{families.PRIMARY_OPTION}: {rule}; got {primary}")


def check_range(effect: TargetEffect, config: RunConfig) -> None:
    """Raise ConfigError for a difference larger than two runs of `config` can have."""
    most, why = _largest_effect(effect, config)
    if effect.value > most:
        rule = f"{effect.quantity} must be at most {most:.3g}, {why}"
        raise ConfigError(f"{OPTION}: {rule}; got {effect.value:g}")


def _largest_effect(effect: TargetEffect, config: RunConfig) -> tuple[float, str]:
    if effect.quantity == "a":
        return MOST_OF_A, "since it is a share of the mean of both"
    if QUANTITIES[effect.quantity].unit == REWARD:
        return REWARD_RANGE, "the range of a reward"
    tabular = config.policy.kind == "tabular"
    choices = STRATEGIES if tabular else max(config.policy.vocabulary, 2)
    return math.log(choices), f"the entropy of {choices} equally likely choices"


@dataclass(frozen=True)
class DecisionRule:
    """The rule that decides one quantity of several levels.

    A contrast of `fit-entropy-law` (gain, ceiling, a) uses means over seeds, variances moderated
    over the levels, and p adjusted within the quantity and for the other quantities of the
    analysis. The others are assumed to be undecided, so they pass on no share of the error rate. A
    link of a study (final_reward, entropy_lost) uses the mean over pairs of the same seed, as a
    link that decides its study.
    """

    quantity: str
    pairs: tuple[tuple[int, int], ...]
    """Pairs (later, baseline) of the levels that are compared."""
    others: tuple[str, ...] = ()
    """The other quantities that the analysis tests."""
    paired: bool = False
    """Whether seeds are paired, as by a link of a study."""
    primary: str | None = None
    """The quantity that was named primary."""

    @functools.cached_property
    def comparisons(self) -> float:
        """Divisor of the level: the smallest p must be below claims.LEVEL / comparisons."""
        if self.paired:
            return 1.0
        tested = {name: [1.0] * len(self.pairs) for name in (self.quantity, *self.others)}
        return families.adjust_families(tested, self.primary)[self.quantity].first

    @property
    def words(self) -> str:
        """The description of the rule in the answer."""
        if self.paired:
            return "a link of a study: pairs of the same seed, 95% t interval"
        pairs = len(self.pairs)
        pairs_text = f", corrected by Holm over {pairs} pairs" if pairs > 1 else ""
        others_text = f" (the rest is for {', '.join(self.others)})" if self.others else ""
        level = claims.LEVEL * pairs / self.comparisons
        primary_text = f" {families.PRIMARY_OPTION} {self.primary}" if self.primary else ""
        level_text = f"at level {level:.2g} out of {claims.LEVEL:g}{others_text}{pairs_text}"
        return f"a contrast of fit-entropy-law{primary_text} {level_text}"

    def decided(self, levels: Sequence[Runs], pair_index: int) -> int:
        """Decide one pair: 1 if its later level is higher, -1 if lower, 0 if undecided."""
        if self.paired:
            return _decide_link(levels, self.pairs[pair_index])
        samples = quantities.samples(self.quantity, [list(level) for level in levels])
        means = [random_effects.mean(sample) for sample in samples]
        means_by_level = {
            index: GroupMean(index, mean, len(sample))
            for index, (mean, sample) in enumerate(zip(means, samples, strict=True))
            if mean is not None
        }
        tested = [
            n for n, pair in enumerate(self.pairs) if all(index in means_by_level for index in pair)
        ]
        prior = moderation.prior(means_by_level[index] for n in tested for index in self.pairs[n])
        estimates = {}
        for n in tested:
            later, baseline = self.pairs[n]
            estimate = prior.difference(means_by_level[later], means_by_level[baseline])
            if estimate is not None:
                estimates[n] = estimate
        if pair_index not in estimates:
            return 0
        p = [claims.p_differs(estimate) for estimate in estimates.values()]
        other_p_values = {name: [1.0] * len(p) for name in self.others}
        adjusted = families.adjust_families({self.quantity: p, **other_p_values}, self.primary)[
            self.quantity
        ].p
        position = list(estimates).index(pair_index)
        if adjusted[position] >= claims.LEVEL:
            return 0
        return 1 if estimates[pair_index].value > 0 else -1


def _decide_link(levels: Sequence[Runs], pair: tuple[int, int]) -> int:
    later, baseline = (levels[index] for index in pair)
    gaps = [
        later_run.value - baseline_run.value
        for later_run, baseline_run in zip(later, baseline, strict=True)
    ]
    estimate = link_tests.paired_estimate(gaps)
    if estimate is None:
        return 0
    for sign in (1, -1):
        if link_tests.verdict_p_values((estimate, estimate), sign, 0.0).supported < claims.LEVEL:
            return sign
    return 0
