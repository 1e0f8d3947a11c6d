"""What decides a difference: the very functions that decide it once the runs are there.

A contrast of `fit-entropy-law` (gain, ceiling, a): means over seeds, variances moderated over the
levels, p adjusted within the quantity and for the other quantities of the analysis. Of those
nothing is assumed: they count as undecided, and hand on nothing. A link of a study (final_reward,
entropy_lost): the mean of the pairs of a seed, as a link that decides its study.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from harness.law.compare import claims, families, link_tests, moderation, quantities, random_effects
from harness.law.compare.moderation import GroupMean
from harness.law.results import Interval

Runs = Sequence[Interval]
"""The value of each run of a level, with its own 95% interval where it has one."""


@dataclass(frozen=True)
class Rule:
    """How one quantity of several levels is decided."""

    quantity: str
    pairs: tuple[tuple[int, int], ...]
    """Levels that are compared: the later and the baseline."""
    others: tuple[str, ...] = ()
    """The other quantities that the analysis tests."""
    paired: bool = False
    """Whether seeds are paired, as by a link of a study."""
    primary: str | None = None
    """The quantity that was named primary."""

    @functools.cached_property
    def comparisons(self) -> float:
        """The smallest p must be below claims.LEVEL / this."""
        if self.paired:
            return 1.0
        tested = {name: [1.0] * len(self.pairs) for name in (self.quantity, *self.others)}
        return families.adjusted(tested, self.primary)[self.quantity].first

    @property
    def words(self) -> str:
        """The rule as the answer tells it."""
        if self.paired:
            return "a link of a study: the pairs of each seed, 95% t interval"
        pairs = len(self.pairs)
        over = f", {pairs} pairs by Holm's correction" if pairs > 1 else ""
        beside = f", which it shares with {', '.join(self.others)}" if self.others else ""
        level = claims.LEVEL * pairs / self.comparisons
        named = f" {families.PRIMARY_OPTION} {self.primary}" if self.primary else ""
        at = f"at a level of {level:.2g} of the {claims.LEVEL:g}{beside}{over}"
        return f"a contrast of fit-entropy-law{named} {at}"

    def decided(self, levels: Sequence[Runs], at: int) -> int:
        """Whether pair number `at` is said to differ: 1 where the later is higher, -1 where it is
        lower, 0 where it is not said.
        """
        if self.paired:
            return _link(levels, self.pairs[at])
        samples = quantities.samples(self.quantity, [list(level) for level in levels])
        means = [random_effects.mean(sample) for sample in samples]
        known = {
            place: GroupMean(place, mean, len(sample))
            for place, (mean, sample) in enumerate(zip(means, samples, strict=True))
            if mean is not None
        }
        tested = [n for n, pair in enumerate(self.pairs) if all(place in known for place in pair)]
        prior = moderation.prior(known[place] for n in tested for place in self.pairs[n])
        estimates = {}
        for n in tested:
            later, baseline = self.pairs[n]
            estimate = prior.difference(known[later], known[baseline])
            if estimate is not None:
                estimates[n] = estimate
        if at not in estimates:
            return 0
        p = [claims.p_differs(estimate) for estimate in estimates.values()]
        beside = {name: [1.0] * len(p) for name in self.others}
        adjusted = families.adjusted({self.quantity: p, **beside}, self.primary)[self.quantity].p
        place = list(estimates).index(at)
        if adjusted[place] >= claims.LEVEL:
            return 0
        return 1 if estimates[at].value > 0 else -1


def _link(levels: Sequence[Runs], pair: tuple[int, int]) -> int:
    later, baseline = (levels[place] for place in pair)
    gaps = [one.value - other.value for one, other in zip(later, baseline, strict=True)]
    estimate = link_tests.paired(gaps)
    if estimate is None:
        return 0
    for sign in (1, -1):
        if link_tests.evidence((estimate, estimate), sign, 0.0).supported < claims.LEVEL:
            return sign
    return 0
