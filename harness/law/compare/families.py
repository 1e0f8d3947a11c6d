"""Adjust p over all comparisons of an analysis: each quantity is a family, and one is primary.

The familywise error rate is 5%. The primary quantity is tested at 3% and the others share 2%
equally; within a quantity, Holm 1979 adjusts over its pairs. A quantity whose pairs are all decided
passes its share on, equally to the other open quantities, and to the primary one only if no other
is open (recycling of whole families: Burman, Sonesson and Guilbaud 2009). So testing the other
quantities costs the primary one little power.

The primary quantity is the first of `PRIMARY` with a pair that can be tested, regardless of the
outcome. A quantity named by the user takes precedence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.law.compare import claims

PRIMARY = ("ceiling", "gain", "fall", "onset", "a")
"""The ceiling comes first, as the main prediction of the law. gain and fall need no law."""
PRIMARY_SHARE = 0.6
PRIMARY_OPTION = "--primary"


def check_primary(quantity: str | None, where: str = PRIMARY_OPTION) -> None:
    """Raise ConfigError if contrasts do not have the quantity; `where` names the option."""
    if quantity is not None and quantity not in PRIMARY:
        rule = f"must be a quantity of contrasts, one of {', '.join(PRIMARY)}"
        raise ConfigError(f"{where}: {rule}, got {quantity!r}")


@dataclass(frozen=True)
class Family:
    """The tests of one quantity, one per pair."""

    p: tuple[float, ...]
    """Adjusted p, in the order given. A pair is decided if its p is below claims.LEVEL."""
    primary: bool
    first: float
    """The smallest unadjusted p of the family must be below claims.LEVEL / `first`."""


def adjust_families(
    p_values: Mapping[str, Sequence[float]], preferred: str | None = None
) -> dict[str, Family]:
    """Return quantity -> its family with adjusted p, which is empty for a quantity without tests.

    `preferred`: the quantity that is primary if it can be tested.
    """
    tested = {quantity: claims.holm(p) for quantity, p in p_values.items() if len(p)}
    order = PRIMARY if preferred is None else (preferred, *PRIMARY)
    primary = next((quantity for quantity in order if quantity in tested), None)
    shares = _pass_on_shares(tested, _initial_shares(tested, primary), primary)
    families = {}
    for quantity, p in p_values.items():
        if quantity not in tested:
            families[quantity] = Family((), False, 1.0)
            continue
        share = shares[quantity]
        values = tuple(min(1.0, value / share) for value in tested[quantity])
        families[quantity] = Family(values, quantity == primary, len(p) / share)
    return families


def _initial_shares(tested: Mapping[str, Sequence[float]], primary: str | None) -> dict[str, float]:
    """Return quantity -> its initial share of the error rate."""
    others = len(tested) - 1
    if others <= 0:
        return dict.fromkeys(tested, 1.0)
    other_share = (1 - PRIMARY_SHARE) / others
    return {quantity: PRIMARY_SHARE if quantity == primary else other_share for quantity in tested}


def _pass_on_shares(
    tested: Mapping[str, Sequence[float]], shares: Mapping[str, float], primary: str | None
) -> dict[str, float]:
    """Return the shares after every family that is fully decided passed its share on."""
    final, open_shares = dict(shares), dict(shares)
    while len(open_shares) > 1:
        decided = next(
            (
                quantity
                for quantity in open_shares
                if max(tested[quantity]) / open_shares[quantity] < claims.LEVEL
            ),
            None,
        )
        if decided is None:
            break
        freed = open_shares.pop(decided)
        heirs = [quantity for quantity in open_shares if quantity != primary] or list(open_shares)
        for quantity in heirs:
            final[quantity] = open_shares[quantity] = open_shares[quantity] + freed / len(heirs)
    return final
