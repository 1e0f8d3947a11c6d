"""Checks whether a reply is language at all, on its surface, without any grammar of replies.

They hold on every rung, and where no start policy gives a likelihood. A reply that fails one
puzzles the user. Each check is a rule that ordinary English keeps, whoever types it: small letters,
no stop at the end and slips of the keyboard are no fault. Together they find most word salad, and
what passes them still has to be worth something to the user.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter

from harness.simulator.scripted.bigrams import english_bigrams
from harness.simulator.scripted.sentence_guard import MOST_USES, Fault, fault_in
from harness.simulator.scripted.words import FUNCTION_WORDS, sentences, words

MAX_CHARACTERS = 2000
LATIN_SHARE = 0.8
SHORT = 5
"""Words of a sentence whose beginning is most of it."""
SYMBOLS = 4
_PLAIN = re.compile(r"[A-Za-z ,.;?!'-]+")
"""Characters of most replies; `_signs` looks for others."""
_NAME = r"(?<![\w-])[\w-]{2,}\.(?:com|org|net|edu|gov|uk|co|info|io)\b"
_SITE = re.compile(_NAME, re.IGNORECASE)
_JOINED = re.compile(r"[.?!](?<=[a-z]{3}[.?!])[a-zA-Z]{3}")
_TIGHT_STOP = re.compile(r"[.?!][a-zA-Z.?!]")
"""What no odd spacing is without."""
_ODD_STOPS = re.compile(r"[.?!](?:(?<=\.)[?!]|(?<=[?!])\.)")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
    r"|[A-Za-z][\u00ad\u200d][A-Za-z]"
)
"""Signs that steer a terminal or hide within a word."""
_UNDECODED = re.compile(r"\ufffd(?!\ufffd*\Z)")
"""Bytes of no character, but for one that the reply was cut in."""
_MIXED = re.compile(r"[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]|[A-Za-z][0-9$@|]+[a-z]")
_ROLES = frozenset("you me i he she they friend patient counselor counsellor".split())  # noqa: SIM905
_FACE = re.compile(r"[:;=]'?-?[)(DPp3/|*:;-]$")
_MARKUP = re.compile(r"[{}<>\[\]|=`]")
_CASES = re.compile(r"[a-z][A-Z]")
_HEADING = re.compile(r"^\s*#+\s", re.MULTILINE)
_SYMBOL = re.compile(r"[_#*\\/~^$@%+]")
_SPEAKER = re.compile(
    r"(?:^|[\s\"'(>])(?:user|assistant|system|human|supporter|seeker|client|therapist|ai|bot)\s?:",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED = re.compile(r"(?:^|[.!?])[ \t]*([A-Za-z]+)\s?:(?![)(DPp3/'*-])", re.MULTILINE)
"""A word and a colon at the start of a sentence: somebody's name, unless it is a word (`Simple:`)
or a face follows.
"""


def fault(text: str) -> Fault | None:
    """Return why `text` is not language, for a person; None for a reply that reads like one."""
    if len(text) > MAX_CHARACTERS:
        return Fault("endless", "endless")
    parts = sentences(text)
    text_words = [word for part in parts for word in words(part)]
    if not text_words:
        return Fault("empty", "empty")
    checks = itertools.chain([_shape(text), _repetition(parts, text_words)], map(fault_in, parts))
    return next((wrong for wrong in checks if wrong), None)


def _shape(text: str) -> Fault | None:
    """Return a sign that is not of somebody who talks."""
    text = text.strip()
    if not _PLAIN.fullmatch(text) and (wrong := _signs(text)):
        return wrong
    if len(_CASES.findall(text)) > SYMBOLS:
        return Fault("signs", "signs that nobody says")
    if ":" in text and _speaks_for_another(text):
        return Fault("speaker", "speaks for somebody else")
    if text[-1] in ";:-" and not _FACE.search(text):
        return Fault("ending", "not a whole sentence")
    if not _TIGHT_STOP.search(text):
        return None
    if _TIGHT_STOP.match(text) and text[1].isalpha():
        return Fault("spacing", "a stop before the first word")
    joined = len(_JOINED.findall(_SITE.sub("", text))) > 1  # once is a slip of the keyboard
    is_odd = joined or _ODD_STOPS.search(text)
    return Fault("spacing", "no space after a stop") if is_odd else None


def _speaks_for_another(text: str) -> bool:
    if _SPEAKER.search(text):
        return True
    names = {name.lower() for name in _NAMED.findall(text)}
    return not all(map(english_bigrams().knows, names)) or not names.isdisjoint(_ROLES)


def _signs(text: str) -> Fault | None:
    """Return what letters, blanks and common stops alone cannot have."""
    if _foreign(text) or _MIXED.search(text):
        return Fault("script", "another script")
    many = len(_MARKUP.findall(text)) > 1 or len(_SYMBOL.findall(text)) > SYMBOLS
    markup = many or _HEADING.search(text)
    return (
        Fault("signs", "signs that nobody says")
        if markup or _CONTROL.search(text) or _UNDECODED.search(text)
        else None
    )


def _foreign(text: str) -> bool:
    letters = "" if text.isascii() else [c for c in text if c.isalpha()]
    return sum(c.isascii() for c in letters) < LATIN_SHARE * len(letters)


def _repetition(parts: list[str], all_words: list[str]) -> Fault | None:
    if _begin_alike(parts):
        return Fault("repetition", "sentences that begin alike")
    if len(all_words) - len(set(all_words)) < MOST_USES:  # no word is used more often
        return None
    counts = Counter(w for w in all_words if w not in FUNCTION_WORDS)
    most = max(counts.values(), default=0)
    is_much = most > max(MOST_USES, len(all_words) / 12)
    return Fault("repetition", "one word again and again") if is_much else None


def _begin_alike(parts: list[str]) -> bool:
    """Return whether three sentences begin alike, or two of which one is hardly more than that.

    `If you look back ... If you look forward ...` is how people speak.
    """
    openings: dict[tuple[str, ...], list[int]] = {}
    for part in parts if len(parts) > 1 else ():
        own = words(part)
        if len(own) > 2 and not FUNCTION_WORDS.issuperset(own[:3]):
            openings.setdefault(tuple(own[:3]), []).append(len(own))
    return any(len(n) > 2 or (len(n) == 2 and min(n) <= SHORT) for n in openings.values())
