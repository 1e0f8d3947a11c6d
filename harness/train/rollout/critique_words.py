"""What a language model reads of a critique: words after the user's last, for one reply alone.

A model of English reads a note that quotes what it had said. policy=tiny knows the users' words
alone, so it reads what a user says of such a reply. Neither is given the user's intention.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.simulator.scripted.lines import ANYBODY, LINES
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.critiques import worst_part

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
