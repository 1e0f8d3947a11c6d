"""What the policy is told of a conversation that went badly, and from where it speaks again.

A critique names replies that were heard and strategies that were played. It is never given the
user's intention; `reason` has from the simulator's account only which part weighed most.

A language model reads it as words after the user's last, for one reply alone: a model of English a
note that quotes what it had said, policy=tiny, which knows the users' words alone, what a user says
of such a reply.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.policy.observation import CHANGES, hear
from harness.simulator import account
from harness.simulator.scripted.lines import ANYBODY, LINES
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
_SENTENCE = re.compile(r"[.?!\s]*[^.?!]+[.?!]*")
PLAYED = {
    "question": "a question", "restate": "saying it back", "reflect": "naming a feeling",
    "disclose": "speaking of yourself", "affirm": "encouragement", "suggest": "a suggestion",
    "inform": "information", "other": "small talk",
}  # fmt: skip
NOTES = {
    "worth": "They felt worse: {last} did not suit them here.",
    "fatigue": "They felt worse: they have had enough of {all}.",
    "repetition": "They felt worse: you had said that before.",
    "confusion": "They felt worse: they had told you nothing of the kind.",
    "form": "They felt worse: it was too short, too long or too much at once.",
    "hurt": "It hurt them.",
    "doubt": "They were not sure that it was meant well.",
    "coldness": "There was no warmth in it.",
    "puzzled": "They did not understand it.",
    None: "They felt worse, and nothing in it explains why.",
}
"""By the part of the simulator's account that lowered the mood most; None where none did."""
SPOKEN = {
    "repetition": "That is the same again.",
    "confusion": "I did not tell you that.",
    "form": "That does not say anything to me.",
    "hurt": "That hurts.",
    "doubt": "I do not know if that was meant well.",
    "coldness": "That does not warm me.",
    "puzzled": "I do not follow you.",
    None: "",
}
"""The same as users put it, but for what depends on the strategy."""
COST_MOST = "That does not make it any easier."


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


def told(
    critique: str, conversation: Conversation, reply: int, played: Sequence[str], in_english: bool
) -> str:
    """What follows the user's last words before reply number `reply`, from 0, is drawn again.

    Nothing for `none`. `played`: strategies up to that reply, as the user heard them. `in_english`:
    a note in brackets; else words of a user.
    """
    if critique == "none":
        return ""
    exchange = conversation.exchanges[reply]
    answer = first_sentence(exchange.answer.text)
    part = worst_part(conversation, reply) if critique == "reason" else None
    if not in_english:
        words = {"score": COST_MOST, "reaction": answer, "reason": _spoken(part, played[-1])}
        return f" {words[critique]}" if words[critique] else ""
    notes = {
        "score": "It lowered their mood more than anything else you said.",
        "reaction": f'They answered: "{answer}"' if answer else "They said no more.",
        "reason": NOTES[part].format(last=PLAYED[played[-1]], all=_listed(played)),
    }
    return f'\n\n(You have replied to this before: "{exchange.reply.text}" {notes[critique]})'


def first_sentence(text: str) -> str:
    """The sentence in which a user says how a reply was taken."""
    found = _SENTENCE.match(text)
    return (found.group() if found else text).strip()


def _spoken(part: str | None, strategy: str) -> str:
    """What a user says of a reply of `strategy` that failed by `part`."""
    if part == "worth":
        return LINES[f"fall.{strategy}"][ANYBODY][0]
    return LINES["more_of"][strategy][0] if part == "fatigue" else SPOKEN[part]


def _listed(played: Sequence[str]) -> str:
    *others, last = [PLAYED[strategy] for strategy in dict.fromkeys(played)]
    return f"{', '.join(others)} and {last}" if others else last
