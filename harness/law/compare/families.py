"""Which of many comparisons may be believed: each quantity is a family of tests, one is primary.

An analysis that compares nothing unlike decides anything at all in at most 5%. Of these 5 the
primary quantity has 3 and the others share 2, each an equal part; within a quantity Holm 1979 over
its pairs. A quantity whose every pair is decided needs its part no longer and hands it on, in
equal parts to those of the others that are open, and only then to the primary (Burman, Sonesson
and Guilbaud 2009: the recycling of whole families). So the quantity that a sweep is about pays next
to nothing for a look at the others.

Primary is the first of `PRIMARY` of which any pair can be tested, whatever comes out; a quantity
that the user names stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.law.compare import claims

PRIMARY = ("ceiling", "gain", "fall", "onset", "a")
"""The ceiling is what the law is asked for; gain and fall need no law."""
PRIMARY_SHARE = 0.6
PRIMARY_OPTION = "--primary"


def check_primary(quantity: str | None, where: str = PRIMARY_OPTION) -> None:
    """Raise ConfigError for a quantity that no contrast is of; `where` it was given."""
    if quantity is not None and quantity not in PRIMARY:
        rule = f"must be a quantity of contrasts, one of {', '.join(PRIMARY)}"
        raise ConfigError(f"{where}: {rule}, got {quantity!r}")


@dataclass(frozen=True)
class Family:
    """The tests of one quantity, one a pair."""

    p: tuple[float, ...]
    """Adjusted p, in the order given: below claims.LEVEL it is decided."""
    primary: bool
    first: float
    """The smallest p of the family must be below claims.LEVEL / this."""


def adjusted(
    of_quantity: Mapping[str, Sequence[float]], named: str | None = None
) -> dict[str, Family]:
    """Quantity -> its p, adjusted; one without tests stays empty. `named`: the quantity that is
    primary if it can be tested.
    """
    tested = {quantity: claims.holm(p) for quantity, p in of_quantity.items() if len(p)}
    order = PRIMARY if named is None else (named, *PRIMARY)
    primary = next((quantity for quantity in order if quantity in tested), None)
    shares = _handed_on(tested, _begun_with(tested, primary), primary)
    families = {}
    for quantity, p in of_quantity.items():
        if quantity not in tested:
            families[quantity] = Family((), False, 1.0)
            continue
        share = shares[quantity]
        values = tuple(min(1.0, value / share) for value in tested[quantity])
        families[quantity] = Family(values, quantity == primary, len(p) / share)
    return families


def _begun_with(tested: Mapping[str, Sequence[float]], primary: str | None) -> dict[str, float]:
    """Quantity -> the part of the error rate that it has before any decision."""
    others = len(tested) - 1
    if others <= 0:
        return dict.fromkeys(tested, 1.0)
    rest = (1 - PRIMARY_SHARE) / others
    return {quantity: PRIMARY_SHARE if quantity == primary else rest for quantity in tested}


def _handed_on(
    tested: Mapping[str, Sequence[float]], shares: Mapping[str, float], primary: str | None
) -> dict[str, float]:
    """The parts after every family that is decided as a whole has handed on its own."""
    final, held = dict(shares), dict(shares)
    while len(held) > 1:
        whole = next((q for q in held if max(tested[q]) / held[q] < claims.LEVEL), None)
        if whole is None:
            break
        freed = held.pop(whole)
        heirs = [quantity for quantity in held if quantity != primary] or list(held)
        for quantity in heirs:
            final[quantity] = held[quantity] = held[quantity] + freed / len(heirs)
    return final
