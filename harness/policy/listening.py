"""What a supporter keeps of a user's words, so as to say it back: topic, facts, feelings.

A fact is a whole statement of the user, turned round: `I failed the exam twice.` becomes `you
failed the exam twice`. It knows no user; it reads any English made of short plain sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_SENTENCE = re.compile(r"[^.?!]+[.?!]*")
TOPIC_SHAPE = r"[a-z][\w'-]*(?: [\w'-]+){0,5}"
_TOPIC = re.compile(
    rf"(?:it is|it's|i (?:want|would like) to talk|may i talk) about ({TOPIC_SHAPE})", re.IGNORECASE
)
_FEELING = re.compile(
    r"(?:most days |today |now )?(?:i (?:still )?(?:feel|felt|am|was)|i'm|it leaves me) "
    r"(?:so |very |really |often |still |a bit |a little |less |not as |just )*([a-z]+)"
    r"(?: about (?:it|this)| today| now| as before| a lot| these days| that i can ?not \w+)?",
    re.IGNORECASE,
)
_NO_FEELING = frozenset(
    ("understood", "heard", "better", "worse", "fine", "sure", "sorry", "here", "alone", "not")
)
_NO_FACT = re.compile(
    r"(?:please|help|tell|thanks?|that|yes|no|right|maybe|perhaps|what|how|why|ok|okay|well|"
    r"fine|let|then|(?:do not|don't) talk|(?:it is|it's) (?:about|kind|not|good)|"
    r"i (?:see|think|feel|want|need|only want|suppose|would (?:rather|like to talk)|"
    r"(?:do not|don't) (?:feel|know|follow|understand|believe|need|want to (?:go|hear))|"
    r"wonder|have to get|am still|am not (?:sure|as))|i'm (?:still|not (?:sure|as))|"
    r"there is (?:not|so) much|there's (?:not|so) much)\b",
    re.IGNORECASE,
)
_TURNED = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "we": "you",
    "us": "you", "our": "your", "ours": "yours", "ourselves": "yourselves", "am": "are",
    "i'm": "you are", "i've": "you have", "i'll": "you will", "i'd": "you would",
}  # fmt: skip
FACT_SHAPE = r"[a-z][\w'-]*,?(?: [\w'-]+,?){1,10} [\w'-]+"
"""A fact turned round: 3 to 12 words, short enough to be said back within a turn."""


Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """Of one message or of many, in the order they were said; all in words for saying back."""

    topics: Words
    facts: Words
    feelings: Words


NOTHING = Heard((), (), ())


def listen(messages: Sequence[str]) -> Heard:
    """What the user has said so far."""
    known = NOTHING
    for message in messages:
        known = heard_more(known, message)
    return known


def heard_more(known: Heard, message: str) -> Heard:
    """What is known with one message more."""
    topics, facts, feelings = _listen(message)
    return Heard(known.topics + topics, known.facts + facts, known.feelings + feelings)


@lru_cache(maxsize=16384)
def _listen(message: str) -> tuple[Words, Words, Words]:
    """Topics, facts and feelings of one message."""
    told = [_told(sentence) for sentence in _SENTENCE.findall(message)]
    topics, facts, feelings = (
        tuple([value for kind, value in told if kind == sought])
        for sought in ("topic", "fact", "feeling")
    )
    return topics, facts, feelings


@lru_cache(maxsize=16384)
def _told(said: str) -> tuple[str, str]:
    """What a sentence tells, and of what kind; kept, for users' sentences recur in new messages."""
    sentence, asked = said.strip().rstrip(".?!"), said.rstrip().endswith("?")
    topic, feeling = _TOPIC.fullmatch(sentence), _FEELING.fullmatch(sentence)
    if topic:
        return "topic", turn_round(topic.group(1))
    if feeling and feeling.group(1).lower() not in _NO_FEELING:
        return "feeling", feeling.group(1).lower()
    if not asked and _tells(sentence):
        return "fact", turn_round(sentence)
    return "nothing", ""


def _tells(sentence: str) -> bool:
    """Whether a sentence tells something of the user's, and not of this talk."""
    words = sentence.lower().replace(",", " ").split()
    return (
        not {"you", "your", "you're"}.intersection(words)
        and not _NO_FACT.match(sentence)
        and re.fullmatch(FACT_SHAPE, turn_round(sentence)) is not None
    )


@lru_cache(maxsize=16384)
def turn_round(text: str) -> str:
    """The user's words as the supporter says them: `My boss left me` -> `your boss left you`."""
    turned: list[str] = []
    before = ""
    for number, word in enumerate(text.split()):
        plain = word.rstrip(",;:")
        tail, low = word[len(plain) :], plain.lower().replace("\u2019", "'")
        if low == "was" and before == "i":
            turned.append("were" + tail)
        elif low in _TURNED:
            turned.append(_TURNED[low] + tail)
        else:
            turned.append((plain.lower() if number == 0 else plain) + tail)
        before = low
    return " ".join(turned)
