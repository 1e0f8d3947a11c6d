"""The user of a served conversation, a built-in persona or a profile, and the user's memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.config.run import DifficultyConfig
from harness.config.simulator import SimulatorConfig
from harness.errors import ConfigError
from harness.simulator.draws import pick, uniforms
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.served import profiles
from harness.simulator.served.profiles import Profile
from harness.simulator.state import User, draw_user

USER, SUPPORTER = "user", "supporter"
"""Speakers of a message."""


@dataclass(frozen=True, slots=True)
class ProfiledUser:
    """A user from a profile. The level draws intention and temperament if the profile has none."""

    profile: Profile
    intention: str
    temperament: str


@dataclass(frozen=True, slots=True)
class ServedState:
    """A served user's memory of one conversation: the immutable value of UserTurn.state."""

    key: ConversationKey
    user: User | ProfiledUser
    emotion: int
    reported: float
    """Initial emotion plus the reported changes, before clipping to 0-100."""
    messages: tuple[tuple[str, str], ...] = ()
    """(USER or SUPPORTER, text), as quoted in prompts; the opening first."""
    turn: int = 0
    """Number of replies so far."""
    fault: str | None = None
    """Kind of fault of a failed opening; the first reply then ends the conversation."""


def user_of(
    key: ConversationKey, difficulty: DifficultyConfig, simulator: SimulatorConfig
) -> User | ProfiledUser:
    """Return the user that all keys of one group share. Raises ConfigError."""
    if not simulator.profiles:
        return draw_user(key, difficulty)[0]
    profile = _draw_profile(key, difficulty, simulator.profiles)
    user, _ = draw_user(key, _narrow(difficulty, profile))
    if simulator.kind == "scripted":
        return user
    return ProfiledUser(profile, user.intention, user.temperament)


class ProfiledSimulator:
    """Scripted users with the joint distribution of intention and temperament of a profile file.

    Their stories and words are those of the built-in personas, the only ones of a scripted user.
    """

    def __init__(
        self,
        difficulty: DifficultyConfig,
        simulator: SimulatorConfig,
        reader: SentenceReader = LEXICAL,
    ) -> None:
        self.difficulty, self._path = difficulty, simulator.profiles
        self._typicality_cut, self._reader = simulator.typicality_cut, reader
        self._simulators: dict[tuple[str | None, str | None], ScriptedSimulator] = {}

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Return the opening of each conversation, the same for all keys of a group."""
        return [
            self._simulator_for(_draw_profile(key, self.difficulty, self._path)).open([key])[0]
            for key in keys
        ]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply. Raises ValueError for an ended conversation."""
        level = ScriptedSimulator(self.difficulty, self._typicality_cut, self._reader)
        return level.answer(turns, replies)

    def _simulator_for(self, profile: Profile) -> ScriptedSimulator:
        kind = (profile.intention, profile.temperament)
        if kind not in self._simulators:
            level = _narrow(self.difficulty, profile)
            self._simulators[kind] = ScriptedSimulator(level, self._typicality_cut, self._reader)
        return self._simulators[kind]


def _draw_profile(key: ConversationKey, difficulty: DifficultyConfig, path: str) -> Profile:
    u = uniforms("profile", key.seed, key.split, key.step, key.group)
    return pick(_require_allowed(key.split, difficulty, path), u[0])


def _narrow(difficulty: DifficultyConfig, profile: Profile) -> DifficultyConfig:
    """Return the level limited to the profile's intention and temperament, where it has them."""
    return replace(
        difficulty,
        intentions=[profile.intention] if profile.intention else difficulty.intentions,
        temperaments=[profile.temperament] if profile.temperament else difficulty.temperaments,
    )


def check(difficulty: DifficultyConfig, simulator: SimulatorConfig) -> None:
    """Raise ConfigError if the profiles are invalid, or no profile of a split fits the level."""
    for split in (TRAIN, HELD_OUT) if simulator.profiles else ():
        _require_allowed(split, difficulty, simulator.profiles)


def _require_allowed(split: str, difficulty: DifficultyConfig, path: str) -> tuple[Profile, ...]:
    """Return `_allowed_profiles`. Raises ConfigError if it is empty."""
    allowed = _allowed_profiles(split, difficulty, path)
    if not allowed:
        raise ConfigError(
            f"simulator.profiles: {path} must have {split} users whose intention and temperament "
            f"level {difficulty.name} lets come, got none of {', '.join(difficulty.intentions)} "
            f"with {', '.join(difficulty.temperaments)}"
        )
    return allowed


def _allowed_profiles(split: str, difficulty: DifficultyConfig, path: str) -> tuple[Profile, ...]:
    """Return the profiles of a split that the level allows, in file order."""
    return _select(split, tuple(difficulty.intentions), tuple(difficulty.temperaments), path)


@functools.cache
def _select(
    split: str, intentions: tuple[str, ...], temperaments: tuple[str, ...], path: str
) -> tuple[Profile, ...]:
    return tuple(
        profile
        for profile in profiles.load(path)
        if profile.split == split
        and profile.intention in (None, *intentions)
        and profile.temperament in (None, *temperaments)
    )
