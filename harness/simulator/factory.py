"""The simulator that a run's config asks for: one of ours, or a plug-in's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.config import options
from harness.config.options import Options
from harness.config.run import INTENTIONS, TEMPERAMENTS, DifficultyConfig, SimulatorConfig
from harness.simulator.protocol import ConversationKey, UserSimulator
from harness.utils.remembered import Remembered

if TYPE_CHECKING:
    from harness.simulator.scripted.sentence_reader import SentenceReader


class KnownUser(Protocol):
    """What the record tells of the user of a conversation; no policy sees it."""

    @property
    def intention(self) -> str | None:
        """One of INTENTIONS, by which listening is measured; None where it is none of these."""

    @property
    def temperament(self) -> str | None:
        """One of TEMPERAMENTS; None where it is none of these."""


@dataclass(frozen=True)
class SimulatorPlugIn(Options, ABC):
    """A kind of simulated users that a plug-in adds; its fields are `simulator.options`."""

    @abstractmethod
    def users(self, difficulty: DifficultyConfig) -> UserSimulator:
        """The users of a level, as harness.testing.simulator_contract has them."""

    def user(self, key: ConversationKey, difficulty: DifficultyConfig) -> KnownUser | None:
        """Whom the keys of one group share, for the record; None where that is not told."""
        return None

    @classmethod
    def key(cls) -> str:
        return "simulator.options"


def make(simulator: SimulatorConfig, difficulty: DifficultyConfig) -> UserSimulator:
    """Return the simulator of `simulator.kind` at `difficulty`. Raises ConfigError."""
    ours = OURS.get(simulator.kind)
    return ours(simulator, difficulty) if ours else plug_in(simulator).users(difficulty)


def plug_in(simulator: SimulatorConfig) -> SimulatorPlugIn:
    """The plug-in's simulator with its options. Raises ConfigError for options that do not fit."""
    kind: type[SimulatorPlugIn] = options.plug_in("simulator", simulator.kind, SimulatorPlugIn)
    return options.build(kind, simulator.options)


def reader_of(simulator: SimulatorConfig) -> SentenceReader:
    """Return what the scripted user hears with, each loaded once. Raises ConfigError."""
    if simulator.reader == "lm":
        from harness.simulator.readers.lm import lm_reader

        return lm_reader(simulator.reader_model, simulator.reader_head)
    from harness.simulator.scripted.sentence_reader import LEXICAL

    return LEXICAL


def temperament_of(
    key: ConversationKey, difficulty: DifficultyConfig, simulator: SimulatorConfig
) -> str | None:
    """Temperament of a conversation's user, for the record; None where a plug-in does not tell one
    that harness knows.
    """
    told = getattr(_user(key, difficulty, simulator), "temperament", None)
    return told if told in TEMPERAMENTS else None


def intention_of(
    key: ConversationKey, difficulty: DifficultyConfig, simulator: SimulatorConfig
) -> str | None:
    """What a conversation's user came for, for the record; None where a plug-in does not tell one
    of INTENTIONS.
    """
    told = getattr(_user(key, difficulty, simulator), "intention", None)
    return told if told in INTENTIONS else None


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

    def made(_: Sequence[str]) -> list[UserSimulator]:
        return [ScriptedSimulator(difficulty, simulator.typicality_cut, reader_of(simulator))]

    return _SCRIPTED.of([repr((simulator, difficulty))], made)[0]


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
"""Simulators that are kept: a run has the three named levels and its own."""
_SCRIPTED: Remembered[str, UserSimulator] = Remembered(MOST_REMEMBERED)
"""By config and level: a simulator remembers what its held-out users said, who are met again."""
Maker = Callable[[SimulatorConfig, DifficultyConfig], UserSimulator]
OURS: Mapping[str, Maker] = {"scripted": _scripted, "second": _second, "served": _served}
"""By `simulator.kind`; what each needs is imported when it is made."""
