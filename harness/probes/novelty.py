"""Does what was learnt hold with users unlike those of training?

A run that trains on some of the eight intentions (difficulty.intentions) is asked once with users
who came for these, and once with users who came for the others; the users are the same but for
that. What is lost on the others, and whether training has widened it, is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from harness.config.run import INTENTIONS, LEVELS, DifficultyConfig, RunConfig
from harness.errors import ConfigError
from harness.probes.quantity import Probe, Quantity, Setting
from harness.train.saved_policy.policy import Held

MET, NOT_MET = "intentions of training", "others"


def _with(intentions: Sequence[str], config: RunConfig) -> RunConfig:
    """The config with users who came for one of these, at every level."""

    def of(level: DifficultyConfig) -> DifficultyConfig:
        return replace(level, intentions=list(intentions))

    levels = replace(config.levels, **{name: of(getattr(config.levels, name)) for name in LEVELS})
    return replace(config, difficulty=of(config.difficulty), levels=levels)


def _settings(config: RunConfig) -> Sequence[Setting]:
    trained = config.difficulty.intentions
    others = [name for name in INTENTIONS if name not in trained]
    if not others:
        raise ConfigError(
            "difficulty.intentions must leave some out for this probe, whose question is of those "
            f"that training did not meet; got all {len(trained)}"
        )
    return (
        Setting(MET, partial(_with, trained)),
        Setting(NOT_MET, partial(_with, others)),
    )


def _reward(some: Sequence[Held]) -> tuple[float, float]:
    last = [one.conversation.last for one in some]
    known = [turn.emotion / 100 for turn in last if turn.ended != "failed"]
    return sum(known), float(len(known))


def _quantities(config: RunConfig) -> Sequence[Quantity]:
    return (Quantity("reward", "0 to 1", _reward),)


NOT_SERVED = (
    "since its two groups must be the same users but for what they came for, and a model gives "
    "who came for something else other words from the opening on"
)
PROBE = Probe(
    "novelty",
    "Does what was learnt hold with users unlike those of training?",
    _quantities,
    settings=_settings,
    not_served=NOT_SERVED,
    combined=lambda config: {f"{NOT_MET} minus {MET}": ((1.0, NOT_MET), (-1.0, MET))},
)
