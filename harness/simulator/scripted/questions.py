"""Parses a supporter's question: its topic, the kind of answer, and the persons or things named.

It applies the rules of questions.tsv to the plain words of each sentence, without context.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from harness.simulator.data_files import require, require_one_of, rows
from harness.simulator.personas import EVERYONE, TOPICS
from harness.simulator.scripted.said_back import statements
from harness.simulator.scripted.words import (
    FUNCTION_WORDS,
    asks,
    begins_as_question,
    sentences,
    stem,
    words,
)
from harness.utils.record import record

RULES = Path(__file__).with_name("questions.tsv")
ABSENT = ("drinking", "medication", "faith", "therapist", "doctor")
"""Subjects that the lives of few personas cover."""
OF_THE_TALK = ("checked", "opinion", "read")
"""Subjects about the supporter's own words: whether they are right, what the user thinks of them,
how it was to read them."""
SUBJECTS = (*TOPICS, "feeling", "need", "scale", "safe_there", "motive", *OF_THE_TALK, *ABSENT)
"""All subjects that a question can be recognised to have."""
_SHORTHAND = {
    "u": "you", "ur": "your", "r": "are", "dont": "do not", "smth": "something", "abt": "about",
    "wat": "what", "y": "why", "urself": "yourself", "didnt": "did not", "pls": "please",
}  # fmt: skip
_SHORT_WORD = re.compile(rf"\b(?:{'|'.join(_SHORTHAND)})\b(?!')", re.IGNORECASE)
_TAG = re.compile(
    r" (?:(?:do|does|did|is|are|was|were|have|has|had|will|would|can|could) not "
    r"(?:you|it|he|she|they|we|i)(?: think)?|right|correct)$"
)
_INDIRECT = re.compile(
    r"^(?:(?:and|but|so|well|oh|okay|ok|hey|yes|please|then|now|also) )*"
    r"(?:(?:may|can|could) i (?:gently )?ask(?: you)?|"
    r"(?:can|could|would|will) you (?:please |maybe )?"
    r"(?:tell|describe|share|explain|"
    r"say(?= (?:a (?:bit|little) )?(?:more|something)))(?: to| with)?(?: me| us)?"
    r"(?: a (?:bit|little))?"
    r"|would you (?:like|want|mind|be willing|feel comfortable) (?:to )?"
    r"(?:tell|telling|share|sharing|say|saying|talk|talking)(?: to| with)?(?: me)?"
    r"(?: a (?:bit|little))?|do you (?:want to|mind|feel like) "
    r"(?:tell|telling|share|sharing|talk|talking)(?: me| about)?"
    r"|if i may ask|i (?:wonder|am curious|am wondering)|do you know) ?"
)
_BEFORE_ASKING = re.compile(r"^(?:(?:and|but|so|well|oh|okay|ok|hey|yes|then|now|also) )*")
_REQUEST = re.compile(
    r"^(?:(?:and|but|so|well|please|then) )*(?:(?:please )?(?:tell|talk to) me|say more|describe|"
    r"help me understand|i (?:wonder|am curious|am wondering) |"
    r"i (?:would|should) (?:love|like) to (?:hear|know|understand))"
)
_OFFER = re.compile(
    r"^(?:would you like|do you want|(?:shall|should|can|could|may|might) (?:i|we)|"
    r"how about|what about|would it (?:help|be|feel)|is it (?:ok|okay|all right|alright)|"
    r"want to)\b"
)
_PROPOSAL = re.compile(
    r"^(?:could you|will you|have you (?:ever )?(?:considered|thought (?:of|about))|why not \w|"
    r"why do not you|why do you not|what if you|maybe you (?:can|could|should|might)|"
    r"perhaps you (?:can|could|should|might)|can you (?:ask|try|talk|call|go|take)|"
    r"do you promise|would you (?:be (?:able|willing)|consider|try))\b"
)
_ASKING = frozenset(
    ["what", "who", "whom", "whose", "which", "when", "where", "why", "how", "since", "for", "in"]
)
_AUXILIARY = frozenset(
    "am is are was were can could will would shall should may might do does did have has had".split()  # noqa: E501, SIM905
)
_WH = frozenset(["what", "who", "where", "when", "why", "how", "which"])
_SMALL = frozenset(["really", "right", "okay", "ok", "yes", "no", "oh", "sorry", "hm", "pardon"])
_KIN = {
    "mum": "mother", "mom": "mother", "dad": "father", "kid": "child", "son": "child",
    "daughter": "child", "husband": "partner", "wif": "partner", "boyfriend": "partner",
    "girlfriend": "partner", "manager": "boss", "dr": "doctor", "surgeon": "doctor",
    "midwif": "doctor", "grandma": "grandmother", "bos": "boss", "job": "work", "office": "work",
    "boy": "child",
    "girl": "child", "twin": "child", "babi": "child",
}  # fmt: skip
"""Canonical stem of words for the same person or place."""
_GENERAL = frozenset(
    map(
        stem,
        """time day people hard help happen mean bad good new old long life person matter live
        today week year talk start speak moment little sure right better feel please share ask
        hear understand whole part keep take give find look see try use call put turn leave become
        work need show bring anyth person end last first next far enough manage able worst worse
        imagine remember wonder mind idea name question since okay ok hate love place""".split(),  # noqa: SIM905
    )
)
_FUNCTION_STEMS = frozenset(map(stem, FUNCTION_WORDS))
_FEELINGS = frozenset(f for p in EVERYONE for f in p.feelings) | frozenset(
    ["angry", "anxious", "sad", "lonely", "hopeless", "guilty", "numb", "depressed"]
)


_FELT_AS = {
    "shame": "ashamed", "anger": "angry", "sadness": "sad", "guilt": "guilty", "grief": "sad",
    "loneliness": "lonely", "jealousy": "jealous", "fear": "afraid", "disappointment":
    "disappointed", "tiredness": "tired", "emptiness": "empty", "helplessness": "helpless",
}  # fmt: skip
"""Nouns for feelings -> the adjectives that users say."""
_WITH_CARE = re.compile(
    r"\b(?:do|did|are|have|had|is|does) (?:you|it|he|she|they|any\w+|some\w+|your \w+)"
    r"(?! want me| mind| not)\b"
)
"""`Do you think of suicide?`, not `Why do you not kill yourself?`."""
_OF_OTHERS = re.compile(
    r"\b(?:he|she|they|your \w+|people|others) (?:is|are|was|were|feels?|felt|must|might|may)\b"
)
_NO_THING = frozenset(
    """eat ate cook cooked cry cried drink smoke slept asleep tired hungry afford pray work study
    physical physically married single weep""".split()  # noqa: SIM905
)
_EITHER = re.compile(r" or (?!(?:are|is|do|does|did|was|were|have|has|not|so|anything|anyone)\b)")
_ANY = re.compile(r"\b(?:any\w*|some(?:body|one|thing))\b")
"""`Do you have somebody, a friend or the family?` offers no choice."""


@record
class ParsedQuestion:
    """A parsed question."""

    subject: str | None
    """One of SUBJECTS; None if no rule matches."""
    kind: str
    """open, yes_no, either (`or`), guess (a statement with a question mark),
    offer or proposal."""
    named: str
    """The thing asked about, in the user's perspective (`my heart`); empty if unsuitable to say."""
    entities: frozenset[str]
    """Stems of the persons and things named."""
    feelings: tuple[str, ...]
    """Feelings that the question names."""
    plain: str
    statements: tuple[str, str] = ("", "")
    """Yes and no as whole sentences; empty if there is no such sentence."""

    @property
    def wants_telling(self) -> bool:
        """Whether the question calls for telling something, not just for agreeing or refusing."""
        return self.kind in ("open", "yes_no", "either")


def entities(text: str) -> frozenset[str]:
    """Return the stems of the persons and things in a text; synonyms of a person become one."""
    return frozenset(_canonical(stem(w)) for w in words(text) if w not in FUNCTION_WORDS) - _GENERAL


@lru_cache(maxsize=16384)
def entities_of(stems: frozenset[str]) -> frozenset[str]:
    """Return the entities among `stems`, as `entities` does for a text."""
    return frozenset([_canonical(word) for word in stems - _FUNCTION_STEMS]) - _GENERAL


def _canonical(word: str) -> str:
    return _KIN.get(word, word)


def read_rules(path: Path) -> list[tuple[str, bool, re.Pattern[str]]]:
    """Return (subject, whether the match names a thing, pattern) per rule. Raises ConfigError."""
    rules = []
    for row in rows(path):
        require_one_of(row.where, "table", row.table, ("noun", "ask"))
        require_one_of(row.where, f"key of {row.table}", row.key, SUBJECTS)
        try:
            pattern = re.compile(rf"\b(?:{row.text})\b")
        except re.error as error:
            require(row.where, f"must be a regular expression ({error})", False, row.text)
            raise
        rules.append((row.key, row.table == "noun", pattern))
    return rules


_RULES = read_rules(RULES)
_SAFE = next(pattern for subject, _, pattern in _RULES if subject == "safe")


def question_in(text: str) -> ParsedQuestion | None:
    """Return the question to answer in `text`: the last one about safety, or else the last one."""
    return asked_and_asking(text)[0]


def asking(text: str) -> str:
    """Return how far `text` asks: `only` questions, `also` other sentences, or `never`."""
    return asked_and_asking(text)[1]


@lru_cache(maxsize=4096)
def asked_and_asking(text: str) -> tuple[ParsedQuestion | None, str]:
    """Return (`question_in`, `asking`) of a text."""
    parts = sentences(_expand_shorthand(text))
    parsed = [q for q in map(_parse, parts) if q is not None]
    about_safety = [q for q in parsed if q.subject == "safe"]
    question_count = sum(map(_is_asked, parts))
    extent = "never" if not question_count else "only" if question_count == len(parts) else "also"
    return (about_safety or parsed)[-1] if parsed else None, extent


def _expand_shorthand(text: str) -> str:
    return _SHORT_WORD.sub(lambda m: _SHORTHAND[m.group().lower()], text)


@lru_cache(maxsize=16384)
def _is_asked(sentence: str) -> bool:
    """Return whether a sentence is a question, with or without a question mark."""
    plain = " ".join(words(sentence))
    spoken_words = _BEFORE_ASKING.sub("", plain).split()
    if (
        asks(sentence)
        or begins_as_question(spoken_words)
        or (len(spoken_words) > 3 and _TAG.search(plain))
    ):
        return True
    open_ended = sentence.rstrip()[-1:].isalnum()
    first, second = (*spoken_words, "", "")[:2]
    return open_ended and first in _WH and (second in _AUXILIARY or len(spoken_words) < 3)


def asks_with_care(question: ParsedQuestion | None) -> bool:
    """Return whether a question asks about safety out of concern, not as an attack."""
    if question is None or question.subject not in ("safe", "safe_there"):
        return False
    return _WITH_CARE.search(question.plain) is not None


@lru_cache(maxsize=16384)
def speaks_of_dying(text: str) -> bool:
    """Return whether `text` speaks of dying or self-harm."""
    plain = " ".join(words(text))
    return _SAFE.search(plain) is not None or " die" in f" {plain}" or "dead" in plain


@lru_cache(maxsize=16384)
def _parse(sentence: str) -> ParsedQuestion | None:
    """Return the question in one sentence, or None."""
    plain = " ".join(words(sentence))
    if not _is_asked(sentence) and not _REQUEST.search(plain):
        speaks_of_safety = _SAFE.search(plain)
        return (
            ParsedQuestion("safe", "open", "", frozenset(), (), plain) if speaks_of_safety else None
        )
    if plain in _SMALL:
        return None
    direct = _INDIRECT.sub("", plain)
    kind = _kind(direct, direct != plain)
    subject, named = _subject(direct or plain)
    tagged = _TAG.sub("", direct)
    if tagged != direct and tagged.split(" ", 1)[0] not in _ASKING | _AUXILIARY:
        kind, subject = "guess", None
    feelings: tuple[str, ...] = ()
    if kind in ("yes_no", "either", "guess"):
        about_others = _OF_OTHERS.search(direct) is not None
        feeling_words = (
            () if about_others else (_FELT_AS.get(word, word) for word in direct.split())
        )
        feelings = tuple([word for word in feeling_words if word in _FEELINGS])
    yes_no = statements(sentence) if kind == "yes_no" else ("", "")
    return ParsedQuestion(subject, kind, named, entities(direct), feelings, direct, yes_no)


def _kind(plain: str, indirect: bool) -> str:
    first = plain.split(" ", 1)[0]
    if _OFFER.search(plain):
        return "offer"
    if _PROPOSAL.search(plain):
        return "proposal"
    if first in _ASKING or indirect:
        return "open"
    if first in _AUXILIARY:
        return "either" if _EITHER.search(plain) and not _ANY.search(plain) else "yes_no"
    if first in ("tell", "talk", "say", "describe", "please", "help", "i", "and", "anything"):
        return "open"
    return "open" if not _ASKING.isdisjoint(plain.split()[:4]) else "guess"


def _subject(plain: str) -> tuple[str | None, str]:
    """Return the subject, and the thing asked about as the user names it."""
    for subject, noun, pattern in _RULES:
        match = pattern.search(plain)
        if match:
            return subject, _in_user_words(match.group()) if noun else ""
    return None, ""


def _in_user_words(phrase: str) -> str:
    """Return `your heart` as `my heart`; empty for a word that names no thing, such as `eat`."""
    if phrase in _NO_THING:
        return ""
    swapped = {"your": "my", "you": "me", "yourself": "myself"}
    return " ".join(swapped.get(word, word) for word in phrase.split())
