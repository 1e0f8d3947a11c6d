"""Where the replies are tried: states that talks at medium pass through, the same for all levels.

The supporters are of graded skill, so that users are neither all well nor all badly off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.calibration.population import SKILLS, hold, skilled
from harness.calibration.replies import FixedReply, FreeReply
from harness.config.run import INTENTIONS, TEMPERAMENTS, DifficultyConfig
from harness.simulator.protocol import ConversationKey, UserTurn
from harness.simulator.state import State, User

CONVERSATIONS = 120
EMOTION = 40
"""At which free-wording replies are tried."""


@dataclass(frozen=True)
class Contexts:
    """User turns that wait for a reply."""

    turns: tuple[UserTurn, ...]
    conversations: NDArray[np.int64]
    """The conversation of each."""


def contexts(medium: DifficultyConfig) -> Contexts:
    """Every turn of CONVERSATIONS talks at `medium`, supporters of each skill in turn."""
    each = CONVERSATIONS // len(SKILLS)
    talks = [
        talk
        for number, skill in enumerate(SKILLS)
        for talk in hold(medium, skilled(skill), range(number * each, (number + 1) * each)).turns
    ]
    found = [(turn, number) for number, talk in enumerate(talks) for turn in talk[:-1]]
    return Contexts(tuple(t for t, _ in found), np.array([n for _, n in found]))


def users_of(reply: FreeReply) -> Sequence[State]:
    """The users a free-wording reply may have been said to: of every intention and temperament."""
    turn = reply.told.facts - 1
    return [
        State(
            key=ConversationKey(0, 0, 0, 0),
            user=User(reply.person, intention, temperament),
            emotion=EMOTION,
            reported=float(EMOTION),
            told=reply.told,
            turn=turn,
            trust=turn,
        )
        for intention in INTENTIONS
        for temperament in TEMPERAMENTS
    ]


def rotated(replies: Sequence[FixedReply], number: int) -> FixedReply:
    """A reply for context `number`, so that all are used equally often."""
    return replies[number % len(replies)]
