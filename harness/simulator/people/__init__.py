"""The users, by domain of life; each domain holds train and held-out personas."""

from harness.simulator.people import (
    family,
    friendship,
    health,
    loss,
    love,
    money,
    moving,
    study,
    work,
)
from harness.simulator.people.persona import Persona
from harness.simulator.protocol import HELD_OUT, TRAIN

DOMAINS = (work, family, health, study, money, loss, friendship, moving, love)
PEOPLE: dict[str, tuple[Persona, ...]] = {
    TRAIN: tuple(person for domain in DOMAINS for person in domain.TRAIN),
    HELD_OUT: tuple(person for domain in DOMAINS for person in domain.HELD_OUT),
}
EVERYONE: tuple[Persona, ...] = PEOPLE[TRAIN] + PEOPLE[HELD_OUT]

__all__ = ["DOMAINS", "EVERYONE", "PEOPLE", "Persona"]
