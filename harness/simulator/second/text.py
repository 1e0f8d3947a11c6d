"""Splits a text into sentences of plain words, and stems words so that texts can be compared."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

MOST_CHARACTERS = 4000
"""Characters of a reply that are read."""
_SENTENCE = re.compile(r"[^.?!;\n]+[.?!;]*")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_TAILS = (
    ("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'m", " am"),
    ("'d", " would"),
)  # fmt: skip
_WHOLE = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not",
    "it's": "it is", "that's": "that is", "there's": "there is", "what's": "what is",
    "he's": "he is", "she's": "she is", "who's": "who is", "let's": "let us",
    "here's": "here is", "where's": "where is", "how's": "how is", "u": "you", "ur": "your",
    "im": "i am", "ive": "i have", "id": "i would", "youre": "you are", "youve": "you have",
    "youll": "you will", "dont": "do not", "doesnt": "does not", "didnt": "did not",
    "cant": "can not", "wont": "will not", "isnt": "is not", "arent": "are not",
    "wasnt": "was not", "thats": "that is", "wouldnt": "would not", "shouldnt": "should not",
    "couldnt": "could not", "havent": "have not", "hasnt": "has not", "gonna": "going to",
    "wanna": "want to", "gotta": "got to", "lemme": "let me", "ok": "okay", "r": "are",
    "mum": "mother", "mom": "mother", "dad": "father",
}  # fmt: skip
_SMALL_WORDS = """
    a about after again all also am an and any are as at be because been before being both but by
    can could did do does doing down else even ever every for from get gets getting go goes going
    got had has have having he her here hers him his how i if in into is it its just know like me
    might more most much must my never no nor not now of off on once only or other our out over own
    perhaps really said same say see seem seems shall she should so some still such tell than that
    the their them then there these they thing things this those through to told too up us very
    want was we were what when where which while who whom whose why will with would you your yours
    yourself myself himself herself themselves always maybe feel feels feeling felt make makes made
    one way lot let may okay oh yes yet well something anything everything nothing someone somebody
    anyone anybody nobody everyone people think thought time day days today many long little bit
"""
SMALL_WORDS = frozenset(_SMALL_WORDS.split())
"""Function words and other words that do not tell what a text is about."""
_SMALLEST = frozenset(["i", "me", "my", "you", "your", "a", "the", "to", "of", "am", "are", "it"])
_ENDINGS = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence in plain words."""

    words: tuple[str, ...]
    asks: bool
    """True if the sentence ends with a question mark."""


@lru_cache(maxsize=16384)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text that contain a word."""
    result = []
    for part in _SENTENCE.findall(_plain(text)):
        words = _words(part)
        if words:
            result.append(Sentence(words, part.rstrip().endswith("?")))
    return tuple(result)


def stems(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text."""
    return frozenset[str]().union(*[stems_of(sentence.words) for sentence in sentences(text)])


@lru_cache(maxsize=16384)
def stems_of(words: tuple[str, ...]) -> frozenset[str]:
    """Return the stems of the content words among `words`."""
    return frozenset([stem(word) for word in words if word not in SMALL_WORDS])


@lru_cache(maxsize=16384)
def gist(text: str) -> frozenset[str]:
    """Return `stems`; if fewer than two, the stems of nearly all words."""
    content_stems = stems(text)
    if len(content_stems) > 1:
        return content_stems
    words = [word for sentence in sentences(text) for word in sentence.words]
    return frozenset([stem(word) for word in words if word not in _SMALLEST])


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word without its ending, so that `sleeping` and `sleeps` are the same."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def _plain(text: str) -> str:
    """Return the text in lower case without accents."""
    text = text[:MOST_CHARACTERS].replace("\u2019", "'").lower()
    if text.isascii():
        return text
    return "".join([c for c in unicodedata.normalize("NFKD", text) if c.isascii()])


def _words(text: str) -> tuple[str, ...]:
    words: list[str] = []
    for word in _WORD.findall(text):
        words.extend(_expand(word))
    return tuple(words)


@lru_cache(maxsize=8192)
def _expand(word: str) -> tuple[str, ...]:
    """Return a word, or the words of a contraction."""
    expansion = _WHOLE.get(word)
    if expansion is not None:
        return tuple(expansion.split())
    for tail, expanded in _TAILS:
        if word.endswith(tail):
            return (word.removesuffix(tail), *expanded.split())
    return (word.removesuffix("'s"),)
