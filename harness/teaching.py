"""What is rewarded, and in which order of difficulty: two parts of a run's config."""

from __future__ import annotations

from dataclasses import dataclass

from harness.checks import in_range, one_of
from harness.errors import ConfigError

REWARD_MODES = ("terminal", "delta", "turns", "mixed")


@dataclass(frozen=True)
class RewardConfig:
    """What a conversation is worth to the trainer; evaluations do not know of it."""

    name: str = "terminal"
    mode: str = "terminal"
    """terminal (final emotion as reported / 100), delta (final minus start), turns (the change by
    each reply, credited to that reply), mixed (terminal and turns at once)."""
    mix: float | None = None
    """Weight of turns against terminal, 0 to 1; of `mixed` only."""
    solution_bias: float = 0.0
    """Weight of solving, 0 to 1: the share of replies that suggest or inform."""

    def __post_init__(self) -> None:
        one_of("reward.mode", self.mode, REWARD_MODES)
        in_range("reward.solution_bias", self.solution_bias, 0, 1)
        if self.mode != "mixed" and self.mix is not None:
            raise ConfigError(
                f"reward.mix must be null unless reward.mode is mixed, got {self.mix} with "
                f"{self.mode}"
            )
        if self.mode == "mixed":
            if self.mix is None:
                raise ConfigError("reward.mix must be a number if reward.mode is mixed, got null")
            in_range("reward.mix", self.mix, 0, 1)


@dataclass(frozen=True)
class CurriculumConfig:
    """How difficulty changes within a run; `none` keeps it fixed."""

    name: str = "none"
