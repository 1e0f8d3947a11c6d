"""The users by domain of life, from personas.yaml; each domain has train and held-out personas."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.simulator.data_files import Value, require, require_one_of, tree
from harness.simulator.protocol import HELD_OUT, TRAIN

FILE = Path(__file__).with_name("personas.yaml")
VOICES = ("plain", "short", "careful")
FACTS, FEELINGS = 5, 3
"""Numbers of facts and feelings of a persona."""


@dataclass(frozen=True, slots=True)
class Persona:
    """A user before anything is drawn. Facts are whole first-person sentences, so that a supporter
    can turn them round.
    """

    name: str
    """Unique in all domains."""
    topic: str
    """Matter of the conversation, as the user names it: `my exam`."""
    facts: tuple[str, ...]
    """Disclosed one by one, in this order, as trust grows."""
    feelings: tuple[str, ...]
    voice: str
    """One of VOICES."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The personas of one domain of life."""

    name: str
    train: tuple[Persona, ...]
    held_out: tuple[Persona, ...]


def read(path: Path) -> tuple[Domain, ...]:
    """Return the domains in a file, in its order. Raises ConfigError for a malformed one."""
    domains = []
    names: set[str] = set()
    for domain, sides in Value(path, tree(path)).mapping().items():
        record = sides.record((TRAIN, HELD_OUT))
        train, held_out = (
            tuple(_persona(value, names) for value in record[side].items())
            for side in (TRAIN, HELD_OUT)
        )
        require(sides.where, f"{domain} must have personas of both sides",
                bool(train and held_out), f"{len(train)} and {len(held_out)}")  # fmt: skip
        domains.append(Domain(domain, train, held_out))
    return tuple(domains)


def _persona(value: Value, names: set[str]) -> Persona:
    """One persona, whose name is added to `names`."""
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
        sentence = fact.text()
        whole = sentence[0].isupper() and sentence[-1] == "."
        require(fact.where, "a fact must be a sentence that ends with a stop", whole, sentence)
    return Persona(name, record["topic"].text(), facts, feelings, voice)


def _texts(value: Value, what: str, count: int) -> tuple[str, ...]:
    items = value.items()
    require(value.where, f"must have {count} {what}", len(items) == count, len(items))
    return tuple(item.text() for item in items)


DOMAINS = read(FILE)
PERSONAS: dict[str, tuple[Persona, ...]] = {
    TRAIN: tuple(persona for domain in DOMAINS for persona in domain.train),
    HELD_OUT: tuple(persona for domain in DOMAINS for persona in domain.held_out),
}
"""By side of the split."""
EVERYONE: tuple[Persona, ...] = PERSONAS[TRAIN] + PERSONAS[HELD_OUT]
"""All personas; a conversation's state names its own by the index in here."""
