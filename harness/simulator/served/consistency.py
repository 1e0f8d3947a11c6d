"""Answers of the model that no person would give: a contradiction, an echo, a loop."""

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
"""What may turn the words of its clause round, or make them a wish or a memory."""
_BUT = re.compile(r"\b(?:but|although|though|however|while|yet|still|despite|except)\b", re.I)
SENTENCE_WORDS, RUN_WORDS = 4, 6
"""So many words are a sentence that nobody repeats by chance; so many in a row are a copy."""
ECHOED_SHARE = 0.6
"""Share of the user's words from which on copies are an echo."""
TIMES = 3
"""So often in one message, a sentence is a loop."""
_SENTENCE_ENDS = re.compile(r"[.!?;:]+\s*")


def contradiction(change: int, fit: str, reason: str) -> str | None:
    """Return what of an appraisal says the opposite of its change of mood; None where none does.

    A reason says something only where it says how the person felt, and all of it is one way: words
    that are turned round, or that stand beside a `but`, say nothing.
    """
    if change and fit == ("against" if change > 0 else "fully"):
        return f"target_fit {fit}"
    said = _direction(reason)
    if change and said and (said > 0) != (change > 0):
        return f"the reason {reason!r:.80}"
    return None


def _direction(reason: str) -> int:
    """Return 1 where all words are of a better mood, -1 of a worse one, 0 where it is open."""
    if _BUT.search(reason) or _MIXED.search(reason):
        return 0
    better, worse = (_holds(pattern, reason) for pattern in (_BETTER, _WORSE))
    if None in better + worse or bool(better) == bool(worse):
        return 0
    return 1 if better else -1


def _holds(pattern: re.Pattern[str], reason: str) -> list[bool | None]:
    """Return True for each match that holds, None for one that its clause turns round."""
    clauses = re.split(r"[.;,]", reason.replace("less alone", "lessalone"))
    matched = [clause for clause in clauses if pattern.search(clause)]
    return [None if _TURNED.search(clause) else True for clause in matched]


def echo(text: str, heard: Sequence[str]) -> str | None:
    """Return words of a supporter's message that `text` hands back; None where it does not."""
    said, copies = _words(text), set[tuple[str, ...]]()
    for message in heard:
        words = _words(message)
        copies.update(tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))
        copies.update(tuple(_words(sentence)) for sentence in _SENTENCE_ENDS.split(message))
    copied = [False] * len(said)
    for length in range(SENTENCE_WORDS, RUN_WORDS + 1):
        for at in range(len(said) - length + 1):
            if tuple(said[at : at + length]) in copies:
                copied[at : at + length] = [True] * length
    if not said or sum(copied) < ECHOED_SHARE * len(said):
        return None
    return " ".join(word for word, is_copy in zip(said, copied, strict=True) if is_copy)[:60]


def repeats(text: str, earlier: Sequence[str]) -> bool:
    """Return whether a message loops, or is one of the `earlier` messages of its speaker."""
    sentences = Counter(tuple(_words(sentence)) for sentence in _SENTENCE_ENDS.split(text))
    del sentences[()]
    looped = max(sentences.values(), default=0) >= TIMES
    return looped or _words(text) in [_words(message) for message in earlier]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['\u2019][^\W_]+)*", text.lower())
