"""Runs of SmolLM2, and why there may be none."""

from __future__ import annotations

from harness.embedded import models as embedded
from harness.errors import ConfigError

STEPS = 2


WORDS = {
    "policy": "smollm2_135m", "difficulty": "easy", "difficulty.turn_cap": 2,
    "policy.max_turn_tokens": 32, "trainer.conversations": 8, "trainer.steps": STEPS,
    "eval.users": 2, "eval.turn_cap": 1, "eval.levels": "[]", "eval.prefixes": 2,
    "eval.deaf": "false",
}  # fmt: skip


MINUTES = 10
"""Most that a run may take on a machine that does other things as well."""


def absent() -> str | None:
    """Why the model cannot be had here; None where it can."""
    try:
        embedded.check("smollm2_135m", "policy.model")
    except ConfigError as error:
        return str(error)
    return None
