"""What the policy is told of a conversation that went badly, and from where it speaks again.

A critique names replies that were heard and strategies that were played. It is never given the
user's intention; `reason` has from the simulator's account only which part weighed most.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.policy.observation import CHANGES, hear
from harness.simulator import account
from harness.train.rollout.conversation import Conversation

UNSUITED = "worth"
WORN = frozenset(("fatigue", "repetition"))
OF_THE_REPLY = (
    "worth",
    "confusion",
    "repetition",
    "fatigue",
    "form",
    "hurt",
    "doubt",
    "coldness",
    "puzzled",
)
"""Parts by which a reply can lower the mood; mood, momentum, user and a test were there before."""
HEARD_BADLY = frozenset(CHANGES.index(change) for change in ("worse", "puzzled"))


def most_costly(conversation: Conversation) -> int | None:
    """Number of the reply, from 0, by which the emotion fell most, the first where several are.

    None where no reply lowered it. The change is the simulator's own, without reward noise.
    """
    changes = [exchange.answer.change or 0 for exchange in conversation.exchanges]
    least = min(changes)
    return changes.index(least) if least < 0 else None


def blamed(
    critique: str, conversation: Conversation, reply: int, played: Sequence[str]
) -> frozenset[str]:
    """The strategies that a critique of reply number `reply` speaks against.

    `played`: the policy's strategies up to that reply, the last being its own. none: nothing is
    told. score: that the reply cost most, which blames its strategy. reaction: the user's answer,
    which blames it where the policy hears worse or puzzled. reason: what lowered the mood most in
    the simulator's account of the reply; that it did not suit blames its strategy, that it was worn
    by use all that were played, and anything else, or that it was bad luck, none.
    """
    own, answer = frozenset(played[-1:]), conversation.exchanges[reply].answer
    if critique == "score":
        return own
    if critique == "reaction":
        return own if hear(answer.text).change in HEARD_BADLY else frozenset()
    if critique == "reason":
        part = worst_part(conversation, reply)
        if part == UNSUITED:
            return own
        return frozenset(played) if part in WORN else frozenset()
    return frozenset()


def worst_part(conversation: Conversation, reply: int) -> str | None:
    """The part of the simulator's account of a reply that lowered the mood most; None if none."""
    turns = [conversation.opening, *(e.answer for e in conversation.exchanges)]
    effects = account.moved_by(turns[reply], turns[reply + 1]).effects
    parts = {part: effects.get(part, 0.0) for part in OF_THE_REPLY}
    worst = min(parts, key=lambda part: parts[part])
    return worst if parts[worst] < 0 else None
