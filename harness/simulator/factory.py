"""Builds the simulator that a run's config names: a built-in one or a plug-in's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.config import options
from harness.config.options import Options
from harness.config.run import INTENTIONS, TEMPERAMENTS, DifficultyConfig, SimulatorConfig
from harness.simulator.protocol import ConversationKey, UserSimulator
from harness.utils.remembered import ValueCache

if TYPE_CHECKING:
    from harness.simulator.scripted.sentence_reader import SentenceReader


class KnownUser(Protocol):
    """What the record says about the user of a conversation; no policy sees it."""

    @property
    def intention(self) -> str | None:
        """The intention, which the listening measures need; None if not one of INTENTIONS."""

    @property
    def temperament(self) -> str | None:
        """The temperament; None if not one of TEMPERAMENTS."""


@dataclass(frozen=True)
class SimulatorPlugIn(Options, ABC):
    """A kind of simulated users that a plug-in adds; its fields are `simulator.options`."""

    @abstractmethod
    def users(self, difficulty: DifficultyConfig) -> UserSimulator:
        """Return the users of a level. harness.testing.simulator_contract tests the contract."""

    def user(self, key: ConversationKey, difficulty: DifficultyConfig) -> KnownUser | None:
        """Return the user of `key`'s group, for the record; None if the plug-in does not say."""
        return None

    @classmethod
    def key(cls) -> str:
        return "simulator.options"


def make(simulator: SimulatorConfig, difficulty: DifficultyConfig) -> UserSimulator:
    """Return the simulator of `simulator.kind` at `difficulty`. Raises ConfigError."""
    maker = OURS.get(simulator.kind)
    return maker(simulator, difficulty) if maker else plug_in(simulator).users(difficulty)


def plug_in(simulator: SimulatorConfig) -> SimulatorPlugIn:
    """Return the plug-in's simulator with its options. Raises ConfigError for invalid options."""
    kind: type[SimulatorPlugIn] = options.plug_in("simulator", simulator.kind, SimulatorPlugIn)
    return options.build(kind, simulator.options)


def reader_of(simulator: SimulatorConfig) -> SentenceReader:
    """Return the scripted user's sentence reader. Each is loaded once. Raises ConfigError."""
    if simulator.reader == "lm":
        from harness.simulator.readers.lm import lm_reader

        return lm_reader(simulator.reader_model, simulator.reader_head)
    from harness.simulator.scripted.sentence_reader import LEXICAL

    return LEXICAL


def temperament_of(
    key: ConversationKey, difficulty: DifficultyConfig, simulator: SimulatorConfig
) -> str | None:
    """Return the temperament of a conversation's user, for the record; None if a plug-in does not
    give one of TEMPERAMENTS.
    """
    temperament = getattr(_user(key, difficulty, simulator), "temperament", None)
    return temperament if temperament in TEMPERAMENTS else None


def intention_of(
    key: ConversationKey, difficulty: DifficultyConfig, simulator: SimulatorConfig
) -> str | None:
    """Return the intention of a conversation's user, for the record; None if a plug-in does not
    give one of INTENTIONS.
    """
    intention = getattr(_user(key, difficulty, simulator), "intention", None)
    return intention if intention in INTENTIONS else None


def _user(
    key: ConversationKey, difficulty: DifficultyConfig, simulator: SimulatorConfig
) -> KnownUser | None:
    if simulator.kind not in OURS:
        return plug_in(simulator).user(key, difficulty)
    from harness.simulator.served.cast import user_of

    return user_of(key, difficulty, simulator)


def _scripted(simulator: SimulatorConfig, difficulty: DifficultyConfig) -> UserSimulator:
    if simulator.profiles:
        from harness.simulator.served.cast import ProfiledSimulator

        return ProfiledSimulator(difficulty, simulator, reader_of(simulator))
    from harness.simulator.scripted.user import ScriptedSimulator

    def build(_: Sequence[str]) -> list[UserSimulator]:
        return [ScriptedSimulator(difficulty, simulator.typicality_cut, reader_of(simulator))]

    return _SCRIPTED.of([repr((simulator, difficulty))], build)[0]


def _second(simulator: SimulatorConfig, difficulty: DifficultyConfig) -> UserSimulator:
    from harness.simulator.second.user import SecondSimulator

    return SecondSimulator(difficulty, simulator.typicality_cut)


def _served(simulator: SimulatorConfig, difficulty: DifficultyConfig) -> UserSimulator:
    from harness.simulator.served import relay
    from harness.simulator.served.client import client_for
    from harness.simulator.served.simulator import ServedSimulator

    line = relay.line()
    if line is not None:
        return relay.RelayedUsers(difficulty, line)
    return ServedSimulator(difficulty, client_for(simulator))


MOST_REMEMBERED = 6
"""Number of simulators to cache. A run uses the three named levels and its own."""
_SCRIPTED: ValueCache[str, UserSimulator] = ValueCache(MOST_REMEMBERED)
"""Cached by config and level, because a simulator caches the answers of its held-out users, who
return at every evaluation.
"""
Maker = Callable[[SimulatorConfig, DifficultyConfig], UserSimulator]
OURS: Mapping[str, Maker] = {"scripted": _scripted, "second": _second, "served": _served}
"""The built-in simulators by `simulator.kind`. Each imports its modules when it is made."""
