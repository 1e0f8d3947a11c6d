"""Checks whether a reply is language, by its surface alone, without a grammar of replies.

The checks apply to every policy and need no start policy's likelihood. A reply that fails one
puzzles the user. Each check is a rule that ordinary typed English satisfies: lower case, a missing
full stop and typing errors are allowed. Together the checks detect most word salad; a reply that
passes is then appraised like any other.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter

from harness.simulator.scripted.bigrams import english_bigrams
from harness.simulator.scripted.sentence_guard import MOST_USES, LanguageFault, fault_in
from harness.simulator.scripted.words import FUNCTION_WORDS, sentences, words

MAX_CHARACTERS = 2000
LATIN_SHARE = 0.8
SHORT = 5
"""Most words of a sentence that consists mostly of its beginning."""
SYMBOLS = 4
_PLAIN = re.compile(r"[A-Za-z ,.;?!'-]+")
"""Characters of most replies; only others need the checks of `_sign_fault`."""
_NAME = r"(?<![\w-])[\w-]{2,}\.(?:com|org|net|edu|gov|uk|co|info|io)\b"
_SITE = re.compile(_NAME, re.IGNORECASE)
_JOINED = re.compile(r"[.?!](?<=[a-z]{3}[.?!])[a-zA-Z]{3}")
_TIGHT_STOP = re.compile(r"[.?!][a-zA-Z.?!]")
"""A necessary condition of every spacing fault."""
_ODD_STOPS = re.compile(r"[.?!](?:(?<=\.)[?!]|(?<=[?!])\.)")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
    r"|[A-Za-z][\u00ad\u200d][A-Za-z]"
)
"""Control characters, and invisible characters within a word."""
_UNDECODED = re.compile(r"\ufffd(?!\ufffd*\Z)")
"""Undecodable bytes, except at the end, where a character may be cut off."""
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
"""A word and a colon at the start of a sentence: a speaker's name, unless the word is a known one
(`Simple:`) or an emoticon follows.
"""


def fault(text: str) -> LanguageFault | None:
    """Return why `text` is not language; None if it is."""
    if len(text) > MAX_CHARACTERS:
        return LanguageFault("endless", "endless")
    parts = sentences(text)
    text_words = [word for part in parts for word in words(part)]
    if not text_words:
        return LanguageFault("empty", "empty")
    checks = itertools.chain(
        [_surface_fault(text), _repetition_fault(parts, text_words)], map(fault_in, parts)
    )
    return next((wrong for wrong in checks if wrong), None)


def _surface_fault(text: str) -> LanguageFault | None:
    """Return a fault in the characters, speaker labels, ending or spacing of a text."""
    text = text.strip()
    if not _PLAIN.fullmatch(text) and (wrong := _sign_fault(text)):
        return wrong
    if len(_CASES.findall(text)) > SYMBOLS:
        return LanguageFault("signs", "signs that nobody says")
    if ":" in text and _speaks_for_another(text):
        return LanguageFault("speaker", "speaks for somebody else")
    if text[-1] in ";:-" and not _FACE.search(text):
        return LanguageFault("ending", "not a whole sentence")
    if not _TIGHT_STOP.search(text):
        return None
    if _TIGHT_STOP.match(text) and text[1].isalpha():
        return LanguageFault("spacing", "a stop before the first word")
    joined = len(_JOINED.findall(_SITE.sub("", text))) > 1  # one alone is a typing error
    is_odd = joined or _ODD_STOPS.search(text)
    return LanguageFault("spacing", "no space after a stop") if is_odd else None


def _speaks_for_another(text: str) -> bool:
    if _SPEAKER.search(text):
        return True
    names = {name.lower() for name in _NAMED.findall(text)}
    return not all(map(english_bigrams().knows, names)) or not names.isdisjoint(_ROLES)


def _sign_fault(text: str) -> LanguageFault | None:
    """Return a fault that needs characters beyond letters, blanks and common punctuation."""
    if _is_foreign(text) or _MIXED.search(text):
        return LanguageFault("script", "another script")
    has_symbols = len(_MARKUP.findall(text)) > 1 or len(_SYMBOL.findall(text)) > SYMBOLS
    markup = has_symbols or _HEADING.search(text)
    return (
        LanguageFault("signs", "signs that nobody says")
        if markup or _CONTROL.search(text) or _UNDECODED.search(text)
        else None
    )


def _is_foreign(text: str) -> bool:
    letters = "" if text.isascii() else [c for c in text if c.isalpha()]
    return sum(c.isascii() for c in letters) < LATIN_SHARE * len(letters)


def _repetition_fault(parts: list[str], all_words: list[str]) -> LanguageFault | None:
    if _begin_alike(parts):
        return LanguageFault("repetition", "sentences that begin alike")
    if len(all_words) - len(set(all_words)) < MOST_USES:  # so no word has more uses
        return None
    counts = Counter(w for w in all_words if w not in FUNCTION_WORDS)
    most = max(counts.values(), default=0)
    is_much = most > max(MOST_USES, len(all_words) / 12)
    return LanguageFault("repetition", "one word again and again") if is_much else None


def _begin_alike(parts: list[str]) -> bool:
    """Return whether three sentences begin alike, or two if one is short.

    Two long ones are natural: `If you look back ... If you look forward ...`
    """
    openings: dict[tuple[str, ...], list[int]] = {}
    for part in parts if len(parts) > 1 else ():
        part_words = words(part)
        if len(part_words) > 2 and not FUNCTION_WORDS.issuperset(part_words[:3]):
            openings.setdefault(tuple(part_words[:3]), []).append(len(part_words))
    return any(
        len(lengths) > 2 or (len(lengths) == 2 and min(lengths) <= SHORT)
        for lengths in openings.values()
    )
