"""The users that are measured: the first scripted user with one of its readers, or the second user.

Cards identify them by the name of the reader: `lexical`, a language model, or `second`.
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
    """Users whose probability of a rise is known exactly."""

    def open(self, keys: Sequence[Any]) -> list[UserTurn]:
        """Return the opening of each conversation."""

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply."""

    def rise_probability(self, state: Any, reply: SupporterReply) -> float:
        """Return the probability that `reply` raises the emotion of the user of `state`."""

    def rise_probabilities(
        self, states: Sequence[Any], replies: Sequence[SupporterReply]
    ) -> list[float]:
        """Return `rise_probability` for each pair of state and reply."""


@dataclass(frozen=True, slots=True)
class SecondReader:
    """The second user, which has only its own reader."""

    name: str = "second"

    def simulated(self, level: DifficultyConfig) -> MeasuredUsers:
        from harness.calibration.second_users import SecondUsers

        return SecondUsers(level)

    def prepare(self, texts: Sequence[str]) -> None:
        """Do nothing, because reading in a batch is no cheaper."""

    def strategies(self, text: str) -> tuple[str, ...]:
        from harness.simulator.second.reading import read

        return read(text).strategies

    def shows_attitude(self, text: str) -> bool:
        from harness.simulator.second import voice

        return voice.shows_attitude(text)

    def key(self) -> list[str | int]:
        return ["second", second.VERSION]


@dataclass(frozen=True, slots=True)
class _FirstUser:
    """The first scripted user with one of its readers."""

    reader: SentenceReader

    def simulated(self, level: DifficultyConfig) -> MeasuredUsers:
        from harness.simulator.scripted.user import ScriptedSimulator

        return ScriptedSimulator(level, reader=self.reader)

    def prepare(self, texts: Sequence[str]) -> None:
        from harness.simulator.scripted.reading import read_all

        read_all(texts, self.reader)

    def strategies(self, text: str) -> tuple[str, ...]:
        return recognise(text, self.reader)

    def shows_attitude(self, text: str) -> bool:
        from harness.simulator.scripted import lines

        return lines.shows_attitude(text)

    def key(self) -> list[str | int]:
        return ["scripted"]


SECOND = SecondReader()
Reader = SentenceReader | SecondReader
"""Identifies the users that are measured."""


def reader_of(simulator: SimulatorConfig) -> Reader:
    """Return the `Reader` that identifies a run's users. Raises ConfigError."""
    return SECOND if simulator.kind == "second" else factory.reader_of(simulator)


def simulated(level: DifficultyConfig, reader: Reader = LEXICAL) -> MeasuredUsers:
    """Return the users of a level."""
    return _user(reader).simulated(level)


def prepare(texts: Sequence[str], reader: Reader) -> None:
    """Read texts in a batch, where that is cheaper than one by one."""
    _user(reader).prepare(texts)


def strategies(text: str, reader: Reader) -> tuple[str, ...]:
    """Return the strategies that the user recognises in a reply."""
    return _user(reader).strategies(text)


def shows_attitude(text: str, reader: Reader) -> bool:
    """Return whether a user's first sentence shows how they took the reply."""
    return _user(reader).shows_attitude(text)


def users_key_part(reader: Reader) -> list[str | int]:
    """Return the part of a card's key that identifies the users, besides the level."""
    return _user(reader).key()


def _user(reader: Reader) -> SecondReader | _FirstUser:
    return reader if isinstance(reader, SecondReader) else _FirstUser(reader)
