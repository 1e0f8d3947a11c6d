"""What a probe measures: quantities, ratios of sums over a user's conversations or over items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.probes.results import Reading
from harness.train.metrics import replies as of_conversations
from harness.train.metrics.replies import Reply
from harness.train.saved_policy.policy import Held, SavedPolicy, Watch


@dataclass(frozen=True)
class Quantity:
    """A number that a policy's conversations, or its answers to items, have."""

    name: str
    unit: str
    of_user: Callable[[Sequence[Any]], tuple[float, float]]
    """Numerator and denominator of the conversations with one user, or of the answers to one item.
    """
    people: float | None = None
    """What human supporters have, by the same reader; None where nobody measured it."""
    settings: tuple[str, ...] | None = None
    """Those that it is measured in; None for all."""
    published: Mapping[str, float] | None = None
    """By setting: by how much it changed in a training that others have published."""
    least_repeats: int = 1
    """Conversations with one user that it takes."""
    whole: float | None = None
    """The most that it can be where it is never below 0, so that its interval keeps within both."""


@dataclass(frozen=True)
class Setting:
    """How the policy speaks, or whom it meets, while it is probed."""

    name: str
    """Nothing for as its run has it."""
    changed: Callable[[RunConfig], RunConfig] = lambda config: config
    """The config of the run in this setting."""


AS_TRAINED = Setting("")
Place = tuple[str, str]
"""A level and a setting."""
Answers = Mapping[Place, Mapping[int, Sequence[Any]]]
"""By level and setting, and there by user or item: conversations, or what else was answered."""

Terms = Sequence[tuple[float, str]]
"""What a reading is a sum of: factors and settings."""


@dataclass(frozen=True)
class Battery:
    """Items that a policy is asked instead of talking with users: they are the replicate."""

    items: int
    ask: Callable[[SavedPolicy, Watch], Answers]
    """Ask all of them, in each setting."""
    places: Sequence[Place] = ()
    """Those that it answers, the level of all items first."""


@dataclass(frozen=True)
class ItemChoice:
    """Which items of a battery are asked."""

    file: Path | None = None
    """None for those that are shipped."""
    first: int | None = None
    """So many from the beginning; None for all."""


def _as_they_are(saved: SavedPolicy, held: Sequence[Held]) -> Sequence[Held]:
    return held


@dataclass(frozen=True)
class Probe:
    """A set of quantities, and the conversations or items that they take."""

    name: str
    asks: str
    """The question that it answers, for people."""
    quantities: Callable[[RunConfig], Sequence[Quantity]]
    """Of a run with this config."""
    repeats: int = 4
    """Conversations with each user unless the command says otherwise."""
    settings: Callable[[RunConfig], Sequence[Setting]] = lambda config: (AS_TRAINED,)
    """Those in which a run is asked. Raises ConfigError for a run that cannot be."""
    combined: Callable[[RunConfig], Mapping[str, Terms]] = lambda config: {}
    """What is asked of several settings together, such as a gap between two, by name."""
    then: Callable[[SavedPolicy, Sequence[Held]], Sequence[Held]] = _as_they_are
    """What the policy itself is asked after its conversations."""
    battery: Callable[[RunConfig, ItemChoice], Battery] | None = None
    """None for a probe that talks with users. Raises ConfigError for items that cannot be had."""
    not_served: str = ""
    """Why it has no answer with served users: a clause. Nothing where it has one."""
    needs_start: bool = False
    """Whether it compares each conversation with the policy that training began with."""
    not_measured: Callable[[RunConfig], Sequence[str]] = lambda config: ()
    """What cannot be measured of a run with this config, and why: sentences."""
    lacks: Callable[[RunConfig], Mapping[str, str]] = lambda config: {}
    """Quantities that have no number in any run with this config, and why: sentences."""
    verdict: Callable[[Sequence[Reading]], str] = lambda readings: ""
    """What the readings of one step come to, in a sentence; nothing where it gives none."""


def replies(held: Sequence[Held]) -> Iterator[Reply]:
    """Every reply of conversations that a probe held, but those whose user could not answer."""
    return of_conversations.replies(one.conversation for one in held)
