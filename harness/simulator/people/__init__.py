"""The users, by domain of life; each domain holds train and held-out personas."""

from harness.simulator.people import family, work
from harness.simulator.people.persona import Persona
from harness.simulator.protocol import HELD_OUT, TRAIN

DOMAINS = {"work": work, "family": family}
PEOPLE: dict[str, tuple[Persona, ...]] = {
    TRAIN: tuple(p for domain in DOMAINS.values() for p in domain.TRAIN),
    HELD_OUT: tuple(p for domain in DOMAINS.values() for p in domain.HELD_OUT),
}
EVERYONE: tuple[Persona, ...] = PEOPLE[TRAIN] + PEOPLE[HELD_OUT]

__all__ = ["DOMAINS", "EVERYONE", "PEOPLE", "Persona"]
