"""How a user speaks of a feeling and of what they came for, by how heavy it still is."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.run import EMOTIONAL_INTENTIONS
from harness.simulator.intention_lines import NEEDS
from harness.simulator.scripted.lines import BANDS, LINES, unsaid
from harness.simulator.state import State

LOW, LIGHTER, MET = 35, 60, 70
"""Emotions: below the first feelings are strong, from the second on they fade, and from the third
on a need weighs less."""
EMOTIONAL_FEELING, RATIONAL_FEELING = 0.85, 0.35
"""Chance of a feeling in a turn: who came for empathy speaks of feelings, who came for an answer
of facts."""


def feeling_chance(intention: str) -> float:
    """Return the chance that a user of `intention` speaks of a feeling in a turn."""
    return EMOTIONAL_FEELING if intention in EMOTIONAL_INTENTIONS else RATIONAL_FEELING


def feelings_of(state: State) -> tuple[str, ...]:
    """Return those the user may speak of: once lighter, only of what was told before."""
    feelings = state.user.persona.feelings
    if state.emotion < LIGHTER:
        return feelings
    return tuple([f for f in feelings if f in state.disclosed.feelings])


def feeling_line(was_told: bool, emotion: int, said: frozenset[str], u: float) -> str:
    """Return a line on a feeling, which is named by {e}, told before or not."""
    band = BANDS[0 if emotion < LOW else 1 if emotion < LIGHTER or not was_told else 2]
    return unsaid(LINES["told_feeling" if was_told else "new_feeling"][band], said, u)


def need_line(
    shown: str,
    intention: str,
    emotion: int,
    rises: bool,
    earlier: Sequence[str],
    u: float,
) -> str:
    """Return a line that bears on what the user came for, none of `earlier` if others are left.

    `shown`: DisclosureRule.lines, or `tell` before something told. `rises`: the reply helped, so
    the need is not asked for as if it had not been heard.
    """
    met = emotion >= MET
    if shown == "oblique":
        kind = "emotional" if intention in EMOTIONAL_INTENTIONS else "rational"
        pool = NEEDS["oblique.met" if met else "oblique.heavy"][kind]
    elif met:
        pool = NEEDS["need.met"][intention]
    else:
        pool = NEEDS[f"need.{'more' if shown == 'free' and rises else shown}"][intention]
    said = frozenset(earlier)
    all_said = said.issuperset(pool)
    return unsaid(pool, frozenset(earlier[-(len(pool) - 1) :]) if all_said else said, u)
