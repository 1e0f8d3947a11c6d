"""What a simulated user is before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Persona:
    """One user. Facts are whole first-person sentences, so that a supporter can turn them round."""

    name: str
    topic: str
    """What the talk is about, as the user names it: `my exam`."""
    facts: tuple[str, ...]
    """Told one by one, in this order, as trust grows."""
    feelings: tuple[str, str, str]
    voice: str
    """How they talk: plain, short or careful."""
