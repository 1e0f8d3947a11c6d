"""The measurement card of run.json: how H and R are measured, and over which tokens and users.

Runs with different cards are not pooled.
"""

from __future__ import annotations

from typing import Any

from harness.config import engine_choice
from harness.config.run import LEVELS, RunConfig
from harness.train.metrics import evaluate
from harness.train.rollout import rewards


def of_tabular(config: RunConfig) -> dict[str, Any]:
    """Return the card of a tabular run, whose H is that of the choice among strategies."""
    openers, later = map(len, evaluate.prefix_numbers(config.eval.prefixes))
    probe = f"{openers} openers, {later} mid-conversation"
    return _card(config, "acts", "eight strategies", "mean over acts", probe)


def of_language(config: RunConfig, start: str) -> dict[str, Any]:
    """Return the card of a language model's run, whose H is that of the next token.

    `start`: name of the start model.
    """
    tokens = "the policy's own tokens, with the end token it draws"
    openers, later = map(len, evaluate.prefix_numbers(config.eval.prefixes))
    probe = f"one reply to each of {openers} openers and {later} prefixes in mid-conversation"
    card = _card(config, tokens, "full vocabulary", "mean over tokens", probe)
    dtype = {"computed_in": "float32"} if _asks_for_less_on_a_cpu(config) else {}
    return {**card, **dtype, "engine": engine_choice.engine_of(config), "start": start}


def _asks_for_less_on_a_cpu(config: RunConfig) -> bool:
    """Return whether the run computes in float32 although its config asks for another dtype."""
    return config.trainer.gpus == 0 and config.policy.dtype != "float32"


def _card(config: RunConfig, tokens: str, support: str, average: str, probe: str) -> dict[str, Any]:
    """Return the card of any policy; its entropy is exact and measured before the update."""
    return {
        "entropy": {
            "tokens": tokens,
            "support": support,
            "estimator": "exact",
            "average": average,
            "temperature": config.policy.temperature,
            "weights": "before update",
            "prompts": "training users, states visited",
            "unit": "nats",
        },
        "reward": rewards.card(config.reward),
        "eval": {
            "conversations": f"{config.eval.users} held-out users a level, fixed draws",
            "users": config.eval.users,
            "levels": [name for name in LEVELS if name in config.eval.levels],
            "repeats": config.eval.repeats,
            "turn_cap": config.eval.turn_cap,
            "temperature": config.policy.temperature,
            "weights": "before update",
        },
        "probe": probe,
    }
