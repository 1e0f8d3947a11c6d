"""The personas from personas.yaml: each domain of life has train and held-out personas.

lives.tsv has the sentences that each persona can tell when asked, by topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.simulator.data_files import YamlValue, columns_by_line, require, require_one_of, tree
from harness.simulator.protocol import HELD_OUT, TRAIN

FILE = Path(__file__).with_name("personas.yaml")
VOICES = ("plain", "short", "careful")
FACTS, FEELINGS = 5, 3
"""Numbers of facts and feelings of a persona."""
LIVES = Path(__file__).with_name("lives.tsv")
TOPICS = (
    "happened", "since_when", "how_often", "who", "others_say", "why", "today", "work", "home",
    "money", "sleep", "food", "body", "who_knows", "support", "tried", "helps", "worse", "talked",
    "fear", "wish", "plan", "before", "self", "safe",
)  # fmt: skip
"""Topics of a life, each with one to three sentences."""
MOST_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class PersonaSentence:
    """A whole first-person sentence that a persona may tell."""

    topic: str
    """One of TOPICS, or `fact`."""
    text: str


@dataclass(frozen=True, slots=True)
class Persona:
    """The fixed part of a user: everything that is not drawn. Facts are whole first-person
    sentences, so that a supporter can turn them into the second person.
    """

    name: str
    """Unique across all domains."""
    topic: str
    """Topic of the conversation, as the user names it: `my exam`."""
    facts: tuple[str, ...]
    """Disclosed one by one, in this order, as trust grows."""
    feelings: tuple[str, ...]
    voice: str
    """One of VOICES."""
    tellable: tuple[PersonaSentence, ...]
    """The facts, then sentences of the persona's life; `Disclosures.told` has indices into it."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The personas of one domain of life."""

    name: str
    train: tuple[Persona, ...]
    held_out: tuple[Persona, ...]


def read(path: Path) -> tuple[Domain, ...]:
    """Return the domains of a file, in file order. Raises ConfigError for a malformed file."""
    domains = []
    names: set[str] = set()
    sides_by_domain = YamlValue(path, tree(path)).mapping()
    lives = read_lives(path.with_name(LIVES.name))
    for domain, sides in sides_by_domain.items():
        record = sides.record((TRAIN, HELD_OUT))
        train, held_out = (
            tuple(_persona(value, names, lives) for value in record[side].items())
            for side in (TRAIN, HELD_OUT)
        )
        require(sides.where, f"{domain} must have personas of both sides",
                bool(train and held_out), f"{len(train)} and {len(held_out)}")  # fmt: skip
        domains.append(Domain(domain, train, held_out))
    return tuple(domains)


def read_lives(path: Path) -> dict[str, tuple[PersonaSentence, ...]]:
    """Return each persona's sentences by name. Raises ConfigError for a malformed file."""
    lives: dict[str, list[PersonaSentence]] = {}
    rows = columns_by_line(path, ("persona", "topic", "text"), {"topic": TOPICS})
    for where, (name, topic, text) in rows:
        life = lives.setdefault(name, [])
        _require_sentence(where, "a sentence of a life", text)
        is_repeat = any(sentence.text == text for sentence in life)
        require(where, "a life must have a sentence once", not is_repeat, text)
        life.append(PersonaSentence(topic, text))
    for name, life in lives.items():
        counts = Counter([sentence.topic for sentence in life])
        for topic in TOPICS:
            rule = f"{name} must have 1 to {MOST_SENTENCES} sentences of {topic}"
            require(str(path), rule, 1 <= counts[topic] <= MOST_SENTENCES, counts[topic])
    return {name: tuple(life) for name, life in lives.items()}


def _require_sentence(where: str, kind: str, sentence: str) -> None:
    is_sentence = sentence[0].isupper() and sentence[-1] == "."
    require(where, f"{kind} must be a sentence that ends with a stop", is_sentence, sentence)


def _persona(
    value: YamlValue, names: set[str], lives: Mapping[str, tuple[PersonaSentence, ...]]
) -> Persona:
    """Return the persona in `value`, and add its name to `names`."""
    record = value.record(("name", "topic", "voice", "feelings", "facts"))
    name, voice = record["name"].text(), record["voice"].text()
    require(record["name"].where, "a name must be there once", name not in names, name)
    require_one_of(record["voice"].where, "voice", voice, VOICES)
    names.add(name)
    feelings = _texts(record["feelings"], "feelings", FEELINGS)
    for feeling in record["feelings"].items():
        word = feeling.text()
        require(feeling.where, "a feeling must be one lower-case word", word.isalpha() and word.islower(), word)  # noqa: E501  # fmt: skip
    facts = _texts(record["facts"], "facts", FACTS)
    for fact in record["facts"].items():
        _require_sentence(fact.where, "a fact", fact.text())
    require(record["name"].where, "a persona must have a life", name in lives, name)
    tellable = (*(PersonaSentence("fact", fact) for fact in facts), *lives[name])
    return Persona(name, record["topic"].text(), facts, feelings, voice, tellable)


def _texts(value: YamlValue, name: str, count: int) -> tuple[str, ...]:
    items = value.items()
    require(value.where, f"must have {count} {name}", len(items) == count, len(items))
    return tuple(item.text() for item in items)


DOMAINS = read(FILE)
PERSONAS: dict[str, tuple[Persona, ...]] = {
    TRAIN: tuple(persona for domain in DOMAINS for persona in domain.train),
    HELD_OUT: tuple(persona for domain in DOMAINS for persona in domain.held_out),
}
"""The personas by split."""
EVERYONE: tuple[Persona, ...] = PERSONAS[TRAIN] + PERSONAS[HELD_OUT]
"""All personas. `User.persona_index` is an index into this tuple."""
