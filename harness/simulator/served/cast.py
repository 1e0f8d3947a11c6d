"""Who comes to be talked with: one of our own people, or of simulator.profiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.config import DifficultyConfig
from harness.errors import ConfigError
from harness.simulator import rules
from harness.simulator.draws import pick, uniforms
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey
from harness.simulator.served import profiles
from harness.simulator.served.profiles import Profile
from harness.simulator.state import User
from harness.simulator_config import SimulatorConfig


@dataclass(frozen=True, slots=True)
class Guest:
    """A user of a profile, with what it left to the level."""

    profile: Profile
    intention: str
    temperament: str


def who(
    key: ConversationKey, difficulty: DifficultyConfig, simulator: SimulatorConfig
) -> User | Guest:
    """The user whom the keys of one group share. Raises ConfigError."""
    if not simulator.profiles:
        return rules.who(key, difficulty)[0]
    u = uniforms("user", key.seed, key.split, key.step, key.group)
    profile = pick(tuple(_fitting(key.split, difficulty, simulator.profiles)), u[0])
    return Guest(
        profile,
        profile.intention or pick(tuple(difficulty.intentions), u[1]),
        profile.temperament or pick(tuple(difficulty.temperaments), u[2]),
    )


def check(difficulty: DifficultyConfig, simulator: SimulatorConfig) -> None:
    """Raises ConfigError if the profiles are not sound, or none of a side fits the level."""
    for split in (TRAIN, HELD_OUT) if simulator.profiles else ():
        if not any(_fitting(split, difficulty, simulator.profiles)):
            raise ConfigError(
                f"simulator.profiles: {simulator.profiles} must have {split} users whose intention "
                f"and temperament level {difficulty.name} lets come, got none of "
                f"{', '.join(difficulty.intentions)} with {', '.join(difficulty.temperaments)}"
            )


def _fitting(split: str, difficulty: DifficultyConfig, path: str) -> Iterator[Profile]:
    """Users of a side whom the level lets come, in the order of the file."""
    for profile in profiles.known(path):
        may = profile.intention is None or profile.intention in difficulty.intentions
        can = profile.temperament is None or profile.temperament in difficulty.temperaments
        if profile.split == split and may and can:
            yield profile
