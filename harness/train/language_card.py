"""Over what, how and when H and R of a language model are measured: the card in run.json."""

from __future__ import annotations

from typing import Any

from harness import engines
from harness.config import RunConfig
from harness.train import evaluate, probe, rewards


def measurement_card(config: RunConfig, start: str) -> dict[str, Any]:
    """Over what, how and when H and R of this rung are measured."""
    return {
        "entropy": {
            "tokens": "the policy's own tokens, with the end token it draws",
            "support": "full vocabulary",
            "estimator": "exact",
            "average": "mean over tokens",
            "temperature": config.policy.temperature,
            "weights": "before update",
            "prompts": "training users, states visited",
            "unit": "nats",
        },
        "reward": rewards.card(config.reward),
        "eval": {
            "conversations": f"{evaluate.USERS} held-out users a level, fixed draws",
            "temperature": config.policy.temperature,
            "weights": "before update",
        },
        "probe": f"one reply to each of {probe.OPENERS} openers and "
        f"{probe.MID_CONVERSATION} prefixes in mid-conversation",
        "engine": engines.chosen(config),
        "start": start,
    }
