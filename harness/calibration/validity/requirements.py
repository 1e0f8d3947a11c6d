"""Requirements on a user before a policy is trained on it; needs no measuring code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEAST_HEARD = 0.5
"""Least share of cruel replies that the user must hear as hurtful."""
MOST = {
    "contradictions": (0.05, "of appraisals contradict themselves"),
    "echoes": (0.05, "of answers hand the supporter's words back"),
    "repeats": (0.25, "of answers say the same again"),
    "shuffled_rises": (0.25, "of replies with their words shuffled lift the mood"),
    "lost": (0.2, "of conversations were lost"),
}
"""Measures of a served user: the largest admissible share, and its description."""


def problems(measured: Mapping[str, Any]) -> list[str]:
    """Return the reasons, one sentence each, why training on this user does not teach empathy.

    `measured` is the validity of a card, as stored.
    """
    preferred, heard = measured.get("kind_minus_cruel"), measured.get("cruel_heard")
    reasons = []
    if preferred is None or not preferred["low"] > 0:  # `not >` also catches nan
        evidence = "nothing was measured"
        if preferred is not None:
            low_high = f"[{preferred['low']:.1f}, {preferred['high']:.1f}]"
            evidence = f"kind minus cruel replies {preferred['value']:.1f} {low_high} points"
        reasons.append(f"the user is not shown to prefer kindness to cruelty ({evidence})")
    if heard is None:
        reasons.append("the user is not shown to hear cruel replies as hurtful: none was answered")
    elif not heard["value"] >= LEAST_HEARD:
        reasons.append(f"the user hears {heard['value']:.0%} of cruel replies as hurtful")
    return reasons


def admission_problems(measured: Mapping[str, Any]) -> list[str]:
    """Return the reasons, one sentence each, why a served user with these measures is refused."""
    reasons = problems(measured)
    for name, (limit, words) in MOST.items():
        value = measured.get(name)
        if value is not None and not value["value"] <= limit:
            reasons.append(f"{value['value']:.0%} {words}, and at most {limit:.0%} may")
    return reasons


def order_problem(easier: str, difference: Mapping[str, float] | None) -> list[str]:
    """Return the reason why a level is easier than `easier`, if so.

    `difference` is the final emotion at `easier` minus at this level.
    """
    if difference is None or difference["high"] >= 0:
        return []
    text = f"{difference['value']:.1f} [{difference['low']:.1f}, {difference['high']:.1f}]"
    return [f"its users end above those of {easier} (difference {text} points)"]


def bar() -> str:
    """Return a description of the requirements on a served user."""
    limits = "; ".join(f"at most {share:.0%} {words}" for share, words in MOST.values())
    return (
        "admitted where kind replies end above cruel ones, with an interval above 0; at least "
        f"{LEAST_HEARD:.0%} of cruel replies lower the mood; {limits}; "
        "no level ends above an easier one"
    )
