"""Unasked disclosures: a sentence that the reply touches on, the next fact, or a related topic.

A sentence is told once, and only if the user's trust suffices.
"""

from __future__ import annotations

from harness.simulator.scripted.answers import UserAnswer
from harness.simulator.scripted.relevance import BY_TOPIC, sharing
from harness.simulator.state import State

AFTER_RISE = {
    "question": ("happened", "why"), "restate": ("happened", "others_say", "since_when"),
    "reflect": ("why", "body", "self"), "disclose": ("who_knows", "support", "why"),
    "affirm": ("before", "why", "tried"), "suggest": ("plan", "helps", "tried"),
    "inform": ("others_say", "worse", "how_often"), "other": ("today", "happened", "who"),
}  # fmt: skip
AFTER_FALL = {
    "question": ("today", "work"), "restate": ("why", "worse"),
    "reflect": ("how_often", "today"), "disclose": ("who", "happened"),
    "affirm": ("self", "today"), "suggest": ("tried", "talked", "worse"),
    "inform": ("today", "body", "worse"), "other": ("today", "how_often", "worse"),
}  # fmt: skip
"""Topics of an unasked disclosure, by the strategy of a reply that helped or did not: after advice
that did not help, a user says what they tried."""
DEEP = frozenset(["fear", "self", "wish", "body", "plan"])
"""Topics told unasked only from a trust of DEEP_TRUST; `safe` is never told unasked."""
DEEP_TRUST = 2
FACTS_AT_TRUST = (3, 4, 5, 5)
"""Most facts that a user tells unasked, by trust."""


def unasked_disclosure(
    state: State, strategy: str | None, rises: bool, stems: frozenset[str]
) -> UserAnswer | None:
    """Return what the user tells after a reply of `strategy` that asked nothing, or None.

    First choice is a sentence that shares words with the reply (`stems`), then the
    next fact, then a topic that follows from the strategy.
    """
    index = _most_shared_sentence(state, stems)
    if index is None:
        index = _next_fact(state)
    if index is None:
        index = _related_sentence(state, strategy, rises)
    if index is None:
        return None
    return UserAnswer((state.user.persona.tellable[index].text,), index)


def _most_shared_sentence(state: State, stems: frozenset[str]) -> int | None:
    """Return the untold sentence that shares most words with the reply, at least two."""
    touched = sharing(state.user.persona_index, stems)
    return next((n for n in touched if _may_be_told(state, n)), None)


def _next_fact(state: State) -> int | None:
    limit = min(FACTS_AT_TRUST[state.trust], len(state.user.persona.facts))
    return next((n for n in range(limit) if n not in state.disclosed.told), None)


def _related_sentence(state: State, strategy: str | None, rises: bool) -> int | None:
    topics = (AFTER_RISE if rises else AFTER_FALL).get(strategy or "other", ())
    by_topic = BY_TOPIC[state.user.persona_index]
    follows = (index for topic in topics for index in by_topic[topic])
    return next((n for n in follows if _may_be_told(state, n)), None)


def _may_be_told(state: State, index: int) -> bool:
    """Return whether a sentence is untold and the trust suffices to tell it unasked."""
    if index in state.disclosed.told:
        return False
    topic = state.user.persona.tellable[index].topic
    if topic == "fact":
        return index < FACTS_AT_TRUST[state.trust]
    return topic != "safe" and (topic not in DEEP or state.trust >= DEEP_TRUST)
