"""The tabular policy's reader of a user's last words: mood, cue and change.

It sees words only, and is wrong where they mislead. It knows no user and no intention: a cue is the
kind of need that a phrase speaks of, named after the intention it most often comes from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from harness.config.run import INTENTIONS

MOODS = ("unspoken", "heavy", "plain", "lighter")
CUES = ("none", *INTENTIONS, "heart", "head")
"""heart and head: the user shows only whether feelings or thoughts are at stake."""
CHANGES = ("neutral", "better", "worse", "puzzled")

_SENTENCE = re.compile(r"[^.?!]+")
_CONTRACTED = tuple(
    (re.compile(short), long)
    for short, long in ((r"\bcan(?:'t|not)\b", "can not"), (r"n't\b", " not"), (r"'m\b", " am"),
                        (r"'re\b", " are"), (r"'s\b", " is"))
)  # fmt: skip
_MOODS = {
    "lighter": r"\b(?:less|still a (?:bit|little)|not as|a (?:bit|little) better|lighter)\b",
    "heavy": r"\bi (?:feel|am) (?:still )?(?:so|very|really) (?!glad|grateful|thankful)",
    "plain": r"\b(?:i (?:still )?(?:feel|felt)(?! it| how)|most days|i am (?:often|\w+ about)\b|"
    r"it leaves me)\b",
}
_CHANGES = {
    "puzzled": r"\b(?:not (?:follow|understand what)|what do you mean)\b",
    "worse": r"\b(?:no use|no right|(?<!can )not (?:help|feel (?:heard|understood)|what|listen\w*|"
    r"sure|like|that\b|it$|the same|about (?:you|that)|believe|need|how it|enough|for me|"
    r"on my side)|not know (?:me|how it|what for)|not (?:want to )?(?:hear|go into)|"
    r"(?:you do|rather) not say|not say more|not talk|of course not|"
    r"makes it (?:harder|worse)|hurts|tried that)\b|^no\b",
    "better": r"\b(?:that helps|helps a little|good (?:to (?:hear|know|be|have)|that|for once)|"
    r"that is (?:how it|right|what i mean)|right exactly|i feel understood|kind of you|"
    r"understand me|thank(?:s| you)|glad you|could try|see it more|you see it)\b|^(?:yes|good)\b",
}
_CUES = {
    "praise": r"\b(?:did well|try very hard|tried (?:so|very) hard|how much i do|see what i did)\b",
    "not_at_fault": r"\b(?:fault|blame|something wrong|brought it on)\b",
    "venting": r"\b(?:just listen|let it (?:all )?out|off my chest|so much inside)\b",
    "deep_empathy": r"\b(?:with me|how deep|knows? how|do not reach)\b",
    "advice": r"\b(?:what (?:i can|to|should i) do|advice|go on like this|next step)\b",
    "dialectic": r"\b(?:sides?|turn(?:ing)? it over)\b",
    "growth": r"\b(?:learn from|understand myself|why i am like|not the first time)\b",
    "motives": r"\b(?:why they|what they (?:think|did))\b",
    "heart": r"^i feel (?:it|how)\b",
    "head": r"^i think (?:about it|it over|in circles)\b",
}
_PATTERNS = {
    kind: tuple((name, re.compile(pattern)) for name, pattern in table.items())
    for kind, table in {"mood": _MOODS, "change": _CHANGES, "cue": _CUES}.items()
}


@dataclass(frozen=True, slots=True)
class Cues:
    """Indices into MOODS, CUES and CHANGES."""

    mood: int
    cue: int
    change: int


@lru_cache(maxsize=4096)
def hear(text: str) -> Cues:
    """Read a user's last words; of two sentences with a cue of one kind the later counts."""
    mood, cue, change = "unspoken", "none", "neutral"
    for sentence in _SENTENCE.findall(text):
        read = _sentence(sentence)
        mood, cue, change = read[0] or mood, read[1] or cue, read[2] or change
    return Cues(MOODS.index(mood), CUES.index(cue), CHANGES.index(change))


@lru_cache(maxsize=4096)
def _sentence(sentence: str) -> tuple[str | None, str | None, str | None]:
    low = sentence.lower()
    for short, long in _CONTRACTED:
        low = short.sub(long, low)
    words = " ".join(re.findall(r"[a-z']+", low))
    return _match("mood", words), _match("cue", words), _match("change", words)


def _match(kind: str, words: str) -> str | None:
    return next((name for name, pattern in _PATTERNS[kind] if pattern.search(words)), None)
