"""Ranks a persona's sentences by how well they answer a question or relate to a reply."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from harness.simulator.personas import EVERYONE, TOPICS, Persona
from harness.simulator.scripted import questions
from harness.simulator.scripted.questions import ABSENT

ENTITIES = tuple(
    tuple(questions.entities(sentence.text) for sentence in persona.tellable)
    for persona in EVERYONE
)
"""Stems of the persons and things named, by persona and sentence."""
NEAR = {
    "happened": ("fact", "others_say"), "who_knows": ("support",), "support": ("who_knows",),
    "tried": ("talked",), "talked": ("others_say",), "others_say": ("talked",), "wish": ("plan",),
    "plan": ("wish",), "today": ("how_often", "worse"), "why": ("fear", "self"),
    "feeling": ("why", "body", "self"), "fear": ("why",),
}  # fmt: skip
"""Related topics that may answer where a topic has no sentence left."""
_KIN = frozenset(
    """mother father parent partner child brother sister aunt uncle cousin grandmother grandfather
    niec nephew stepmother stepfather stepdad""".split()  # noqa: SIM905
)
_GROUPS = {"famili": _KIN, "relativ": _KIN, "parent": frozenset(["mother", "father"])}
PERSONS = _KIN | frozenset(
    """famili relativ friend bos boss colleagu teacher doctor neighbour landlord flatmat roommat
    married""".split()  # noqa: SIM905
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}")
_DATES = questions.entities(
    """Monday Tuesday Wednesday Thursday Friday Saturday Sunday
    January February March April May June July August September October November December
    Christmas Easter"""
)
OF_PERSONS = ("home", "others_say", "talked")
"""Subjects for which an answer must mention the person named in the question."""
SPAN = re.compile(
    r"\b(?:since|for (?!me\b|it\b|him\b|her\b|them\b)|ago|years?|months?|weeks?|days?|hours?|"
    r"last|in (?:spring|summer|autumn|winter))"
)
"""Words of a sentence that says since when or for how long."""
LEAST_FIT = 0.9
"""A sentence answers if its score exceeds this; one named thing scores 1, a topic 1 or more."""


def _by_topic(persona: Persona) -> dict[str, tuple[int, ...]]:
    numbered = list(enumerate(persona.tellable))
    return {t: tuple(n for n, s in numbered if s.topic == t) for t in ("fact", *TOPICS)}


def _by_entity(persona_index: int) -> dict[str, list[int]]:
    by_entity: dict[str, list[int]] = {}
    for index, entities in enumerate(ENTITIES[persona_index]):
        for entity in entities:
            by_entity.setdefault(entity, []).append(index)
    return by_entity


BY_TOPIC = tuple(map(_by_topic, EVERYONE))
_BY_ENTITY = tuple(map(_by_entity, range(len(EVERYONE))))
"""By persona, the sentences of each topic, and the sentences that name each person or thing."""


def _names(persona: Persona) -> frozenset[str]:
    """Return the stems of the proper names in a persona's sentences."""
    names = [name for sentence in persona.tellable for name in _NAME.findall(sentence.text)]
    return questions.entities(" ".join(names)) - _DATES


_NAMES = tuple(map(_names, EVERYONE))


def asks_of_persons(persona_index: int, subject: str | None, entities: frozenset[str]) -> bool:
    """Return whether a question on `subject` is about the persons that it names."""
    return subject in OF_PERSONS and bool(persons_in(persona_index, entities))


def persons_in(persona_index: int, entities: frozenset[str]) -> frozenset[str]:
    """Return the persons among `entities`; `parent` adds mother and father, `family` all kin."""
    persons = entities & (PERSONS | _NAMES[persona_index])
    return persons.union(*(_GROUPS.get(person, ()) for person in persons))


@lru_cache(maxsize=16384)
def ranked(
    persona_index: int, subject: str | None, entities: frozenset[str], near: bool
) -> tuple[int, ...]:
    """Return the indices of the sentences that answer a question, best first.

    `entities` are the stems of the persons and things in the question. `near` allows related
    topics.
    """
    values: dict[int, float] = {}
    by_entity, by_topic = _BY_ENTITY[persona_index], BY_TOPIC[persona_index]
    about_persons = asks_of_persons(persona_index, subject, entities)
    for entity in entities.union(*[_GROUPS.get(entity, ()) for entity in entities]):
        for index in by_entity.get(entity, ()):
            values[index] = min(2.0, values.get(index, 0.0) + 1.0)
    tellable = EVERYONE[persona_index].tellable
    if subject is not None and subject not in ABSENT:
        if not about_persons:
            values = {n: v - 0.5 * (tellable[n].topic != subject) for n, v in values.items()}
        nearby = NEAR.get(subject, ()) if near else ()
        worths = {subject: 3.0} | {t: 1.4 - 0.2 * n for n, t in enumerate(nearby)}
        if subject == "since_when":  # prefer a sentence that says how long the named thing lasted
            for index, value in values.items():
                names_all = entities <= ENTITIES[persona_index][index]
                says_when = names_all and SPAN.search(tellable[index].text) is not None
                values[index] = value + 4.0 * says_when
        for topic, worth in worths.items():
            for index in by_topic.get(topic, ()):
                if not about_persons or index in values:
                    values[index] = values.get(index, 0.0) + worth
    fit = [n for n, value in values.items() if value > LEAST_FIT]
    fit = [n for n in fit if (tellable[n].topic == "safe") == (subject == "safe")]
    return tuple(sorted(fit, key=lambda n: (-values[n], n)))


@lru_cache(maxsize=16384)
def sharing(persona_index: int, stems: frozenset[str]) -> tuple[int, ...]:
    """Return the sentences that share at least two stems with a reply, most shared first."""
    by_entity = _BY_ENTITY[persona_index]
    shared = Counter([n for entity in stems for n in by_entity.get(entity, ())])
    return tuple(sorted((n for n, c in shared.items() if c > 1), key=lambda n: (-shared[n], n)))
