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

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness import calibration, simulator
from harness.calibration import population
from harness.calibration.interval import Interval, mean
from harness.calibration.listening import listening_nats
from harness.calibration.population import Conversations
from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.reference import spoken_schedule
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader

USERS = 512
"""Held-out users whom each policy meets once."""
SPOKEN = ("random", "attentive")
"""The anchors that are references of a card too."""
LEAST_WORTH = 0.05
"""Where the optimum earns less than so much more than the best schedule, no share is told."""
OF_NO_USER = ("name", "reward_noise", "reward_flips")
"""Keys of a level that change nothing about its users."""


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
    reader: SentenceReader = LEXICAL,
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


def users_key(level: DifficultyConfig, reader: str) -> str:
    """16 hex digits of all that a level's users, and so its anchors, follow from."""
    knobs = {key: value for key, value in level.knobs().items() if key not in OF_NO_USER}
    whole = json.dumps([knobs, reader, simulator.VERSION], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def share(reward: float, level: DifficultyConfig, users: SimulatorConfig) -> float:
    """Share of what listening is worth at `level` that `reward` has: 0 at the best schedule, 1 at
    the optimum; nan where it is worth less than LEAST_WORTH, and where the shipped cards do not
    hold the anchors.

    Of the shipped cards alone, so that no row depends on what a machine has measured before.
    """
    found = shipped(level, users)
    if found is None:
        return math.nan
    deaf, best = found["deaf"]["reward"]["value"], found["optimum"]["reward"]
    return float((reward - deaf) / (best - deaf)) if best - deaf >= LEAST_WORTH else math.nan


def shipped(level: DifficultyConfig, users: SimulatorConfig) -> Mapping[str, Any] | None:
    """The anchors of `level` as a shipped card holds them; None where none does, as for users with
    profiles, another reader than the lexical one, or another kind than the scripted one.
    """
    if users.kind != "scripted" or users.profiles or users.reader != LEXICAL.name:
        return None
    return _shipped().get(users_key(level, LEXICAL.name))


@cache
def _shipped() -> dict[str, Mapping[str, Any]]:
    """The anchors of the shipped cards, by the key of their users."""
    cards = [
        json.loads(path.read_text(encoding="utf-8")) for path in calibration.SHIPPED.glob("*.json")
    ]
    return {card["users"]: card["anchors"] for card in cards}
