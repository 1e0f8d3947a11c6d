"""What is rewarded, and in which order of difficulty: two parts of a run's config."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from harness.config.ranges import in_range, one_of
from harness.errors import ConfigError

REWARD_MODES = ("terminal", "delta", "turns", "mixed")
CURRICULA = ("none", "staged", "adaptive", "mixed", "reverse")
CLIMBS = ("staged", "adaptive", "mixed")
"""Curricula that go over the named levels."""
CURRICULUM_KEYS = {
    "staged": ("medium_from", "hard_from"),
    "adaptive": ("target", "sensitivity", "rate"),
    "mixed": ("weight_easy", "weight_medium", "weight_hard"),
    "reverse": ("start_share", "whole_from"),
}
"""The keys that each of them heeds."""
Level = TypeVar("Level", bound=Any)
"""DifficultyConfig, in config.py, which is built on this file."""


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
    """How difficulty changes within a run; evaluations stay as they are."""

    name: str = "none"
    kind: str = "none"
    """none, staged, adaptive, mixed (levels drawn for each group) or reverse (late starts)."""
    medium_from: int | None = None
    """staged: first step at medium; null: after a third, or half of what is before hard."""
    hard_from: int | None = None
    """staged: first step at hard; null: after two thirds, or half of what is behind medium."""
    target: float = 0.5
    """adaptive: the mean final emotion as reported / 100 that difficulty is steered to."""
    sensitivity: float = 2.0
    """adaptive: how sharply it answers to a mean off the target."""
    rate: float = 50.0
    """adaptive: the farthest that difficulty (0-100) moves in a step."""
    weight_easy: float = 1.0
    """mixed: the share of groups at each level goes by these."""
    weight_medium: float = 1.0
    weight_hard: float = 1.0
    start_share: float = 0.75
    """reverse: share of a conversation that is over when the policy takes over, at step 1."""
    whole_from: int | None = None
    """reverse: first step of whole conversations; null: after two thirds of the run."""

    def __post_init__(self) -> None:
        one_of("curriculum.kind", self.kind, CURRICULA)
        for key in ("medium_from", "hard_from", "whole_from"):
            if getattr(self, key) is not None:
                in_range(f"curriculum.{key}", getattr(self, key), 1, 10_000_000)
        in_range("curriculum.target", self.target, 0, 1)
        in_range("curriculum.sensitivity", self.sensitivity, 0, 1000)
        in_range("curriculum.rate", self.rate, 0, 100)
        in_range("curriculum.start_share", self.start_share, 0, 0.95)
        weights = (self.weight_easy, self.weight_medium, self.weight_hard)
        for key, weight in zip(CURRICULUM_KEYS["mixed"], weights, strict=True):
            in_range(f"curriculum.{key}", weight, 0, 1e6)
        if not sum(weights):
            raise ConfigError("curriculum.weight_*: one of them must be above 0, got 0, 0 and 0")
        if None not in (self.medium_from, self.hard_from):
            in_range("curriculum.hard_from", self.hard_from or 0, self.medium_from or 0, 10_000_000)
        self._refuse_idle_keys()

    def check_users(self, simulator_kind: str, own: Any, levels: Any) -> None:
        """Raises ConfigError for users who cannot be met as this curriculum would."""
        if self.kind == "reverse" and simulator_kind != "scripted":
            raise ConfigError(
                "curriculum=reverse must have simulator=scripted, whose conversations can be taken "
                f"over in the middle, got simulator.kind {simulator_kind}"
            )
        if self.kind in CLIMBS:  # each level must be possible with the run's own keys
            level_ladder(own, levels)

    def _refuse_idle_keys(self) -> None:
        """A key of another curriculum would do nothing."""
        defaults = {f.name: f.default for f in fields(self)}
        for kind, keys in CURRICULUM_KEYS.items():
            for key in keys if kind != self.kind else ():
                if getattr(self, key) != defaults[key]:
                    raise ConfigError(
                        f"curriculum.{key} must stay at its default unless curriculum.kind is "
                        f"{kind}, got {getattr(self, key)} with {self.kind}"
                    )


def level_ladder(own: Level, levels: Any) -> tuple[Level, ...]:
    """easy, medium and hard of `levels` as a run meets them that has settings of its own.

    What tells the named levels from each other is theirs, all else is of `own`: turn cap, start
    emotion and reward noise are the run's, whichever level it is at.
    """
    named = (levels.easy, levels.medium, levels.hard)
    apart = [f.name for f in fields(own) if len({repr(getattr(n, f.name)) for n in named}) > 1]
    return tuple(replace(own, **{key: getattr(level, key) for key in apart}) for level in named)
