"""What users say themselves: a supporter who hands it back has not answered.

To say a matter back to the one who told it, its first person must become a second one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.simulator.people import EVERYONE
from harness.simulator.scripted import lines, voice
from harness.simulator.scripted.words import words

_FIRST_PERSON = frozenset(["i", "me", "my", "mine", "myself", "we", "us", "our"])
LEAST_WORDS = 3


def _plain(text: str) -> str:
    return " ".join(words(text))


FACTS = {
    (who, number): _plain(fact)
    for who, person in enumerate(EVERYONE)
    for number, fact in enumerate(person.facts)
}
TOPICS = frozenset(
    _plain(opener.format(t=person.topic))
    for person in EVERYONE
    for openers in lines.OPENERS.values()
    for opener in openers
)
_REACTIONS = {*sum(lines.RISE.values(), ()), *sum(lines.FALL.values(), ()), *lines.SILENT}
LINES = frozenset(
    plain
    for plain in map(_plain, _REACTIONS.union(voice.NEED_LINES))
    if plain.count(" ") >= LEAST_WORDS - 1
)
_FELT = "|".join(
    sorted({f for p in EVERYONE for f in p.feelings} | {"better", "happy", "fine", "good", "great"})
)
_OWN_FEELING = re.compile(
    rf"^(?:yes |no |now )*(?:most days )?i (?:still )?(?:feel|am) (?:\w+ ){{0,3}}?(?:{_FELT})"
    r"(?: (?:now|today|about it|a lot|these days|any more|anymore|again|as before))*"
    r"(?:$| that i | and i | you )"
)


def echoes(plain: str, facts: Iterable[tuple[int, int]]) -> bool:
    """Whether a sentence, in plain words and speaking of `facts`, is a user's own."""
    if plain in LINES or _OWN_FEELING.search(plain):
        return True
    told = [FACTS[fact] for fact in facts]
    if plain in TOPICS or plain in told:
        return True
    if not _in_first_person(plain):
        return False
    whole = f" {plain} "
    return any(f" {line} " in whole for line in (*_OWN_TOPICS, *filter(_in_first_person, told)))


def _in_first_person(plain: str) -> bool:
    return not _FIRST_PERSON.isdisjoint(plain.split())


_OWN_TOPICS = tuple(filter(_in_first_person, TOPICS))
