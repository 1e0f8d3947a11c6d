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
    """The training reward of a conversation. Evaluations do not use it."""

    name: Annotated[str, ByOption()] = "terminal"
    """Name of the reward, as shown in results."""
    mode: Annotated[str, OneOf(MODES, plug_ins="reward"), ByOption()] = "terminal"
    """Kind of reward: terminal (reported final emotion / 100), delta (final minus initial emotion,
    / 100), turns (the change of emotion by each reply, credited to that reply), mixed (terminal and
    turns combined), ctc (terminal, plus each reply's change relative to the mean of its turn),
    warmth (mean kindness of the replies' strategies, whoever the user is), alliance (mean of bond,
    goal and task, as far as known) or one from a plug-in."""
    mix: Annotated[float | None, Between(0, 1), Only("reward.mode", ("mixed",))] = None
    """Weight of turns; terminal has weight 1 - mix. null unless reward=mixed."""
    credit: Annotated[float | None, Between(0, 1000), Only("reward.mode", ("ctc",))] = None
    """Amount that a change of emotion by 100, relative to the mean of its turn, adds to a reply's
    advantage. null unless reward=ctc."""
    return_mix: Annotated[float, Between(0, 1), Only("reward.mode", BY_TURN)] = 0.0
    """Weight of the return in a reply's credit: the change of emotion by it and all later replies.
    The change by the reply alone has weight 1 - return_mix."""
    solution_bias: Annotated[float, Between(0, 1)] = 0.0
    """Weight of the share of replies that suggest or inform. The reward of reward.mode has weight 1
    - solution_bias."""
    options: Annotated[dict[str, Any], OfPlugIns("reward.mode", MODES)] = field(
        default_factory=dict, hash=False
    )
    """Options of a plug-in's reward. Set one by reward.options.KEY=VALUE."""

    def __post_init__(self) -> None:
        ranges.check("reward", self)
        if self.mode == "mixed" and self.mix is None:
            raise ConfigError("reward.mix must be a number if reward.mode is mixed, got null")
        if self.mode == "ctc" and self.credit is None:
            raise ConfigError("reward.credit must be a number if reward.mode is ctc, got null")
