"""Where the replies are tried: states that talks at medium pass through, the same for all levels.

One state of each conversation, so that contexts are independent; the supporters are of graded
skill, so that they are neither all well nor all badly off.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.calibration.population import SKILLS, hold, skilled
from harness.calibration.replies import FixedReply, FreeReply
from harness.config import INTENTIONS, TEMPERAMENTS, DifficultyConfig
from harness.simulator.draws import pick, uniforms
from harness.simulator.protocol import ConversationKey, UserTurn
from harness.simulator.state import State, User

COUNT = 240
EMOTION = 40
"""At which free-wording replies are tried."""


def contexts(medium: DifficultyConfig, count: int = COUNT) -> tuple[UserTurn, ...]:
    """Turns of users that wait for a reply, one of each of `count` conversations."""
    each = count // len(SKILLS)
    talks = [talk for share in SKILLS for talk in hold(medium, skilled(share), each).turns]
    return tuple(
        pick(talk[:-1], uniforms("context", number)[0]) for number, talk in enumerate(talks)
    )


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
