"""An account of a conversation for its record: the user, what the reply took up, what moved them.

It is computed from the exchanged turns when they are saved, so unsaved conversations cost nothing.
A value that a simulator does not provide is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.simulator.protocol import SupporterReply, UserTurn, memory_of
from harness.simulator.second.state import SecondState
from harness.simulator.state import State
from harness.utils.record import record

LOG_ODDS, POINTS = "log_odds", "points"
"""Units of an effect: log-odds that the emotion rises, or points of emotion."""
DECIMALS = 6
"""Decimals of an effect. Rounding removes residuals of floating-point sums."""


@record
class Traits:
    """The traits of a user, which the policy does not see."""

    persona: str | None
    """Name of the persona, or id of the profile with simulator.profiles."""
    topic: str | None
    """Topic of the conversation, as the user names it: `my exam`."""
    voice: str | None
    """One of personas.VOICES."""
    temperament: str | None
    intention: str | None
    path: str | None
    """One of difficulty.paths: the way in which the user tests the supporter."""


@record
class EmotionCauses:
    """What moved the emotion after a reply."""

    effects: Mapping[str, float]
    """Effect by part of the appraisal, without the parts whose effect is 0."""
    unit: str | None
    """LOG_ODDS or POINTS; None if unknown or without effects."""
    rise_probability: float | None
    """Probability of a rise in emotion, from which the outcome was drawn."""
    reason: str | None
    """Reason given by the model that plays the user."""
    fit: str | None
    """That model's judgement of how far the reply serves the user's intention."""
    not_language: str | None
    """Rule by which the user judged that the reply is not language."""
    fault: str | None
    """Reason why the simulator could not answer."""


def traits_of(turn: UserTurn) -> Traits:
    """Return the traits of a turn's user, from the simulator's state.

    A trait that the state lacks, or that is not text, is None.
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
    """Return the intention of a turn's user; None if the simulator's state has none."""
    return _text(getattr(getattr(memory_of(turn), "user", None), "intention", None))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def taken_up_texts(
    before: UserTurn, reply: SupporterReply, after: UserTurn
) -> tuple[str, ...] | None:
    """Return the told sentences and feelings of the user of `before` that `reply` takes up.

    They are in the user's words, as the appraisal counts them. Empty for a reply that is not
    language; None if the answer failed or the simulator's state does not hold what was told.
    """
    if after.ended == "failed":
        return None
    state = memory_of(before)
    if isinstance(state, State):
        from harness.simulator.scripted import appraisal

        return () if after.flagged else appraisal.find_taken_up(reply.text, state)
    if isinstance(state, SecondState):
        from harness.simulator.second.appraisal import find_taken_up as taken_up_by_second

        disclosed = state.disclosed
        return () if after.flagged else taken_up_by_second(reply.text, state.user, disclosed)
    return None


def emotion_causes(before: UserTurn, after: UserTurn) -> EmotionCauses:
    """Return what moved the emotion from `before` to `after`."""
    words = {key: value for key, value in after.why.items() if isinstance(value, str)}
    effects, unit, chance = _effects(before, after)
    nonzero = {
        part: rounded
        for part, effect in effects.items()
        if effect and (rounded := round(effect, DECIMALS))
    }
    return EmotionCauses(
        effects=nonzero,
        unit=unit if nonzero else None,
        rise_probability=chance,
        reason=words.get("reason"),
        fit=words.get("target_fit"),
        not_language=words.get("rule"),
        fault=words.get("fault"),
    )


def _effects(
    before: UserTurn, after: UserTurn
) -> tuple[dict[str, float], str | None, float | None]:
    """Return the effects by part, their unit, and the probability of a rise."""
    parts = {key: value for key, value in after.why.items() if not isinstance(value, str)}
    state = memory_of(before)
    if isinstance(state, State) and "logit" in parts:
        return _scripted_effects(parts, state)
    if isinstance(state, SecondState):
        return _second_effects(parts, state, memory_of(after))
    return parts, None, None


def _scripted_effects(parts: dict[str, float], state: State) -> tuple[dict[str, float], str, float]:
    """Return effects of the reply and of the user's state that sum to the log-odds of a rise."""
    from harness.simulator.scripted import dynamics

    total = parts.pop("logit")
    parts["worth"] *= dynamics.FIT_WEIGHT
    parts["momentum"] = dynamics.MOMENTUM * state.momentum
    parts["mood"] = dynamics.runaway(state.emotion)
    parts["user"] = total - sum(parts.values())
    return parts, LOG_ODDS, dynamics.rise_probability(total)


def _second_effects(
    parts: dict[str, float], before: SecondState, after: SecondState
) -> tuple[dict[str, float], str, float]:
    """Return effects that sum to the change of the mood, before it is rounded to an emotion."""
    from harness.simulator.second import dynamics

    parts["drift"] = after.expected - before.mood - sum(parts.values())
    parts["chance"] = after.mood - after.expected
    return parts, POINTS, dynamics.rise_probability(before.emotion, after.expected)
