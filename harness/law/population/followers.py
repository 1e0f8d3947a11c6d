"""The share of seeds that follow the law, where some may be undetermined."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import special

from harness.law.population_results import Follows
from harness.law.results import Interval

FOLLOWS = ("holds", "holds_form_open", "holds_until_onset")
UNDETERMINED = "undetermined"
TAIL = 0.025


def share(verdicts: Sequence[str | None]) -> Follows:
    """One verdict a seed; None of a run that diverged, and of one without a verdict.

    An undetermined seed follows the law or does not, and nobody knows: the interval reaches from
    the lower limit if none of them does to the upper if all do. Limits: Clopper and Pearson 1934.
    """
    followers = sum(verdict in FOLLOWS for verdict in verdicts)
    unknown = sum(verdict in (None, UNDETERMINED) for verdict in verdicts)
    n = len(verdicts)
    decided = n - unknown
    if not decided:
        why = "no_law" if n else "no_run"
        return Follows(None, None, followers, 0, unknown, why)
    value = followers / decided
    return Follows(
        Interval(value, _lower(followers, n), _upper(followers + unknown, n)),
        Interval(value, _lower(followers, decided), _upper(followers, decided)),
        followers,
        decided - followers,
        unknown,
        None,
    )


def _lower(count: int, n: int) -> float:
    return float(special.betaincinv(count, n - count + 1, TAIL)) if count else 0.0


def _upper(count: int, n: int) -> float:
    return float(special.betaincinv(count + 1, n - count, 1 - TAIL)) if count < n else 1.0
