"""Lines about a user's feelings and needs, chosen by the emotion."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.run import EMOTIONAL_INTENTIONS
from harness.simulator.intention_lines import NEEDS
from harness.simulator.scripted.lines import BANDS, LINES, pick_unsaid
from harness.simulator.state import State

LOW, LIGHTER, MET = 35, 60, 70
"""Thresholds of emotion: feelings are strong below LOW and fade from LIGHTER; a need weighs less
from MET."""
EMOTIONAL_FEELING, RATIONAL_FEELING = 0.85, 0.35
"""Chance of a feeling in a turn, for emotional and for rational intentions."""


def feeling_chance(intention: str) -> float:
    """Return the chance that a user of `intention` speaks of a feeling in a turn."""
    return EMOTIONAL_FEELING if intention in EMOTIONAL_INTENTIONS else RATIONAL_FEELING


def feelings_of(state: State) -> tuple[str, ...]:
    """Return the feelings that the user may speak of; from LIGHTER, only those already told."""
    feelings = state.user.persona.feelings
    if state.emotion < LIGHTER:
        return feelings
    return tuple([f for f in feelings if f in state.disclosed.feelings])


def feeling_line(was_told: bool, emotion: int, said_lines: frozenset[str], u: float) -> str:
    """Return a line about a feeling, with the placeholder {e}.

    `was_told` says whether the user spoke of the feeling before.
    """
    band = BANDS[0 if emotion < LOW else 1 if emotion < LIGHTER or not was_told else 2]
    return pick_unsaid(LINES["told_feeling" if was_told else "new_feeling"][band], said_lines, u)


def need_line(
    style: str,
    intention: str,
    emotion: int,
    rises: bool,
    earlier: Sequence[str],
    u: float,
) -> str:
    """Return a line about the user's intention, not one of `earlier` if others are left.

    `style` is DisclosureRule.lines, or `tell` before a disclosure. If the reply helped (`rises`),
    the line does not sound as if the need had not been heard.
    """
    is_met = emotion >= MET
    if style == "oblique":
        kind = "emotional" if intention in EMOTIONAL_INTENTIONS else "rational"
        pool = NEEDS["oblique.met" if is_met else "oblique.heavy"][kind]
    elif is_met:
        pool = NEEDS["need.met"][intention]
    else:
        pool = NEEDS[f"need.{'more' if style == 'free' and rises else style}"][intention]
    said_lines = frozenset(earlier)
    all_said = said_lines.issuperset(pool)
    return pick_unsaid(pool, frozenset(earlier[-(len(pool) - 1) :]) if all_said else said_lines, u)
