"""Numbers that may be None, where a test is about their value."""

from __future__ import annotations

from typing import TypeVar

from harness.law.group_results import GroupDifference, SeedMean
from harness.law.results import BoundedEstimate, Interval

T = TypeVar("T")


def present(value: T | None) -> T:
    """The value, which must be there."""
    assert value is not None
    return value


def interval(bounded: GroupDifference | SeedMean | BoundedEstimate | None) -> Interval:
    """The estimate with both ends of its 95% interval, all of which must be there."""
    assert bounded is not None
    if isinstance(bounded, GroupDifference):
        value: float | None = bounded.difference
    else:
        value = bounded.mean if isinstance(bounded, SeedMean) else bounded.value
    return Interval(present(value), present(bounded.low), present(bounded.high))
