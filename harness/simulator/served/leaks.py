"""Whether a user's message gives away what the policy must find out for itself.

Two kinds: talk of the machinery (scores, prompts, the name of an intention), whatever the level;
and, unless difficulty.disclosure is free, the hope put into plain words.
"""

from __future__ import annotations

import re

from harness.config.run import INTENTIONS
from harness.simulator.served.wording import HOPES

RUN = 5
"""So many words in a row from the wording of the hope are the hope."""
_MACHINERY = re.compile(
    r"\b(?:mood_now|target_fit|latest_message(?:_felt)?|hidden (?:intention|goal|need)|json|schema"
    r"|system prompt|language model|as an ai|simulat(?:ed|or|ion)|role-?play\w*)\b"
    r"|\b(?:mood|emotion)\b[^.?!]{0,20}\b\d{1,3}\b|\b\d{1,3} ?(?:/|out of) ?100\b"
    rf"|\b(?:{'|'.join(i for i in INTENTIONS if '_' in i)})\b",
    re.IGNORECASE,
)
_WISH = (
    r"\b(?:i (?:just |only |really )*(?:want|need|hope|wish|would like|'d like|am looking|came)"
    r"|please|can you|could you|help me|tell me)\b[^.?!]{0,40}"
)
_ALOUD = {
    "praise": _WISH + r"\b(?:prais\w+|compliment\w*|proud of me|did well|recognition)",
    "not_at_fault": _WISH + r"\b(?:not (?:my fault|to blame)|\w*n't my fault|not at fault)",
    "venting": r"\b(?:please|can you|could you|let me)\b[^.?!]{0,40}\b(?:listen|vent|off my chest)"
    r"|\b(?:just listen|let (?:it|everything) all out|need to vent)\b",
    "deep_empathy": _WISH + r"\b(?:empath\w+|(?:feel|through) (?:this|it) with me|how deep)",
    "advice": _WISH + r"\b(?:advice|what (?:i|to) (?:can |should )?do\b|solution)",
    "dialectic": _WISH + r"\b(?:(?:both|all|other|several|every) sides?|another side)",
    "growth": _WISH + r"\b(?:understand myself|grow\b|learn from (?:this|it)|why i am like)",
    "motives": _WISH + r"\b(?:why (?:they|he|she|my \w+) \w+)",
}
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ALOUD.items()}


def leak(text: str, intention: str, disclosure: str) -> str | None:
    """The words that give it away; None where nothing does."""
    found = _MACHINERY.search(text)
    if found is None and disclosure != "free":
        found = _PATTERNS[intention].search(text)
    if found is not None:
        return found[0][:60]
    return None if disclosure == "free" else _copied(text, HOPES[intention])


def _copied(text: str, hope: str) -> str | None:
    """A run of RUN words of `hope` in `text`, whoever it is said of."""
    said = f" {' '.join(_words(text))} "
    words = _words(hope)
    runs = (" ".join(words[n : n + RUN]) for n in range(len(words) - RUN + 1))
    return next((run for run in runs if f" {run} " in said), None)


def _words(text: str) -> list[str]:
    mine = {"their": "my", "they": "i", "them": "me", "themselves": "myself"}
    return [mine.get(word, word) for word in re.findall(r"[a-z']+", text.lower())]
