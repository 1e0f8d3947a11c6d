"""What the user tells next: facts in their order, feelings, and what they need, as trust grows."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.run import EMOTIONAL_INTENTIONS
from harness.simulator.draws import pick
from harness.simulator.scripted import lines, voice
from harness.simulator.scripted.dynamics import Disclosure
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
    said = [
        voice.opener(user, u[4:]),
        persona.facts[0],
        voice.feeling(felt, False, emotion, u[1]),
    ]
    need = _need(user, emotion, shown, (), u[2:])
    told = Told(1, frozenset((felt,)), True, need)
    return told, voice.manner(" ".join([*said, *need]), persona.voice)


def feeling_chance(intention: str) -> float:
    return EMOTIONAL_FEELING if intention in EMOTIONAL_INTENTIONS else RATIONAL_FEELING


def go_on(state: State, shown: Disclosure, u: Sequence[float]) -> tuple[Told, str]:
    """What follows the reaction to a reply: who is asked tells something if anything is left."""
    told, persona = state.told, state.user.persona
    said = []
    limit = min(FACTS_AT_TRUST[state.trust], len(persona.facts))
    fact = told.facts < limit and (u[0] < shown.expression or "question" in state.heard[-1])
    if fact:
        said.append(persona.facts[told.facts])
    feelings = _feelings(state) if u[1] < feeling_chance(state.user.intention) else ()
    felt = pick(feelings, u[2]) if feelings else None
    if felt:
        said.append(voice.feeling(felt, felt in told.feelings, state.emotion, u[3]))
    need = _need(state.user, state.emotion, shown, told.needs, u[4:])
    said.extend(need)
    if not said:
        said.append(pick(lines.SILENT, u[6]))
    return (
        Told(
            told.facts + fact,
            told.feelings | {felt} if felt else told.feelings,
            fact,
            (*told.needs, *need),
        ),
        " ".join(said),
    )


def _feelings(state: State) -> tuple[str, ...]:
    """Those the user may speak of: once lighter, only of what was told before."""
    feelings = state.user.persona.feelings
    if state.emotion < voice.LIGHTER:
        return feelings
    return tuple([f for f in feelings if f in state.told.feelings])


def _need(
    user: User, emotion: int, shown: Disclosure, said: Sequence[str], u: Sequence[float]
) -> tuple[str, ...]:
    """A line on what they came for, or none."""
    if u[0] >= shown.expression:
        return ()
    return (voice.need(shown.lines, user.intention, emotion, said, u[1]),)
