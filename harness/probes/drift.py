"""Has training moved the policy towards solving, and how far from its start?"""

from __future__ import annotations

from collections.abc import Sequence

from harness.probes.quantity import Probe, ProbeQuantity, replies
from harness.train.saved_policy.policy import HeldOutConversation


def _solving(held: Sequence[HeldOutConversation]) -> tuple[float, float]:
    every = list(replies(held))
    return float(sum(reply.solves for reply in every)), float(len(every))


def _solving_after_feeling(held: Sequence[HeldOutConversation]) -> tuple[float, float]:
    some = [reply for reply in replies(held) if reply.after_feeling]
    return float(sum(reply.solves for reply in some)), float(len(some))


def _divergence(held: Sequence[HeldOutConversation]) -> tuple[float, float]:
    moved = [one.divergence for one in held]
    return sum(one.nats for one in moved), float(sum(one.units for one in moved))


QUANTITIES = (
    ProbeQuantity("solving", "share of replies", _solving, whole=1.0),
    ProbeQuantity(
        "solving just after a feeling", "share of replies", _solving_after_feeling, whole=1.0
    ),
    ProbeQuantity("KL to the start", "nats an act or token", _divergence),
)
PROBE = Probe(
    "drift",
    "Has training moved the policy towards solving, and how far from its start?",
    lambda config: QUANTITIES,
    needs_start=True,
)
