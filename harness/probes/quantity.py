"""The definition of a probe: its quantities (ratios of sums over users or items) and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.probes.results import ProbeReading
from harness.train.metrics import replies as of_conversations
from harness.train.metrics.evaluate import Watch
from harness.train.metrics.replies import Reply
from harness.train.saved_policy.policy import HeldOutConversation, SavedPolicy


@dataclass(frozen=True)
class ProbeQuantity:
    """A measure of a policy's conversations, or of its answers to items."""

    name: str
    unit: str
    of_user: Callable[[Sequence[Any]], tuple[float, float]]
    """Numerator and denominator of the conversations with one user, or of the answers to one item.
    """
    people: float | None = None
    """Value for human supporters, by the same reader; None if not measured."""
    settings: tuple[str, ...] | None = None
    """Settings in which it is measured; None for all."""
    published: Mapping[str, float] | None = None
    """Published change by training, by setting."""
    least_repeats: int = 1
    """Conversations needed with each user."""
    whole: float | None = None
    """Maximum of a quantity between 0 and a maximum, whose interval is kept in this range; None
    for other quantities."""


@dataclass(frozen=True)
class Setting:
    """A change of the policy's sampling or of its users for a probe."""

    name: str
    """Empty for the run's own config."""
    changed: Callable[[RunConfig], RunConfig] = lambda config: config
    """Returns the run's config changed to this setting."""


AS_TRAINED = Setting("")
Place = tuple[str, str]
"""A level and a setting."""
Answers = Mapping[Place, Mapping[int, Sequence[Any]]]
"""Conversations or other answers, by (level, setting) and then by user or item."""

Terms = Sequence[tuple[float, str]]
"""(factor, setting) of the terms of a reading, which is their sum."""


@dataclass(frozen=True)
class Battery:
    """Items that a policy is asked instead of talking with users; intervals are over items."""

    items: int
    ask: Callable[[SavedPolicy, Watch], Answers]
    """Asks all items in each setting and returns the answers."""
    places: Sequence[Place] = ()
    """Places of the answers; the level of all items comes first."""


@dataclass(frozen=True)
class ItemChoice:
    """The items of a battery to ask."""

    file: Path | None = None
    """None for the shipped items."""
    first: int | None = None
    """Number of items from the beginning; None for all."""


def _unchanged(
    saved: SavedPolicy, conversations: Sequence[HeldOutConversation]
) -> Sequence[HeldOutConversation]:
    return conversations


@dataclass(frozen=True)
class Probe:
    """A set of quantities, and the conversations or items that they need."""

    name: str
    asks: str
    """The question that the probe answers, as shown to users."""
    quantities: Callable[[RunConfig], Sequence[ProbeQuantity]]
    """Returns the quantities for a run's config."""
    repeats: int = 4
    """Default number of conversations with each user."""
    settings: Callable[[RunConfig], Sequence[Setting]] = lambda config: (AS_TRAINED,)
    """Returns the settings for a run's config. Raises ConfigError for an unsuitable run."""
    combined: Callable[[RunConfig], Mapping[str, Terms]] = lambda config: {}
    """Returns combinations of settings by name, such as a difference of two."""
    then: Callable[[SavedPolicy, Sequence[HeldOutConversation]], Sequence[HeldOutConversation]] = (
        _unchanged
    )
    """Adds to each conversation what is computed or asked after all conversations."""
    battery: Callable[[RunConfig, ItemChoice], Battery] | None = None
    """Returns the items to ask. Raises ConfigError for invalid items. None for a probe that talks
    with users."""
    not_served: str = ""
    """Why the probe does not support served users, as a clause; empty if it does."""
    needs_start: bool = False
    """Whether the probe compares each conversation with the start policy."""
    not_measured: Callable[[RunConfig], Sequence[str]] = lambda config: ()
    """Returns sentences on what cannot be measured for a run's config, and why."""
    lacks: Callable[[RunConfig], Mapping[str, str]] = lambda config: {}
    """Returns the quantities without a value for a run's config, with the reasons."""
    verdict: Callable[[Sequence[ProbeReading]], str] = lambda readings: ""
    """Returns a one-sentence verdict on the readings of one step; empty if the probe has none."""


def replies(conversations: Sequence[HeldOutConversation]) -> Iterator[Reply]:
    """Yield every reply of the conversations, except replies that the user failed to answer."""
    return of_conversations.replies(held_out.conversation for held_out in conversations)
