"""The interface of a run's saved policy, for every kind of policy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from harness.config.run import RunConfig
from harness.simulator.scripted import kept_replies
from harness.train.metrics.evaluate import HeldOutUsers, Watch
from harness.train.metrics.held_out import Meeting, at_once, meetings
from harness.train.rollout.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Divergence:
    """The divergence of a policy from its run's start policy in one conversation."""

    nats: float
    """Sum over units of KL(policy || start): exact for a tabular policy; for a language model the
    sum of log p - log p_start of the drawn tokens, which has the same expectation, or nan if the
    start model does not read along (`reading_start`)."""
    units: int
    """Number of acts of a tabular policy, or of tokens of a language model."""


@dataclass(frozen=True, slots=True)
class HeldOutConversation:
    """A conversation with a held-out user."""

    meeting: Meeting
    conversation: Conversation
    divergence: Divergence
    choice: tuple[float, ...] = ()
    """The policy's score of each intention of the user, when asked afterwards; empty if it was not
    asked or does not choose words.
    """


Turns = Sequence[tuple[str, str]]
"""Pairs (speaker, text); `user` and `policy` alternate, and `user` has the first and last turn."""


class Words(Protocol):
    """Replies of a policy and scores of given replies, without a simulated user."""

    def replies(self, openings: Sequence[str]) -> list[str]:
        """Draw one reply to each opening at the policy's temperature, with the same random numbers
        for every policy.
        """
        ...

    def scores(self, turns: Turns, options: Sequence[str]) -> list[float]:
        """Return the mean log-probability per token of each option as the reply to `turns`, in
        nats.
        """
        ...


class SavedPolicy(Protocol):
    """A policy with fixed weights."""

    @property
    def words(self) -> Words | None:
        """The policy's words; None for a policy that only chooses strategies."""
        ...

    @property
    def config(self) -> RunConfig:
        """The config of the policy and of the requested evaluation."""
        ...

    def speaking(self) -> AbstractContextManager[object]:
        """Return the context in which conversations are held."""
        ...

    def rollout(self, users: HeldOutUsers, batch: Sequence[Meeting]) -> list[HeldOutConversation]:
        """Hold some conversations side by side, with the random numbers of an evaluation."""
        ...


def rollouts(saved: SavedPolicy, watch: Watch | None = None) -> list[HeldOutConversation]:
    """Hold every conversation of the evaluation in `saved.config`."""
    all_meetings, size = meetings(saved.config), at_once(saved.config)
    users = HeldOutUsers(saved.config)
    conversations: list[HeldOutConversation] = []
    cache = (
        kept_replies.reading_cache() if saved.config.simulator.kind == "scripted" else nullcontext()
    )
    with cache, saved.speaking():
        for start in range(0, len(all_meetings), size):
            if watch is not None:
                watch(start, len(all_meetings))
            conversations += saved.rollout(users, all_meetings[start : start + size])
    return conversations


def reading_start(config: RunConfig) -> RunConfig:
    """Return the config of a policy whose start model reads along, also with served users."""
    return replace(config, policy=replace(config.policy, start_model="always"))


def of_size(config: RunConfig, users: int, repeats: int) -> RunConfig:
    """Return the config with another size of evaluation."""
    return replace(config, eval=replace(config.eval, users=users, repeats=repeats))
