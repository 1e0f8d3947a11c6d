"""Anchors of a level: what marked policies earn and how far they listen, to measure others by.

    random      a fluent supporter with strategies at random
    deaf        the best schedule: a strategy for each turn, whatever the user says
    attentive   the reference that listens
    optimum     who knows the user and sees their state

Schedule and optimum are those of the strategy game. All but the optimum are spoken to held-out
users and earn what any policy is evaluated by: the users' own final emotion / 100. The game leaves
out how replies are worded and read, and what it says of a schedule is up to .03 too high.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.calibration import population
from harness.calibration.interval import Interval, mean
from harness.calibration.listening import listening_nats
from harness.calibration.population import Conversations
from harness.calibration.users import Reader
from harness.config.run import DifficultyConfig
from harness.simulator.reference import spoken_schedule
from harness.simulator.scripted.sentence_reader import LEXICAL

USERS = 512
"""Held-out users whom each policy meets once."""
SPOKEN = ("random", "attentive")
"""The anchors that are references of a card too."""


@dataclass(frozen=True)
class Anchor:
    """One policy, measured."""

    reward: Interval | None
    """Mean final emotion / 100 of held-out users, 0 to 1."""
    listening: float
    """I(strategy; hidden intention | reply number), nats."""


@dataclass(frozen=True)
class DeafAnchor(Anchor):
    """The best schedule."""

    strategies: tuple[str, ...]


@dataclass(frozen=True)
class OptimumAnchor:
    """The best policy of all."""

    reward: float
    """Mean final emotion / 100 in the strategy game, exact."""


@dataclass(frozen=True)
class Anchors:
    """The anchors of one level."""

    random: Anchor
    deaf: DeafAnchor
    attentive: Anchor
    optimum: OptimumAnchor


def measure(
    level: DifficultyConfig,
    schedule: Sequence[str],
    best: float,
    spoken: Mapping[str, Conversations],
    reader: Reader = LEXICAL,
) -> Anchors:
    """The anchors of `level`, whose best schedule and optimum the strategy game has told.

    `spoken`: the conversations of the random and the attentive reference with `USERS` users.
    """
    deaf = population.converse_with(range(USERS), level, spoken_schedule(schedule), reader)
    return Anchors(
        random=anchor(spoken["random"]),
        deaf=DeafAnchor(**vars(anchor(deaf)), strategies=tuple(schedule)),
        attentive=anchor(spoken["attentive"]),
        optimum=OptimumAnchor(best),
    )


def anchor(conversations: Conversations) -> Anchor:
    """What a policy earned in `conversations`, and how far it listened."""
    intentions = [turns[0].state.user.intention for turns in conversations.turns]
    strategies = [[turn.strategies for turn in turns[1:]] for turns in conversations.turns]
    listened = listening_nats(strategies, intentions, range(len(intentions)))
    return Anchor(mean(conversations.finals / 100), listened)
