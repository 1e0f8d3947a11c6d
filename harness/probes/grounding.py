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

from harness.probes.quantity import Probe, ProbeQuantity, replies
from harness.train.metrics.replies import Reply
from harness.train.saved_policy.policy import HeldOutConversation

REPLIES = "per 100 replies"
GROUNDING = ("question", "restate", "reflect")
PEOPLE = {"acts of grounding": 46.8, "question": 28.1, "restate": 4.9, "reflect": 13.7,
          "solving": 27.1}  # fmt: skip
"""Human supporters' acts per 100 utterances, measured on 3,000."""


def _per_100(
    value: Callable[[Reply], float], is_counted: Callable[[Reply], bool] = lambda _: True
) -> Callable[[Sequence[HeldOutConversation]], tuple[float, float]]:
    """Return a function for the mean of `value` per 100 replies, among the replies `is_counted`."""

    def of_user(conversations: Sequence[HeldOutConversation]) -> tuple[float, float]:
        chosen = [reply for reply in replies(conversations) if is_counted(reply)]
        return 100.0 * sum(map(value, chosen)), float(len(chosen))

    return of_user


def _facts(asks: bool) -> Callable[[Sequence[HeldOutConversation]], tuple[float, float]]:
    """Return a function for the facts told per reply that asks, or per reply that does not."""

    def of_user(conversations: Sequence[HeldOutConversation]) -> tuple[float, float]:
        counts = [
            reply.facts_told
            for reply in replies(conversations)
            if reply.facts_told is not None and reply.asks == asks
        ]
        return float(sum(counts)), float(len(counts))

    return of_user


def _act(name: str) -> ProbeQuantity:
    return ProbeQuantity(name, REPLIES, _per_100(lambda r: name in r.strategies), PEOPLE[name])


QUANTITIES = (
    ProbeQuantity(
        "acts of grounding",
        REPLIES,
        _per_100(lambda r: sum(name in r.strategies for name in GROUNDING)),
        PEOPLE["acts of grounding"],
    ),
    *map(_act, GROUNDING),
    ProbeQuantity("solving", REPLIES, _per_100(lambda r: r.solves), PEOPLE["solving"]),
    ProbeQuantity(
        "solving just after a feeling",
        REPLIES,
        _per_100(lambda r: r.solves, lambda r: r.after_feeling),
    ),
    ProbeQuantity("told after a question", "facts", _facts(asks=True)),
    ProbeQuantity("told after other replies", "facts", _facts(asks=False)),
)
PROBE = Probe(
    "grounding",
    "Does the policy check that it understands, and is asking useful?",
    lambda config: QUANTITIES,
)
