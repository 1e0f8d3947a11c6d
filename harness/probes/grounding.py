"""Does the policy make sure that it understands, and does asking pay?

Acts of grounding are questions, restatements and reflections. Shaikh et al. (arXiv 2311.09144) find
77.5% fewer of them in replies of preference-tuned models than in people's. A policy trained for
reward may stop asking (arXiv 2603.12109); the facts that users tell after a question, and after
other replies, show what that would cost.

The values for people are from utterances of human supporters as read by the scripted user's reader:
ESConv's dev split, `python -m benchmarks.grounding_anchor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.probes.quantity import Probe, Quantity, replies
from harness.train.metrics.replies import Reply
from harness.train.saved_policy.policy import Held

REPLIES = "per 100 replies"
GROUNDING = ("question", "restate", "reflect")
PEOPLE = {"acts of grounding": 46.8, "question": 28.1, "restate": 4.9, "reflect": 13.7,
          "solving": 27.1}  # fmt: skip
"""Human supporters' acts per 100 utterances, measured on 3,000."""


def _per_100(
    counted: Callable[[Reply], float], among: Callable[[Reply], bool] = lambda _: True
) -> Callable[[Sequence[Held]], tuple[float, float]]:
    """Return a function for the mean of `counted` per 100 replies, among the replies `among`."""

    def of_user(held: Sequence[Held]) -> tuple[float, float]:
        some = [reply for reply in replies(held) if among(reply)]
        return 100.0 * sum(map(counted, some)), float(len(some))

    return of_user


def _facts(asks: bool) -> Callable[[Sequence[Held]], tuple[float, float]]:
    """Return a function for the facts told per reply that asks, or per reply that does not."""

    def of_user(held: Sequence[Held]) -> tuple[float, float]:
        told = [
            reply.facts_told
            for reply in replies(held)
            if reply.facts_told is not None and reply.asks == asks
        ]
        return float(sum(told)), float(len(told))

    return of_user


def _act(name: str) -> Quantity:
    return Quantity(name, REPLIES, _per_100(lambda r: name in r.strategies), PEOPLE[name])


QUANTITIES = (
    Quantity(
        "acts of grounding",
        REPLIES,
        _per_100(lambda r: sum(name in r.strategies for name in GROUNDING)),
        PEOPLE["acts of grounding"],
    ),
    *map(_act, GROUNDING),
    Quantity("solving", REPLIES, _per_100(lambda r: r.solves), PEOPLE["solving"]),
    Quantity(
        "solving just after a feeling",
        REPLIES,
        _per_100(lambda r: r.solves, lambda r: r.after_feeling),
    ),
    Quantity("told after a question", "facts", _facts(asks=True)),
    Quantity("told after other replies", "facts", _facts(asks=False)),
)
PROBE = Probe(
    "grounding",
    "Does the policy check that it understands, and is asking useful?",
    lambda config: QUANTITIES,
)
