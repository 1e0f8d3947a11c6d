"""Critiques of a conversation that went badly, and the reply from which it is continued anew.

A critique names replies that were heard and strategies that were played, and never reveals the
user's intention; `reason` takes from the simulator's account only the part that weighed most.

A language model reads the critique after the user's last turn, for one reply only. A model of
English reads a note that quotes its former reply. policy=tiny knows only the users' vocabulary and
reads what a user would say about such a reply.
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
"""Parts by which a reply can lower the mood; mood, momentum, user and test precede the reply."""
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
"""Notes by the part of the simulator's account that lowered the mood most; None: no part did."""
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
"""The same notes in users' words, except for the parts whose wording depends on the strategy."""
COST_MOST = "That does not make it any easier."


def most_costly(conversation: Conversation) -> int | None:
    """Return the number of the reply, from 0, after which the emotion fell most; the first of ties.

    None if no reply lowered it. The change is the simulator's own, without reward noise.
    """
    changes = [exchange.answer.change or 0 for exchange in conversation.exchanges]
    lowest = min(changes)
    return changes.index(lowest) if lowest < 0 else None


def discouraged_strategies(
    critique: str, conversation: Conversation, reply: int, played: Sequence[str]
) -> frozenset[str]:
    """Return the strategies that a critique of reply number `reply` discourages.

    `played`: the policy's strategies up to and including that reply. By `critique`:
    none: no strategies. score: the reply's strategy. reaction: the reply's strategy if the policy
    hears worse or puzzled in the user's answer. reason: depends on the part that lowered the mood
    most in the simulator's account; an unsuitable reply discourages its strategy, a worn-out one
    all strategies played, and any other part, or none, no strategies.
    """
    last_strategy, answer = frozenset(played[-1:]), conversation.exchanges[reply].answer
    if critique == "score":
        return last_strategy
    if critique == "reaction":
        return last_strategy if hear(answer.text).change in HEARD_BADLY else frozenset()
    if critique == "reason":
        part = worst_part(conversation, reply)
        if part == UNSUITED:
            return last_strategy
        return frozenset(played) if part in WORN else frozenset()
    return frozenset()


def worst_part(conversation: Conversation, reply: int) -> str | None:
    """Return the part of a reply's account that lowered the mood most; None if none did."""
    turns = [conversation.opening, *(e.answer for e in conversation.exchanges)]
    effects = account.emotion_causes(turns[reply], turns[reply + 1]).effects
    parts = {part: effects.get(part, 0.0) for part in OF_THE_REPLY}
    worst = min(parts, key=lambda part: parts[part])
    return worst if parts[worst] < 0 else None


def critique_text(
    critique: str, conversation: Conversation, reply: int, played: Sequence[str], in_english: bool
) -> str:
    """Return the text of the critique, to append to the user's turn before reply number `reply`.

    Empty for `none`. `played`: strategies up to that reply, as the user heard them. `in_english`:
    whether it is a note in brackets rather than a user's words.
    """
    if critique == "none":
        return ""
    exchange = conversation.exchanges[reply]
    answer = first_sentence(exchange.answer.text)
    part = worst_part(conversation, reply) if critique == "reason" else None
    if not in_english:
        words = {"score": COST_MOST, "reaction": answer, "reason": _user_words(part, played[-1])}
        return f" {words[critique]}" if words[critique] else ""
    notes = {
        "score": "It lowered their mood more than anything else you said.",
        "reaction": f'They answered: "{answer}"' if answer else "They said no more.",
        "reason": NOTES[part].format(last=PLAYED[played[-1]], all=_list_strategies(played)),
    }
    return f'\n\n(You have replied to this before: "{exchange.reply.text}" {notes[critique]})'


def first_sentence(text: str) -> str:
    """Return the first sentence, in which a user says how a reply was taken."""
    match = _SENTENCE.match(text)
    return (match.group() if match else text).strip()


def _user_words(part: str | None, strategy: str) -> str:
    """Return what a user says of a reply of `strategy` that failed by `part`."""
    if part == "worth":
        return LINES[f"fall.{strategy}"][ANYBODY][0]
    return LINES["more_of"][strategy][0] if part == "fatigue" else SPOKEN[part]


def _list_strategies(played: Sequence[str]) -> str:
    *others, last = [PLAYED[strategy] for strategy in dict.fromkeys(played)]
    return f"{', '.join(others)} and {last}" if others else last
