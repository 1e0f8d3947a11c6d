"""What the user tells next: facts in their order, feelings, and what they need, as trust grows."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config import EMOTIONAL_INTENTIONS
from harness.simulator import voice
from harness.simulator.draws import pick
from harness.simulator.dynamics import Disclosure
from harness.simulator.state import State, Told, User

FACTS_AT_TRUST = (3, 4, 5, 5)
"""So many facts a user will tell at most, by trust."""
EMOTIONAL_FEELING, RATIONAL_FEELING = 0.85, 0.35
"""Chance of a feeling in a turn: who came for empathy speaks of feelings, who came for an answer
of facts."""


def opening(user: User, emotion: int, shown: Disclosure, u: Sequence[float]) -> tuple[Told, str]:
    """The first words: the topic, one fact, one feeling, perhaps what is needed."""
    persona = user.persona
    felt = pick(persona.feelings, u[0])
    lines = [
        f"It is about {persona.topic}.",
        persona.facts[0],
        voice.feeling(felt, emotion, u[1]),
    ]
    if u[2] < shown.expression:
        lines.append(voice.need(shown.lines, user.intention, u[3]))
    return Told(1, frozenset((felt,)), True), " ".join(lines)


def feeling_chance(intention: str) -> float:
    return EMOTIONAL_FEELING if intention in EMOTIONAL_INTENTIONS else RATIONAL_FEELING


def go_on(state: State, shown: Disclosure, u: Sequence[float]) -> tuple[Told, str]:
    """What follows the reaction to a reply."""
    told, persona = state.told, state.user.persona
    lines = []
    limit = min(FACTS_AT_TRUST[state.trust], len(persona.facts))
    fact = told.facts < limit and u[0] < shown.expression
    if fact:
        lines.append(persona.facts[told.facts])
    felt = pick(persona.feelings, u[2]) if u[1] < feeling_chance(state.user.intention) else None
    if felt:
        lines.append(voice.feeling(felt, state.emotion, u[3]))
    if u[4] < shown.expression:
        lines.append(voice.need(shown.lines, state.user.intention, u[5]))
    if not lines:
        lines.append(pick(voice.SILENT, u[6]))
    feelings = told.feelings | {felt} if felt else told.feelings
    return Told(told.facts + fact, feelings, fact), " ".join(lines)
