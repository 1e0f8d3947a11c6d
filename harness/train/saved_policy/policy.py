"""What a policy out of a run is asked for, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from harness.config.run import RunConfig
from harness.simulator.scripted import kept_replies
from harness.train.metrics.evaluate import HeldOutUsers
from harness.train.metrics.held_out import Meeting, at_once, meetings
from harness.train.rollout.conversation import Conversation

Watch = Callable[[int, int], None]
"""Called before each slice with the conversations held so far and all of them."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far a policy is from the one that its run began with, in one conversation."""

    nats: float
    """Sum over its units of KL(policy || start): of a tabular policy exactly, of a language model
    by log p - log p_start of the tokens drawn, which has the same mean."""
    units: int
    """Acts of a tabular policy, tokens of a language model."""


@dataclass(frozen=True, slots=True)
class Held:
    """A conversation with a held-out user."""

    meeting: Meeting
    conversation: Conversation
    divergence: Divergence
    choice: tuple[float, ...] = ()
    """What the policy itself, asked afterwards, takes the user to have come for: a score of each
    intention. Nothing where it was not asked, or has no words of its own.
    """


Turns = Sequence[tuple[str, str]]
"""(speaker, text), `user` first and last, `policy` between."""


class Words(Protocol):
    """What a policy says, or how likely it is to say given words, without any user."""

    def replies(self, openings: Sequence[str]) -> list[str]:
        """One reply to each opening, drawn at the policy's temperature; every policy is given the
        same random numbers.
        """
        ...

    def scores(self, turns: Turns, options: Sequence[str]) -> list[float]:
        """Mean log-probability a token of each option as the reply to `turns`, in nats."""
        ...


class SavedPolicy(Protocol):
    """A policy with fixed weights."""

    @property
    def words(self) -> Words | None:
        """None of a policy that chooses strategies and leaves the words to a grammar."""
        ...

    @property
    def config(self) -> RunConfig:
        """How it speaks, and the evaluation that is asked for."""
        ...

    def speaking(self) -> AbstractContextManager[object]:
        """A context in which it speaks."""
        ...

    def rollout(self, users: HeldOutUsers, some: Sequence[Meeting]) -> list[Held]:
        """Some conversations, held side by side; the draws are those of an evaluation."""
        ...


def rollouts(saved: SavedPolicy, watch: Watch | None = None) -> list[Held]:
    """Every conversation of the evaluation that `saved.config` asks for."""
    every, size, users = meetings(saved.config), at_once(saved.config), HeldOutUsers(saved.config)
    held: list[Held] = []
    keeping = kept_replies.kept() if saved.config.simulator.kind == "scripted" else nullcontext()
    with keeping, saved.speaking():
        for first in range(0, len(every), size):
            if watch is not None:
                watch(first, len(every))
            held += saved.rollout(users, every[first : first + size])
    return held


def of_size(config: RunConfig, users: int, repeats: int) -> RunConfig:
    """The config with another size of evaluation."""
    return replace(config, eval=replace(config.eval, users=users, repeats=repeats))
