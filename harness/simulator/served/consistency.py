"""Detects inconsistent answers of the model: contradictions, echoes and loops."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_FELT = (
    r"\b(?:feels?|feeling|felt|ma(?:de|kes|king) (?:them|her|him)|lea(?:ves|ving)|left)\b"
    r"[^.;,]{0,30}?"
)
_GLAD = (
    r"\b(?:better|relieved|comforted|soothed|reassured|heard|understood|seen|validated"
    r"|supported|encouraged|appreciated|valued|cared for|hopeful|calmer|safer?|lessalone)\b"
)
_HURT = (
    r"\b(?:worse|hurt|dismissed|rejected|insulted|belittled|blamed|invalidated|attacked"
    r"|mocked|humiliated|ignored|misunderstood|judged|ashamed|threatened|unheard|let down)\b"
)
_MIXED = re.compile(rf"{_GLAD}.*{_HURT}|{_HURT}.*{_GLAD}", re.IGNORECASE | re.DOTALL)
_BETTER = re.compile(
    rf"{_FELT}{_GLAD}"
    r"|\b(?:lifts|lifted|raises|raised|improves|improved|brightens) (?:the|their|her|his) mood\b"
    r"|\bmood (?:rises|improves|lifts|brightens)\b",
    re.IGNORECASE,
)
_WORSE = re.compile(
    rf"{_FELT}{_HURT}"
    r"|\b(?:lowers|lowered|worsens|worsened|darkens) (?:the|their|her|his) mood\b"
    r"|\bmood (?:drops|falls|worsens|sinks)\b",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"\b(?:not|no|never|nothing|nobody|without|hardly|barely|less|little|lack\w*|fail\w*|instead"
    r"|rather|far from|too|want\w*|hop(?:e|es|ed|ing)|need\w*|wish\w*|could|would|should|if|tr(?:y"
    r"|ies|ied|ying)|meant|yet|before|earlier|already)\b|n't\b",
    re.IGNORECASE,
)
"""Words that may negate their clause, or make it a wish or a memory."""
_BUT = re.compile(r"\b(?:but|although|though|however|while|yet|still|despite|except)\b", re.I)
SENTENCE_WORDS, RUN_WORDS = 4, 6
"""Fewest words of a whole sentence, and of a run within one, that count as copied."""
ECHOED_SHARE = 0.6
"""Share of copied words from which a message is an echo."""
TIMES = 3
"""Occurrences of a sentence in one message from which it is a loop."""
_SENTENCE_ENDS = re.compile(r"[.!?;:]+\s*")


def contradiction(change: int, fit: str, reason: str) -> str | None:
    """Return the part of an appraisal that contradicts its change of mood; None if there is none.

    A reason counts only if it says how the person felt and points in one direction. Negated words,
    or a contrast such as `but`, make it inconclusive.
    """
    if change and fit == ("against" if change > 0 else "fully"):
        return f"target_fit {fit}"
    direction = _direction(reason)
    if change and direction and (direction > 0) != (change > 0):
        return f"the reason {reason!r:.80}"
    return None


def _direction(reason: str) -> int:
    """Return 1 if the reason describes a better mood, -1 for a worse mood, 0 if inconclusive."""
    if _BUT.search(reason) or _MIXED.search(reason):
        return 0
    better, worse = (_matching_clauses(pattern, reason) for pattern in (_BETTER, _WORSE))
    if None in better + worse or bool(better) == bool(worse):
        return 0
    return 1 if better else -1


def _matching_clauses(pattern: re.Pattern[str], reason: str) -> list[bool | None]:
    """Return True for each matching clause, but None for a clause that is negated."""
    clauses = re.split(r"[.;,]", reason.replace("less alone", "lessalone"))
    matching = [clause for clause in clauses if pattern.search(clause)]
    return [None if _TURNED.search(clause) else True for clause in matching]


def echo(text: str, heard: Sequence[str]) -> str | None:
    """Return the words that `text` copies from the supporter's messages; None if it is no echo."""
    text_words, copies = _words(text), set[tuple[str, ...]]()
    for message in heard:
        words = _words(message)
        copies.update(
            tuple(words[start : start + RUN_WORDS]) for start in range(len(words) - RUN_WORDS + 1)
        )
        copies.update(tuple(_words(sentence)) for sentence in _SENTENCE_ENDS.split(message))
    copied = [False] * len(text_words)
    for length in range(SENTENCE_WORDS, RUN_WORDS + 1):
        for start in range(len(text_words) - length + 1):
            if tuple(text_words[start : start + length]) in copies:
                copied[start : start + length] = [True] * length
    if not text_words or sum(copied) < ECHOED_SHARE * len(text_words):
        return None
    return " ".join(word for word, is_copy in zip(text_words, copied, strict=True) if is_copy)[:60]


def repeats(text: str, earlier: Sequence[str]) -> bool:
    """Return whether a message loops, or repeats one of its speaker's `earlier` messages."""
    sentences = Counter(tuple(_words(sentence)) for sentence in _SENTENCE_ENDS.split(text))
    del sentences[()]
    is_loop = max(sentences.values(), default=0) >= TIMES
    return is_loop or _words(text) in [_words(message) for message in earlier]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['\u2019][^\W_]+)*", text.lower())
