"""The reward that the trainer maximises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from harness.config import ranges
from harness.config.ranges import Between, ByOption, OfPlugIns, OneOf, Only
from harness.errors import ConfigError

MODES = ("terminal", "delta", "turns", "mixed", "ctc", "warmth", "alliance")
SHARED = ("terminal", "delta", "warmth", "alliance")
"""Modes that give all replies of a conversation the same reward."""
BY_TURN = ("turns", "mixed", "ctc")
"""Modes that give each reply its own reward."""


@dataclass(frozen=True)
class RewardConfig:
    """The reward of a conversation in training. Evaluations are not affected by it."""

    name: Annotated[str, ByOption()] = "terminal"
    """Name of the reward, under which the run is filed."""
    mode: Annotated[str, OneOf(MODES, plug_ins="reward"), ByOption()] = "terminal"
    """terminal (final emotion as reported / 100), delta (final minus initial emotion, / 100), turns
    (the change by each reply, credited to that reply), mixed (terminal and turns combined), ctc
    (terminal, and the change by each reply against the mean of its turn), warmth (mean kindness of
    the strategies in each reply, whoever the user is), alliance (mean of bond, goal and task, as
    far as the user keeps account of them), or a plug-in's reward."""
    mix: Annotated[float | None, Between(0, 1), Only("reward.mode", ("mixed",))] = None
    """Weight of turns; terminal has the rest. null unless reward=mixed."""
    credit: Annotated[float | None, Between(0, 1000), Only("reward.mode", ("ctc",))] = None
    """What a change by 100, against the mean of its turn, adds to a reply's advantage. null unless
    reward=ctc."""
    return_mix: Annotated[float, Between(0, 1), Only("reward.mode", BY_TURN)] = 0.0
    """Weight of the change by a reply and all later ones, as credit of the reply; the change by the
    reply alone has the rest."""
    solution_bias: Annotated[float, Between(0, 1)] = 0.0
    """Weight of solving, the share of replies that suggest or inform; the mode's reward has the
    rest."""
    options: Annotated[dict[str, Any], OfPlugIns("reward.mode", MODES)] = field(
        default_factory=dict, hash=False
    )
    """Keys of the reward that a plug-in adds; one is set by reward.options.KEY=VALUE."""

    def __post_init__(self) -> None:
        ranges.check("reward", self)
        if self.mode == "mixed" and self.mix is None:
            raise ConfigError("reward.mix must be a number if reward.mode is mixed, got null")
        if self.mode == "ctc" and self.credit is None:
            raise ConfigError("reward.credit must be a number if reward.mode is ctc, got null")
