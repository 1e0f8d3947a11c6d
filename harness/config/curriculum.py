"""The order of difficulty within a run."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated

from harness.config import ranges
from harness.config.difficulty import DifficultyConfig, LevelsConfig
from harness.config.ranges import Between, ByOption, OneOf, Only, Unit, in_range
from harness.config.simulator import IN_PROCESS
from harness.errors import ConfigError

CLIMBS = ("staged", "adaptive", "mixed")
"""Curricula that train on the named levels."""
STAGED = Only("curriculum.kind", ("staged",))
ADAPTIVE = Only("curriculum.kind", ("adaptive",))
MIXED = Only("curriculum.kind", ("mixed",))
REVERSE = Only("curriculum.kind", ("reverse",))
LAST_STEP = 10_000_000


@dataclass(frozen=True)
class CurriculumConfig:
    """The schedule of difficulty in training. Evaluations do not follow it."""

    name: Annotated[str, ByOption()] = "none"
    """Name of the curriculum, as shown in results."""
    kind: Annotated[str, OneOf(("none", *CLIMBS, "reverse")), ByOption()] = "none"
    """Kind of curriculum: none (one difficulty), staged (easy, then medium, then hard), adaptive
    (difficulty follows the reward), mixed (a level drawn for each group) or reverse (the policy
    takes over late in a conversation, then ever earlier)."""
    medium_from: Annotated[int | None, Between(1, LAST_STEP), Unit("step"), STAGED] = None
    """First step at medium. null: one third into the run, or halfway to hard_from."""
    hard_from: Annotated[int | None, Between(1, LAST_STEP), Unit("step"), STAGED] = None
    """First step at hard, not before medium_from. null: two thirds into the run, or halfway between
    medium_from and the end."""
    target: Annotated[float, Between(0, 1), ADAPTIVE] = 0.5
    """Mean reported final emotion / 100 that the difficulty is adapted to reach."""
    sensitivity: Annotated[float, Between(0, 1000), ADAPTIVE] = 2.0
    """Gain of the controller, which changes difficulty by rate * tanh(sensitivity * (reward -
    target)) in each step."""
    rate: Annotated[float, Between(0, 100), Unit("points"), ADAPTIVE] = 50.0
    """Largest change of difficulty (0 easy, 50 medium, 100 hard) in one step."""
    weight_easy: Annotated[float, Between(0, 1e6), MIXED] = 1.0
    """Weight of easy when a group's level is drawn. The weights need not sum to 1."""
    weight_medium: Annotated[float, Between(0, 1e6), MIXED] = 1.0
    """Weight of medium."""
    weight_hard: Annotated[float, Between(0, 1e6), MIXED] = 1.0
    """Weight of hard."""
    start_share: Annotated[float, Between(0, 0.95), REVERSE] = 0.75
    """Share of a conversation that is over when the policy takes over, at step 1. It falls linearly
    to 0 at whole_from."""
    whole_from: Annotated[int | None, Between(1, LAST_STEP), Unit("step"), REVERSE] = None
    """First step with whole conversations. null: two thirds into the run."""

    def __post_init__(self) -> None:
        ranges.check("curriculum", self)
        if not self.weight_easy + self.weight_medium + self.weight_hard:
            raise ConfigError("curriculum.weight_*: one of them must be above 0, got 0, 0 and 0")
        if self.medium_from is not None and self.hard_from is not None:
            in_range("curriculum.hard_from", self.hard_from, self.medium_from, LAST_STEP)

    def check_users(
        self, simulator_kind: str, difficulty: DifficultyConfig, levels: LevelsConfig
    ) -> None:
        """Raise ConfigError if the curriculum does not work with these simulated users."""
        if self.kind == "reverse" and simulator_kind not in IN_PROCESS:
            raise ConfigError(
                "curriculum=reverse must have simulator=scripted or second, whose conversations "
                f"can be taken over in the middle, got simulator.kind {simulator_kind}"
            )
        if self.kind in CLIMBS:  # each level must be valid in combination with the run's own keys
            level_ladder(difficulty, levels)


def level_ladder(
    difficulty: DifficultyConfig, levels: LevelsConfig
) -> tuple[DifficultyConfig, ...]:
    """Return easy, medium and hard as they are in a run with this `difficulty`.

    Keys in which the named levels differ have the level's value. All others, such as turn cap,
    start emotion and reward noise, have the run's own value at every level.
    """
    named_levels = (levels.easy, levels.medium, levels.hard)
    names = [field.name for field in dataclasses.fields(difficulty)]
    differing = [n for n in names if len({repr(getattr(level, n)) for level in named_levels}) > 1]
    return tuple(
        dataclasses.replace(difficulty, **{name: getattr(level, name) for name in differing})
        for level in named_levels
    )


def trained_levels(
    settings: CurriculumConfig, difficulty: DifficultyConfig, levels: LevelsConfig
) -> tuple[DifficultyConfig, ...]:
    """Return the levels that a run can train on."""
    if settings.kind not in CLIMBS:
        return (difficulty,)
    ladder = level_ladder(difficulty, levels)
    if settings.kind != "mixed":
        return ladder
    weights = (settings.weight_easy, settings.weight_medium, settings.weight_hard)
    return tuple(level for level, weight in zip(ladder, weights, strict=True) if weight)
