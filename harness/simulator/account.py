"""An account of a conversation for its record: who the user is, what they heard, why they moved.

All of it is read from turns that were exchanged, when they are saved, so that the conversations
that are not saved cost nothing. What a simulator does not have is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.simulator.protocol import SupporterReply, UserTurn, memory_of
from harness.simulator.second.memory import Memory
from harness.simulator.state import State
from harness.utils.record import record

LOG_ODDS, POINTS = "log_odds", "points"
"""Units of an effect: log-odds that the emotion rises, points of emotion."""
DECIMALS = 6
"""Of an effect: what is left of a sum of others is no effect."""


@record
class Traits:
    """Who a user is; the policy sees none of it."""

    persona: str | None
    """Name; of simulator.profiles, the id."""
    topic: str | None
    """The matter that they came with, as they name it: `my exam`."""
    voice: str | None
    """One of personas.VOICES."""
    temperament: str | None
    intention: str | None
    path: str | None
    """Of difficulty.paths: how they put the supporter to the test."""


@record
class MovedBy:
    """What moved the emotion after a reply."""

    effects: Mapping[str, float]
    """Part of the appraisal -> what it added; parts that added nothing are left out."""
    unit: str | None
    """LOG_ODDS or POINTS; None where it is not known, or without effects."""
    rise_probability: float | None
    """Chance that the emotion would rise; whether it did was then drawn."""
    reason: str | None
    """In the words of a model that plays the user."""
    fit: str | None
    """How far that model finds that the reply fits what the user came for."""
    not_language: str | None
    """The rule by which the reply was no language to the user."""
    fault: str | None
    """Why the user could not be asked."""


def traits_of(turn: UserTurn) -> Traits:
    """Read the traits of a turn's user from the simulator's state, which may name them otherwise.

    None for what it does not name.
    """
    user = getattr(memory_of(turn), "user", None)
    persona, profile = getattr(user, "persona", None), getattr(user, "profile", None)
    name = getattr(profile, "id", None) or getattr(persona, "name", None) or persona
    return Traits(
        persona=_text(name),
        topic=_text(getattr(persona, "topic", None)),
        voice=_text(getattr(persona, "voice", None)),
        temperament=_text(getattr(user, "temperament", None)),
        intention=intention_of(turn),
        path=_text(getattr(user, "path", None)),
    )


def intention_of(turn: UserTurn) -> str | None:
    """Read what a turn's user came for, as `traits_of` does."""
    return _text(getattr(getattr(memory_of(turn), "user", None), "intention", None))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def taken_up(before: UserTurn, reply: SupporterReply, after: UserTurn) -> tuple[str, ...] | None:
    """Return what `reply` takes up of what the user of `before` had told: sentences and feelings.

    In the user's words, as the appraisal counts it; nothing where the reply was no language to
    them. None for a user whose memory does not hold what was told.
    """
    if after.ended == "failed":
        return None
    state = memory_of(before)
    if isinstance(state, State):
        from harness.simulator.scripted import appraisal

        return () if after.flagged else appraisal.taken_up(reply.text, state)
    if isinstance(state, Memory):
        from harness.simulator.second.appraisal import taken_up as taken_up_by_second

        told = state.disclosed
        return () if after.flagged else taken_up_by_second(reply.text, state.user, told)
    return None


def moved_by(before: UserTurn, after: UserTurn) -> MovedBy:
    """Return why the emotion moved from `before` to `after`, by part and in its unit."""
    words = {key: value for key, value in after.why.items() if isinstance(value, str)}
    effects, unit, chance = _effects(before, after)
    kept = {
        part: rounded
        for part, effect in effects.items()
        if effect and (rounded := round(effect, DECIMALS))
    }
    return MovedBy(
        effects=kept,
        unit=unit if kept else None,
        rise_probability=chance,
        reason=words.get("reason"),
        fit=words.get("target_fit"),
        not_language=words.get("rule"),
        fault=words.get("fault"),
    )


def _effects(
    before: UserTurn, after: UserTurn
) -> tuple[dict[str, float], str | None, float | None]:
    """Effects by part, their unit, and the chance of a rise."""
    parts = {key: value for key, value in after.why.items() if not isinstance(value, str)}
    state = memory_of(before)
    if isinstance(state, State) and "logit" in parts:
        return _of_scripted(parts, state)
    if isinstance(state, Memory):
        return _of_second(parts, state, memory_of(after))
    return parts, None, None


def _of_scripted(parts: dict[str, float], state: State) -> tuple[dict[str, float], str, float]:
    """Log-odds that add up to those of the rise: of the reply, and of the user as they were."""
    from harness.simulator.scripted import dynamics

    total = parts.pop("logit")
    parts["worth"] *= dynamics.FIT_WEIGHT
    parts["momentum"] = dynamics.MOMENTUM * state.momentum
    parts["mood"] = dynamics.runaway(state.emotion)
    parts["user"] = total - sum(parts.values())
    return parts, LOG_ODDS, dynamics.rise_probability(total)


def _of_second(
    parts: dict[str, float], before: Memory, after: Memory
) -> tuple[dict[str, float], str, float]:
    """Points that add up to the move of the mood, before it is rounded to an emotion."""
    from harness.simulator.second import dynamics

    parts["drift"] = after.expected - before.mood - sum(parts.values())
    parts["chance"] = after.mood - after.expected
    return parts, POINTS, dynamics.rise_probability(before.emotion, after.expected)
