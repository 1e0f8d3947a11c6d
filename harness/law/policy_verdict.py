"""The verdict on the policy at the end of its run: does it hear what the user says?"""

from __future__ import annotations

from harness.law.estimate import numbers
from harness.law.reference_results import Yardsticks
from harness.law.results import Floats

DIVERSE = 0.5
"""Share of the H of its start above which a policy counts as diverse."""
LISTENS = 0.1
"""Share of what the attentive reference hears, in nats, from which on a policy listens."""


def judge(entropy: Floats, end: Yardsticks | None) -> str | None:
    """The verdict, which says nothing of the law.

    `listens`; `template`, diverse and deaf (arXiv 2604.06268); or `deaf`, its H below half of the
    start's. `entropy`: H at every step, shape (n,), n at least 1. None where listening, or what
    the attentive reference hears at this level, was not measured, or the latter is 0.
    """
    if end is None or end.listening is None or not (end.anchors.attentive_listening or 0) > 0:
        return None
    if end.listening >= LISTENS * (end.anchors.attentive_listening or 0):
        return "listens"
    start, last = entropy[: max(1, len(entropy) // 50)], numbers.last_tenth(entropy)
    return "template" if numbers.mean(last) > DIVERSE * numbers.mean(start) else "deaf"
