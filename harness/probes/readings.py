"""From conversations to numbers: each quantity of a policy, and how it differs from another's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.config.run import RunConfig
from harness.probes import over_users, shares
from harness.probes.over_users import Estimate, Parts
from harness.probes.quantity import Answers, Place, Probe, Quantity, Terms
from harness.probes.results import Reading


@dataclass(frozen=True)
class Asked:
    """What is asked of a run."""

    quantities: tuple[Quantity, ...]
    terms: Mapping[str, Terms]
    """By the name of the setting, or of what is asked of several."""

    @classmethod
    def of(cls, probe: Probe, config: RunConfig) -> Asked:
        """Of a run with this config. Raises as `Probe.settings` does."""
        terms: dict[str, Terms] = {one.name: [(1.0, one.name)] for one in probe.settings(config)}
        terms |= probe.combined(config)
        return cls(tuple(probe.quantities(config)), terms)


def each(asked: Asked, places: Collection[Place]) -> Iterator[tuple[str, str, Quantity]]:
    """Level, setting and quantity of each reading that answers at these places give."""
    for level in dict.fromkeys(level for level, _ in places):
        for setting, terms in asked.terms.items():
            for quantity in asked.quantities:
                if _is_asked(quantity, places, level, terms):
                    yield level, setting, quantity


def of(asked: Asked, answers: Answers, step: int, before: Answers | None) -> Iterator[Reading]:
    """Level by level, setting by setting; the change is since `before`."""
    for level, setting, quantity in each(asked, answers):
        terms = asked.terms[setting]
        own = _weighed(quantity, answers, level, terms)
        held_against = None if before is None else _weighed(quantity, before, level, terms)
        estimate, change = _estimated(quantity.whole, own, held_against)
        yield Reading(
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
"""Factors and the ratios that they are of."""


def _estimated(
    whole: float | None, own: Weighed, before: Weighed | None
) -> tuple[Estimate, Estimate]:
    """The number and its change, as shares of a whole where it is one of those."""
    now, then = _mean_of(own), None if before is None else _mean_of(before)
    if whole is None or now is None or (before is not None and then is None):
        return _of_ratios(own, before)
    if then is None:
        return shares.share(now, whole), over_users.NOT_MEASURED
    return shares.share(now, whole), shares.share_change(then, now, whole)


def _mean_of(terms: Weighed) -> Parts | None:
    """The parts of the one ratio that a mean of ratios is, where users say as much in each."""
    factors, each = zip(*terms, strict=True)
    below = [[b for _, b in parts] for parts in each]
    if any(f != 1 / len(terms) for f in factors) or any(one != below[0] for one in below):
        return None
    return [(sum(a for a, _ in own), sum(b for _, b in own)) for own in zip(*each, strict=True)]


def _of_ratios(own: Weighed, before: Weighed | None) -> tuple[Estimate, Estimate]:
    """The sum of factors times ratios and its change."""
    estimate = over_users.combined(own)
    if before is None:
        return estimate, over_users.NOT_MEASURED
    taken_off = [(-factor, parts) for factor, parts in before]
    return estimate, over_users.combined([*own, *taken_off])


def _is_asked(quantity: Quantity, places: Collection[Place], level: str, terms: Terms) -> bool:
    """Whether a quantity belongs to all of these settings, and the level has them."""
    names = [name for _, name in terms]
    belongs = quantity.settings is None or set(names) <= set(quantity.settings)
    return belongs and all((level, name) in places for name in names)


def _weighed(quantity: Quantity, answers: Answers, level: str, terms: Terms) -> Weighed:
    return [(factor, _parts(quantity, answers[level, setting])) for factor, setting in terms]


def _parts(quantity: Quantity, by_user: Mapping[int, Sequence[Any]]) -> Parts:
    return [quantity.of_user(by_user[user]) for user in sorted(by_user)]
