"""Computes each quantity of a policy from its answers, and its change against a reference."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.config.run import RunConfig
from harness.probes import over_users, shares
from harness.probes.over_users import Parts, ProbeEstimate
from harness.probes.quantity import Answers, Place, Probe, ProbeQuantity, Terms
from harness.probes.results import ProbeReading


@dataclass(frozen=True)
class MeasurementPlan:
    """The quantities and settings that a probe measures for a run."""

    quantities: tuple[ProbeQuantity, ...]
    terms: Mapping[str, Terms]
    """Terms by the name of the setting, or of the combination of settings."""

    @classmethod
    def of(cls, probe: Probe, config: RunConfig) -> MeasurementPlan:
        """Return what `probe` measures for a run's config. Raises as `Probe.settings` does."""
        terms: dict[str, Terms] = {
            setting.name: [(1.0, setting.name)] for setting in probe.settings(config)
        }
        terms |= probe.combined(config)
        return cls(tuple(probe.quantities(config)), terms)


def each(
    plan: MeasurementPlan, places: Collection[Place]
) -> Iterator[tuple[str, str, ProbeQuantity]]:
    """Yield (level, setting, quantity) of each reading that answers at `places` give."""
    for level in dict.fromkeys(level for level, _ in places):
        for setting, terms in plan.terms.items():
            for quantity in plan.quantities:
                if _is_asked(quantity, places, level, terms):
                    yield level, setting, quantity


def of(
    plan: MeasurementPlan, answers: Answers, step: int, before: Answers | None
) -> Iterator[ProbeReading]:
    """Yield the readings of `answers` by level and setting, with their change since `before`."""
    for level, setting, quantity in each(plan, answers):
        terms = plan.terms[setting]
        weighed = _weighted_parts(quantity, answers, level, terms)
        weighed_before = None if before is None else _weighted_parts(quantity, before, level, terms)
        estimate, change = _estimate(quantity.whole, weighed, weighed_before)
        yield ProbeReading(
            level=level,
            quantity=quantity.name,
            setting=setting,
            unit=quantity.unit,
            step=step,
            estimate=estimate,
            change=change,
            people=quantity.people if len(terms) == 1 else None,
            published=(quantity.published or {}).get(setting),
        )


Weighed = Sequence[tuple[float, Parts]]
"""(factor, parts of a ratio) of the terms of a reading."""


def _estimate(
    whole: float | None, terms: Weighed, before: Weighed | None
) -> tuple[ProbeEstimate, ProbeEstimate]:
    """Return the estimate and its change, by shares.py if the quantity is a share of `whole`."""
    mean, mean_before = _mean_of(terms), None if before is None else _mean_of(before)
    if whole is None or mean is None or (before is not None and mean_before is None):
        return _ratio_estimates(terms, before)
    if mean_before is None:
        return shares.share(mean, whole), over_users.NOT_MEASURED
    return shares.share(mean, whole), shares.share_change(mean_before, mean, whole)


def _mean_of(terms: Weighed) -> Parts | None:
    """Return the parts of a single ratio that equals a mean of ratios.

    None if `terms` is not a mean or the denominators differ between its ratios.
    """
    factors, all_parts = zip(*terms, strict=True)
    denominators = [[b for _, b in parts] for parts in all_parts]
    if any(f != 1 / len(terms) for f in factors) or any(
        other != denominators[0] for other in denominators
    ):
        return None
    return [
        (sum(a for a, _ in user_parts), sum(b for _, b in user_parts))
        for user_parts in zip(*all_parts, strict=True)
    ]


def _ratio_estimates(terms: Weighed, before: Weighed | None) -> tuple[ProbeEstimate, ProbeEstimate]:
    """Return the weighted sum of ratios and its change."""
    estimate = over_users.weighted_sum(terms)
    if before is None:
        return estimate, over_users.NOT_MEASURED
    subtracted = [(-factor, parts) for factor, parts in before]
    return estimate, over_users.weighted_sum([*terms, *subtracted])


def _is_asked(quantity: ProbeQuantity, places: Collection[Place], level: str, terms: Terms) -> bool:
    """Return whether a quantity is measured in all of these settings, and the level has them."""
    names = [name for _, name in terms]
    applies = quantity.settings is None or set(names) <= set(quantity.settings)
    return applies and all((level, name) in places for name in names)


def _weighted_parts(quantity: ProbeQuantity, answers: Answers, level: str, terms: Terms) -> Weighed:
    return [(factor, _parts(quantity, answers[level, setting])) for factor, setting in terms]


def _parts(quantity: ProbeQuantity, by_user: Mapping[int, Sequence[Any]]) -> Parts:
    return [quantity.of_user(by_user[user]) for user in sorted(by_user)]
