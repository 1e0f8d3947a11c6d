"""Extracts topics, facts and feelings from the user's words, for a supporter to take up.

A fact is a whole statement of the user in the second person: `I failed the exam twice.` becomes
`you failed the exam twice`. The reader knows no persona and reads any English of short sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from harness.utils.record import record

_SENTENCE = re.compile(r"[^.?!]+[.?!]*")
TOPIC_SHAPE = r"[a-z][\w'-]*(?: [\w'-]+){0,5}"
_TOPIC = re.compile(
    rf"(?:it is|it's|i (?:want|would like) to talk|may i talk) about ({TOPIC_SHAPE})", re.IGNORECASE
)
_FEELING = re.compile(
    r"(?:most days |today |now )?(?:i (?:still )?(?:feel|felt|am|was)|i'm|it leaves me|"
    r"it (?:still )?makes me) "
    r"(?:so |very |really |often |still |a bit |a little |less |not as |just )*([a-z]+)"
    r"(?: about (?:it|this)| today| now| (?:as|than) before| when i \w+(?: of)? (?:it|this)| a lot|"
    r" these days| that i can ?not \w+)?",
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
    r"not (?:\w+ ){0,2}\w+, (?:not|please|i would)|not (?:really )?\w+$|none, no|as to|"
    r"other word|"
    r"(?:about|around) \d+ (?:out )?of|a \d|forgive me|"
    r"\w+ (?:(?:is|isn't) (?:not |perhaps not )?(?:quite )?the word|"
    r"(?:does not|doesn't) come into it)|i (?:would not (?:quite )?call it|should say|am not ready|"
    r"keep (?:\w+ )+to (?:my|your)self)|i'm not ready|"
    r"there(?: is|'s) no \w+ in it|there (?:is no \w+ in it|has been no \w+(?: so far)?$)|"
    r"not about|"
    r"there is (?:not|so) much|there's (?:not|so) much)\b",
    re.IGNORECASE,
)
_TALK_WORDS = """
    a able about act advice afraid after again all alone aloud always am an and answer any
    anybody anything are aren't around as ask asked asking at awake back be been before begin
    being believe better bit blame both bring brought but call can can't cannot carry change
    chest comfort could count day days deep deserve did didn't different differently do dodge
    does doesn't don't doubt dying each ease eases easy else enough even every exactly expect
    facts far fault fear feel feeling feels few find first follow for forgive from further gave
    get gets give glad go goes good got guess had hard hardly has hasn't have haven't head hear
    heard hearing help helps here honestly hope how hurt hurts i i'm idea if in inside into is
    isn't it it's just keep kind knew know knowing knows learn leave let lie like listen
    listening listens little long look looks lot make makes many matter matters may me mean
    meant mentioned might miss mm moment more much must my myself needed never new next nice no
    nobody none not nothing now of off on once one only or other others out over perhaps play
    please praise present put question questioned questions quite rather reach read ready really
    relief riddle right said same saw say saying see seems sees sense short should side sides
    simple sits smaller so solutions some somebody somehow someone something sometime sometimes
    soon sorry sounded speak spoken stays step still strange such suppose sure take talk tell
    ten than thanks that that's the then there there's they thing things think this those
    thought through time to today too tried true try turn turning twice two understand use very
    wait want was way we welcome well what when where whether which who why will willing wish
    with word words work would wrong yes yet
"""
_TALK = frozenset(_TALK_WORDS.split())
"""Words of remarks about the conversation itself. A fact also has other words."""
_TURNED = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "we": "you",
    "us": "you", "our": "your", "ours": "yours", "ourselves": "yourselves", "am": "are",
    "i'm": "you are", "i've": "you have", "i'll": "you will", "i'd": "you would",
}  # fmt: skip
FACT_SHAPE = r"[a-z][\w'-]*,?(?: [\w'-]+,?){1,10} [\w'-]+"
"""A fact in the second person: 3 to 12 words, short enough to repeat in a reply."""


Words = tuple[str, ...]


@record
class Mentions:
    """Topics, facts and feelings of a user's messages, oldest first, in the second person."""

    topics: Words
    facts: Words
    feelings: Words


NOTHING = Mentions((), (), ())


def listen(messages: Sequence[str]) -> Mentions:
    """Return the mentions in all messages of a user; messages are oldest first."""
    mentions = NOTHING
    for message in messages:
        mentions = with_message(mentions, message)
    return mentions


def with_message(mentions: Mentions, message: str) -> Mentions:
    """Return `mentions` extended by one more message."""
    topics, facts, feelings = _listen(message)
    return Mentions(mentions.topics + topics, mentions.facts + facts, mentions.feelings + feelings)


def tells_fact(message: str) -> bool:
    """Return whether a message states a fact."""
    return bool(_listen(message)[1])


@lru_cache(maxsize=4096)
def _listen(message: str) -> tuple[Words, Words, Words]:
    """Return topics, facts and feelings of one message."""
    found: dict[str, Words] = {"topic": (), "fact": (), "feeling": (), "nothing": ()}
    for sentence in _SENTENCE.findall(message):
        kind, value = _classify(sentence)
        if value:
            found[kind] += (value,)
    return found["topic"], found["fact"], found["feeling"]


@lru_cache(maxsize=16384)
def _classify(text: str) -> tuple[str, str]:
    """Return kind and content of a sentence. Cached because sentences recur in new messages."""
    sentence, is_question = text.strip().rstrip(".?!"), text.rstrip().endswith("?")
    topic, feeling = _TOPIC.fullmatch(sentence), _FEELING.fullmatch(sentence)
    if topic:
        return "topic", turn_round(topic.group(1))
    if feeling and feeling.group(1).lower() not in _NO_FEELING:
        return "feeling", feeling.group(1).lower()
    if not is_question and _is_fact(sentence):
        return "fact", turn_round(sentence)
    return "nothing", ""


def _is_fact(sentence: str) -> bool:
    """Return whether a sentence states something about the user, not about the conversation."""
    words = sentence.lower().replace(",", " ").split()
    return (
        not {"you", "your", "you're"}.intersection(words)
        and not _NO_FACT.match(sentence)
        and not _TALK.issuperset(words)
        and re.fullmatch(FACT_SHAPE, turn_round(sentence)) is not None
    )


@lru_cache(maxsize=16384)
def turn_round(text: str) -> str:
    """Return the user's words in the second person: `My boss left me` -> `your boss left you`."""
    turned: list[str] = []
    previous = ""
    for index, word in enumerate(text.split()):
        plain = word.rstrip(",;:")
        tail, lower = word[len(plain) :], plain.lower().replace("\u2019", "'")
        if lower == "was" and previous == "i":
            turned.append("were" + tail)
        elif lower in _TURNED:
            turned.append(_TURNED[lower] + tail)
        else:
            turned.append((plain.lower() if index == 0 else plain) + tail)
        previous = lower
    return " ".join(turned)
