"""Who comes to be talked with: one of our own people, or of simulator.profiles."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.config.run import DifficultyConfig
from harness.config.simulator import SimulatorConfig
from harness.errors import ConfigError
from harness.simulator import rules
from harness.simulator.draws import pick, uniforms
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.served import profiles
from harness.simulator.served.profiles import Profile
from harness.simulator.state import User


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
    profile = _drawn(key, difficulty, simulator.profiles)
    user, _ = rules.who(key, _narrowed(difficulty, profile))
    return (
        user if simulator.kind == "scripted" else Guest(profile, user.intention, user.temperament)
    )


class ScriptedGuests:
    """Scripted users who come for what profiles say, in the joint mix of those; the story and the
    words stay those of our own people, which are the only ones that a scripted user knows.
    """

    def __init__(self, difficulty: DifficultyConfig, simulator: SimulatorConfig) -> None:
        self.difficulty, self._path = difficulty, simulator.profiles
        self._alike: dict[tuple[str | None, str | None], ScriptedSimulator] = {}

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """The opening of each conversation; the keys of one group give the same."""
        return [self._of(_drawn(key, self.difficulty, self._path)).open([key])[0] for key in keys]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """The user's answer to each reply. Raises ValueError for a conversation that has ended."""
        return ScriptedSimulator(self.difficulty).answer(turns, replies)

    def _of(self, profile: Profile) -> ScriptedSimulator:
        sort = (profile.intention, profile.temperament)
        if sort not in self._alike:
            self._alike[sort] = ScriptedSimulator(_narrowed(self.difficulty, profile))
        return self._alike[sort]


def _drawn(key: ConversationKey, difficulty: DifficultyConfig, path: str) -> Profile:
    u = uniforms("profile", key.seed, key.split, key.step, key.group)
    return pick(_fitting(key.split, difficulty, path), u[0])


def _narrowed(difficulty: DifficultyConfig, profile: Profile) -> DifficultyConfig:
    """The level with no intention and no temperament but those that the profile asks for."""
    return replace(
        difficulty,
        intentions=[profile.intention] if profile.intention else difficulty.intentions,
        temperaments=[profile.temperament] if profile.temperament else difficulty.temperaments,
    )


def check(difficulty: DifficultyConfig, simulator: SimulatorConfig) -> None:
    """Raises ConfigError if the profiles are not sound, or none of a side fits the level."""
    for split in (TRAIN, HELD_OUT) if simulator.profiles else ():
        if not _fitting(split, difficulty, simulator.profiles):
            raise ConfigError(
                f"simulator.profiles: {simulator.profiles} must have {split} users whose intention "
                f"and temperament level {difficulty.name} lets come, got none of "
                f"{', '.join(difficulty.intentions)} with {', '.join(difficulty.temperaments)}"
            )


def _fitting(split: str, difficulty: DifficultyConfig, path: str) -> tuple[Profile, ...]:
    """Users of a side whom the level lets come, in the order of the file."""
    return _letting(split, tuple(difficulty.intentions), tuple(difficulty.temperaments), path)


@functools.cache
def _letting(
    split: str, intentions: tuple[str, ...], temperaments: tuple[str, ...], path: str
) -> tuple[Profile, ...]:
    return tuple(
        profile
        for profile in profiles.known(path)
        if profile.split == split
        and profile.intention in (None, *intentions)
        and profile.temperament in (None, *temperaments)
    )
