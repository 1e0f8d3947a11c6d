"""How long a run's conversations can become, in tokens: what a model must be able to read."""

from __future__ import annotations

from harness.config.run import RunConfig
from harness.train.metrics import held_out
from harness.train.objective import registry

USER_TOKENS = 64
"""Typical length of a user's turn with the template around it."""
NOTE_TOKENS = 2 * USER_TOKENS
"""What a critique has beside the reply that it quotes, unless what a served user said is long."""


def most_tokens(config: RunConfig, turns: int, prompt_tokens: int = 0) -> int:
    """Length of the longest conversation with so many replies."""
    return prompt_tokens + turns * (config.policy.max_turn_tokens + USER_TOKENS)


def told_tokens(config: RunConfig) -> int:
    """Most tokens of a critique, in the prompt of the reply that is drawn again; 0 without."""
    told = registry.algorithm_of(config).refines_by() not in (None, "none")
    return config.policy.max_turn_tokens + NOTE_TOKENS if told else 0


def most_turns(config: RunConfig) -> int:
    """Most replies in one of a run's conversations, those of its evaluations included."""
    levels = held_out.levels_of(config)
    met = [levels.every[n] for n in levels.met] if config.trainer.evaluated_every else []
    return max(level.turn_cap for level in [config.difficulty, *met])
