"""Has training moved the policy towards solving, and how far from its start?"""

from __future__ import annotations

from collections.abc import Sequence

from harness.probes.quantity import Probe, ProbeQuantity, replies
from harness.train.saved_policy.policy import HeldOutConversation


def _solving(conversations: Sequence[HeldOutConversation]) -> tuple[float, float]:
    all_replies = list(replies(conversations))
    return float(sum(reply.solves for reply in all_replies)), float(len(all_replies))


def _solving_after_feeling(conversations: Sequence[HeldOutConversation]) -> tuple[float, float]:
    matching = [reply for reply in replies(conversations) if reply.after_feeling]
    return float(sum(reply.solves for reply in matching)), float(len(matching))


def _divergence(conversations: Sequence[HeldOutConversation]) -> tuple[float, float]:
    divergences = [held_out.divergence for held_out in conversations]
    return sum(d.nats for d in divergences), float(sum(d.units for d in divergences))


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
