"""Conversations that the simulator could not bring to an end, by what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.config.simulator import SIMULATOR_FAULTS
from harness.train.rollout.conversation import Conversation


def failures(conversations: Sequence[Conversation]) -> dict[str, float]:
    """`sim/failed/TYPE`: how many were lost to each fault."""
    kinds = Counter(c.last.why["fault"] for c in conversations if c.last.ended == "failed")
    return {f"sim/failed/{kind}": float(kinds[kind]) for kind in SIMULATOR_FAULTS}
