"""Words as the user reads them: sentences, spelling correction, crude stems and content words.

Typing errors (a letter dropped, doubled or swapped with the next) are corrected. Only an unknown
word is corrected, to the most frequent known word that is one such error away.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

SHORTEST_MENDED, LONGEST_MENDED = 4, 20
"""Least and most letters of a word that is corrected. Shorter words are too similar."""
KNOWN = Path(__file__).with_name("known_words.tsv")
"""Known words and their frequencies, made by benchmarks/known_words.py."""


@lru_cache(maxsize=16384)
def mended(word: str) -> str:
    """Return the most frequent known word one typing error from `word`; `word` if there is none."""
    counts = _word_counts()
    if len(word) < SHORTEST_MENDED or len(word) > LONGEST_MENDED or word in counts:
        return word
    nearby = _without_a_double(word) | _swaps(word)
    candidates = [
        neighbour for neighbour in nearby | _one_letter_longer(word) if neighbour in counts
    ]
    return max(candidates, key=lambda neighbour: (counts[neighbour], neighbour), default=word)


def _without_a_double(word: str) -> set[str]:
    return {word[:n] + word[n + 1 :] for n in range(1, len(word)) if word[n] == word[n - 1]}


def _swaps(word: str) -> set[str]:
    indices = range(len(word) - 1)
    return {word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in indices}


@cache
def _word_counts() -> dict[str, int]:
    """Return the frequency of each known word."""
    rows = KNOWN.read_text(encoding="utf-8").splitlines()[1:]
    return {word: int(uses) for word, _, uses in (row.partition("\t") for row in rows)}


def _one_letter_longer(word: str) -> set[str]:
    """Return `word` with one letter inserted anywhere but at its ends.

    `cheer` is therefore not corrected to `cheers`.
    """
    indices = range(1, len(word))
    longer = {word[:n] + letter + word[n:] for n in indices for letter in _LETTERS}
    return {other for other in longer if other[:-1] != word}


_LETTERS = "abcdefghijklmnopqrstuvwxyz'"
_SENTENCE = re.compile(r"[^.?!\n]+[.?!]*|[.?!]+")
_TAG = re.compile(r"#\w+")
_PICTURES = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_CLAUSE = re.compile(r"[,;:()\u2014\"\u201c\u201d]|\s-\s|\u2026|\.\.\.")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_UNSEEN = frozenset(["Mn", "Cf"])
"""Unicode categories of accents and of invisible characters."""
_CONTRACTED = {
    "don't": "do not", "doesn't": "does not", "didn't": "did not", "can't": "can not",
    "cannot": "can not", "won't": "will not", "isn't": "is not", "aren't": "are not",
    "wasn't": "was not", "weren't": "were not", "wouldn't": "would not", "couldn't": "could not",
    "shouldn't": "should not", "haven't": "have not", "hasn't": "has not", "i'm": "i am",
    "i've": "i have", "i'll": "i will", "i'd": "i would", "you're": "you are",
    "you've": "you have", "you'll": "you will", "you'd": "you would", "it's": "it is",
    "that's": "that is", "there's": "there is", "what's": "what is", "they're": "they are",
    "we're": "we are", "let's": "let us", "he's": "he is", "she's": "she is",
    "they've": "they have", "we've": "we have", "they'll": "they will", "we'll": "we will",
    "he'll": "he will", "she'll": "she will", "it'll": "it will", "that'll": "that will",
    "they'd": "they would", "we'd": "we would", "he'd": "he would", "she'd": "she would",
    "it'd": "it would", "that'd": "that would", "who's": "who is", "how's": "how is",
    "where's": "where is", "when's": "when is", "here's": "here is", "hadn't": "had not",
    "needn't": "need not", "mustn't": "must not", "could've": "could have",
    "should've": "should have", "would've": "would have", "dont": "do not", "cant": "can not",
    "didnt": "did not", "doesnt": "does not", "isnt": "is not", "wasnt": "was not",
    "im": "i am", "ive": "i have", "youre": "you are", "youve": "you have", "thats": "that is",
    "whats": "what is", "theres": "there is", "gonna": "going to", "wanna": "want to",
}  # fmt: skip
_IRREGULAR = {
    "lost": "lose", "left": "leave", "told": "tell", "said": "say", "gave": "give",
    "given": "give", "took": "take", "taken": "take", "went": "go", "gone": "go", "found": "find",
    "made": "make", "slept": "sleep", "felt": "feel", "sent": "send", "sold": "sell",
    "paid": "pay", "threw": "throw", "fell": "fall", "came": "come", "knew": "know",
    "known": "know", "got": "get", "kept": "keep", "broke": "break", "broken": "break",
    "wrote": "write", "written": "write", "spoke": "speak", "died": "die", "dying": "die",
    "children": "child", "eaten": "eat", "ate": "eat", "saw": "see", "seen": "see",
    "bought": "buy", "met": "meet", "grew": "grow", "drove": "drive", "stood": "stand",
    "sat": "sit", "held": "hold", "heard": "hear", "thought": "think", "forgot": "forget",
    "hid": "hide", "stole": "steal", "began": "begin", "ran": "run", "spent": "spend",
    "wives": "wife", "lives": "live", "tried": "try", "cries": "cry", "crying": "cry",
}  # fmt: skip
_FUNCTION_WORDS = """
    a an the this that these those i me my mine myself you your yours yourself he him his
    himself she her hers herself it its itself we us our ours they them their theirs who
    whom whose which what when where why how and or but if so because as than then of to in
    on at by for from with without about after before over under up down out off into onto
    through during between again once here there all any both each few more most other some
    such no nor not only own same too very just can could will would shall should may might
    must do does did doing be am is are was were been being have has had having still also
    even ever never always now yet much many lot lots bit quite really maybe perhaps every
    one two three four five six seven eight nine ten someone somebody anyone anybody
    everyone everybody nobody something anything everything nothing like get got let go goes
    going went come came make made thing things way say says said tell told know think feel
    feels feeling felt want wants wanted
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_ASKING = frozenset(["what", "who", "whom", "which", "when", "where", "why", "how"])
_AUXILIARY_WORDS = """
    am is are was were can could will would shall should may might must do does did have has had
"""
_AUXILIARIES = frozenset(_AUXILIARY_WORDS.split())
_SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they", "there", "that", "this"])
_NAMES_NOTHING = frozenset(
    ["i", "you", "me", "my", "your", "it", "the", "a", "to", "of", "am", "are"]
)


def strip_labels(text: str) -> str:
    """Return a reply without labels (`#empathy`), and with each run of emoji as a line break."""
    return text if text.isascii() and "#" not in text else _PICTURES.sub("\n", _TAG.sub("", text))


def sentences(text: str) -> list[str]:
    """Return the sentences with their punctuation, stripped; those without words are dropped."""
    return [s.strip() for s in _SENTENCE.findall(text) if _WORD.search(s.lower())]


def words(text: str) -> list[str]:
    """Return the words in lower case, contractions expanded and typing errors corrected."""
    return list(_words(text))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable(map(_correct, _WORD.findall(_ascii(text).lower()))))


@lru_cache(maxsize=16384)
def _correct(word: str) -> tuple[str, ...]:
    """Return a word corrected, or a contraction as its two words."""
    expanded = _CONTRACTED.get(word)
    return tuple(expanded.split()) if expanded else (mended(word),)


def _ascii(text: str) -> str:
    """Return `text` without accents and invisible characters."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    return "".join([c for c in decomposed if unicodedata.category(c) not in _UNSEEN])


def clauses(sentence: str) -> list[str]:
    """Return the parts of a sentence between commas, dashes, brackets and quotation marks."""
    return _CLAUSE.split(sentence)


@lru_cache(maxsize=16384)
def asks(sentence: str) -> bool:
    """Return whether a sentence is a question, by its last mark or, without one, its beginning."""
    last = sentence.rstrip()[-1:]
    if last == "?" or last in (".", "!"):
        return last == "?"
    return begins_as_question(words(sentence))


def begins_as_question(sentence: list[str]) -> bool:
    """Return whether the words begin like a question: `Do you ...`, `What happened ...`."""
    first, second, third = (*sentence, "", "", "")[:3]
    if first in _AUXILIARIES:
        return second in _SUBJECTS
    if first not in _ASKING:
        return False
    return second in ("happened", "happens") or (second in _AUXILIARIES and third in _SUBJECTS)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a crude English stem, the same for `failing` and `failed`."""
    word = _IRREGULAR.get(word, word)
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeols":
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") else word.removesuffix("e")


@lru_cache(maxsize=4096)
def content(text: str) -> frozenset[str]:
    """Return the stems of content words; if fewer than two, the stems of nearly all words."""
    text_words = words(text)
    stems = frozenset(stem(w) for w in text_words if w not in FUNCTION_WORDS)
    if len(stems) > 1:
        return stems
    return frozenset(stem(w) for w in text_words if w not in _NAMES_NOTHING)
