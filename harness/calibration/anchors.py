"""Anchors of a level: reward and listening of four policies that others are compared with.

    random      a fluent supporter with random strategies
    deaf        the best schedule: a fixed strategy for each turn, whatever the user says
    attentive   the reference that listens
    optimum     the best policy that knows the user and sees their state

Schedule and optimum are those of the strategy game. All but the optimum talk to held-out users, and
their reward is that of any evaluated policy: the user's own final emotion / 100. The game leaves
out how replies are worded and read; its value of a schedule is up to 0.03 too high.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.calibration import population
from harness.calibration.interval import ConfidenceInterval, mean
from harness.calibration.listening import listening_nats
from harness.calibration.population import Conversations
from harness.calibration.users import Reader
from harness.config.run import DifficultyConfig
from harness.simulator.reference import spoken_schedule
from harness.simulator.scripted.sentence_reader import LEXICAL

USERS = 512
"""Held-out users whom each policy meets once."""
SPOKEN = ("random", "attentive")
"""Anchors that are also reference policies of a card."""


@dataclass(frozen=True)
class Anchor:
    """Measures of one policy."""

    reward: ConfidenceInterval | None
    """Mean final emotion / 100 of held-out users, 0 to 1."""
    listening: float
    """I(strategy; hidden intention | reply number) in nats; see `listening.listening_nats`."""


@dataclass(frozen=True)
class DeafAnchor(Anchor):
    """The best schedule."""

    strategies: tuple[str, ...]


@dataclass(frozen=True)
class OptimumAnchor:
    """The best policy that knows the user and sees their state."""

    reward: float
    """Mean final emotion / 100 in the strategy game, exact."""


@dataclass(frozen=True)
class LevelAnchors:
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
) -> LevelAnchors:
    """Return the anchors of `level`, given the strategy game's best `schedule` and optimum `best`.

    `spoken` has the conversations of the random and the attentive reference with `USERS` users.
    """
    deaf = population.converse_with(range(USERS), level, spoken_schedule(schedule), reader)
    return LevelAnchors(
        random=anchor(spoken["random"]),
        deaf=DeafAnchor(**vars(anchor(deaf)), strategies=tuple(schedule)),
        attentive=anchor(spoken["attentive"]),
        optimum=OptimumAnchor(best),
    )


def anchor(conversations: Conversations) -> Anchor:
    """Return a policy's reward and listening in `conversations`."""
    intentions = [turns[0].state.user.intention for turns in conversations.turns]
    strategies = [[turn.strategies for turn in turns[1:]] for turns in conversations.turns]
    listening = listening_nats(strategies, intentions, range(len(intentions)))
    return Anchor(mean(conversations.finals / 100), listening)
