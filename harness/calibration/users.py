"""Whose users are measured: the first scripted user with one of its readers, or the second.

Cards name them by what they hear with: `lexical`, a language model, or `second`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator import factory, second
from harness.simulator.protocol import SupporterReply, UserTurn
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader, recognise


class MeasuredUsers(Protocol):
    """Users whose chance of a rise is known exactly."""

    def open(self, keys: Sequence[Any]) -> list[UserTurn]:
        """Return the opening of each conversation."""

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply."""

    def rise_probability(self, state: Any, reply: SupporterReply) -> float:
        """Return P(the emotion rises) if the user of `state` gets `reply`."""

    def rise_probabilities(
        self, states: Sequence[Any], replies: Sequence[SupporterReply]
    ) -> list[float]:
        """Return `rise_probability` of each user and the reply they get."""


@dataclass(frozen=True, slots=True)
class SecondReader:
    """Stands for the second user, who hears with nothing else than their own reader."""

    name: str = "second"


SECOND = SecondReader()
Reader = SentenceReader | SecondReader
"""What names the users that are measured."""


def reader_of(simulator: SimulatorConfig) -> Reader:
    """Return what names a run's users. Raises ConfigError."""
    return SECOND if simulator.kind == "second" else factory.reader_of(simulator)


def simulated(level: DifficultyConfig, reader: Reader = LEXICAL) -> MeasuredUsers:
    """Return the users of a level."""
    if isinstance(reader, SecondReader):
        from harness.calibration.second_users import SecondUsers

        return SecondUsers(level)
    from harness.simulator.scripted.user import ScriptedSimulator

    return ScriptedSimulator(level, reader=reader)


def prepare(texts: Sequence[str], reader: Reader) -> None:
    """Read texts at once, where that is cheaper than one by one."""
    if not isinstance(reader, SecondReader):
        from harness.simulator.scripted.reading import read_all

        read_all(texts, reader)


def strategies(text: str, reader: Reader) -> tuple[str, ...]:
    """Return the strategies that are heard in a reply."""
    if isinstance(reader, SecondReader):
        from harness.simulator.second.reading import read

        return read(text).strategies
    return recognise(text, reader)


def shows_attitude(text: str, reader: Reader) -> bool:
    """Return whether a user's first sentence says how the reply was taken."""
    if isinstance(reader, SecondReader):
        from harness.simulator.second import voice as own

        return own.shows_attitude(text)
    from harness.simulator.scripted import voice

    return voice.shows_attitude(text)


def played(reader: Reader) -> list[str | int]:
    """Return what a card's key says of the users beyond the level."""
    if isinstance(reader, SecondReader):
        return ["second", second.VERSION]
    return ["scripted"]
