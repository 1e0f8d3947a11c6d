"""Reference policies: scripted supporters who know only what the user has said.

They anchor the scale of a difficulty level: one listens, others talk well without listening, hurt,
stay silent, or string together words that score well in a lexicon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.config.run import EMOTIONAL_INTENTIONS, INTENTIONS, STRATEGIES
from harness.simulator.data_files import TableRules, tables
from harness.simulator.draws import pick, uniforms
from harness.simulator.listening import ListenerNotes, listen, to_second_person
from harness.simulator.protocol import ConversationKey, SupporterReply, UserSimulator, UserTurn
from harness.simulator.scripted import dynamics, paths
from harness.simulator.scripted.dynamics import KINDNESS, LATE_TRUST, strategy_fits
from harness.simulator.scripted.feelings_and_needs import feeling_chance

Reference = Callable[[Sequence[str], Sequence[str], Sequence[float]], str]
"""(user's turns so far, replies so far, uniform draws) -> the next reply."""

_TABLES = tables(
    Path(__file__).with_name("reference_phrases.tsv"),
    {
        "phrase": TableRules(STRATEGIES, ("f", "e")),
        "neutral": TableRules(),
        "dismissive": TableRules(),
        "fixed": TableRules(),
    },
)
PHRASES = _TABLES["phrase"]
"""By strategy; {f} is a told fact in the second person, {e} a told feeling."""
NEUTRAL, DISMISSIVE, FIXED = (_TABLES[name]["any"] for name in ("neutral", "dismissive", "fixed"))
"""Replies that respond to nothing, replies that hurt, and kind replies that suit anyone."""

OTHER_KIND = 4.0
"""Log-odds against the intentions of the other kind, once a line has revealed the kind."""
EARLY_TURNS = 3
"""Number of replies after which the attentive reference expects trust."""


def converse(
    simulator: UserSimulator, reference: Reference, keys: Sequence[ConversationKey]
) -> list[list[UserTurn]]:
    """Simulate one conversation per key and return its user turns, the opening first."""
    return [_converse(simulator, reference, key, opening) for key, opening in zip(
        keys, simulator.open(keys), strict=True)]  # fmt: skip


def _converse(
    simulator: UserSimulator, reference: Reference, key: ConversationKey, opening: UserTurn
) -> list[UserTurn]:
    turns, replies = [opening], list[str]()
    identity = (key.seed, key.split, key.step, key.group, key.sample)
    while turns[-1].ended is None:
        u = uniforms("reference", *identity, len(replies))
        replies.append(reference([t.text for t in turns], replies, u))
        turns += simulator.answer([turns[-1]], [SupporterReply(replies[-1])])
    return turns


def attentive(turns: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
    """Take up the newest fact with the strategy that best suits the user's likely intention."""
    notes = listen(turns)
    return phrase(attentive_choice(notes, replies), notes, replies, u, newest=True)


def attentive_choice(notes: ListenerNotes, replies: Sequence[str]) -> str:
    """Return the strategy of `attentive`, given its notes on the user and its `replies` so far."""
    past = [_strategy(reply) for reply in replies]
    test = notes.tests[-1]
    worth = (
        _expected_worths(_belief(notes, past), len(replies)) if test is None else _test_worths(test)
    )
    scores = {s: worth[s] - _fatigue(s, past) for s in STRATEGIES}
    return max(scores, key=lambda s: scores[s])


def random_supporter(turns: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
    """Reply fluently, with a random strategy and a random told fact."""
    return phrase(pick(STRATEGIES, u[0]), listen(turns), (), u[1:], newest=False)


def spoken_schedule(strategies: Sequence[str]) -> Reference:
    """Return a policy that plays a fixed schedule of strategies and takes up the newest fact.

    In the strategy game such a policy is called blind.
    """

    def reply(turns: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
        strategy = strategies[len(replies) % len(strategies)]
        return phrase(strategy, listen(turns), replies, u, newest=True)

    return reply


def fixed_cycle(*texts: str) -> Reference:
    """Return a policy that cycles through the texts, whatever the user says."""
    return lambda turns, replies, u: texts[len(replies) % len(texts)]


def keyword_salad(turns: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
    """String together words that score well in a lexicon."""
    notes = listen(turns)
    fact, feeling = to_second_person(notes.facts[-1]), (notes.feelings or ("sad",))[-1]
    return f"so you are it sounds like you feel {feeling} {fact} brave what?"


REFERENCES: Mapping[str, Reference] = {
    "attentive": attentive,
    "random": random_supporter,
    "neutral": fixed_cycle(*NEUTRAL),
    "advice_only": spoken_schedule(("suggest",)),
    "praising": spoken_schedule(("affirm",)),
    "cycle_of_two": fixed_cycle(
        "That must be so hard for you.", "You are stronger than you think."
    ),
    "cycle_of_three": fixed_cycle(
        "That must be so hard for you.", "You are stronger than you think.", "I am here with you."
    ),
    "keyword_salad": keyword_salad,
    "dismissive": fixed_cycle(*DISMISSIVE),
    "silent": fixed_cycle(""),
}


def phrase(
    strategy: str, notes: ListenerNotes, earlier: Sequence[str], u: Sequence[float], newest: bool
) -> str:
    """Return a phrase of `strategy` about the newest or a random told fact.

    Phrases among `earlier` are used only if no others are left.
    """
    facts, feelings = notes.facts or ("I am here.",), notes.feelings or ("sad",)
    fact = to_second_person(facts[-1] if newest else pick(facts, u[0]))
    feeling = feelings[-1] if newest else pick(feelings, u[1])
    options = [p.format(f=fact, e=feeling) for p in PHRASES[strategy]]
    with_fact = [p for p in options if fact in p] if newest else []
    for group in (with_fact, options):
        fresh = tuple(p for p in group if p not in earlier)
        if fresh:
            return pick(fresh, u[2])
    return pick(tuple(options), u[2])


def _strategy(reply: str) -> str:
    """Return the strategy of one of the reference's own replies."""
    openings = {p.split("{")[0]: s for s, group in PHRASES.items() for p in group}
    best = max((o for o in openings if reply.startswith(o)), key=len, default="")
    return openings.get(best, "other")


def _belief(notes: ListenerNotes, past: Sequence[str]) -> dict[str, float]:
    """Return P(intention): 1 for a named one, else inferred from reactions to `past` strategies."""
    if notes.need:
        return {notes.need: 1.0}
    weight = {
        i: sum(_feeling_evidence(i, spoke) for spoke in notes.spoke_of_feeling) for i in INTENTIONS
    }
    for turn, (strategy, sign) in enumerate(zip(past, notes.directions, strict=True)):
        for intention in INTENTIONS if notes.tests[turn] is None else ():
            value = dynamics.FIT_WEIGHT * _expected_worth(strategy, {intention: 1.0}, turn)
            weight[intention] -= abs(sign) * math.log1p(math.exp(-sign * value))
    for intention in INTENTIONS if notes.kind else ():
        if (intention in EMOTIONAL_INTENTIONS) != (notes.kind == "emotional"):
            weight[intention] -= OTHER_KIND
    total = sum(map(math.exp, weight.values()))
    return {intention: math.exp(w) / total for intention, w in weight.items()}


def _feeling_evidence(intention: str, spoke: bool) -> float:
    """Return the log-likelihood of speaking of a feeling, or not, in one turn."""
    chance = feeling_chance(intention)
    return math.log(chance if spoke else 1 - chance)


def reception() -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return the log-odds that each strategy adds to a rise in emotion of a demanding user.

    Shape (2, intentions, strategies); the first axis is before and after trust is established.
    """
    return tuple(
        tuple(
            tuple(
                dynamics.FIT_WEIGHT * _expected_worth(s, {intention: 1.0}, turn) for s in STRATEGIES
            )
            for intention in INTENTIONS
        )
        for turn in (0, EARLY_TURNS)
    )


def _expected_worths(belief: Mapping[str, float], turn: int) -> dict[str, float]:
    return {s: _expected_worth(s, belief, turn) for s in STRATEGIES}


def _test_worths(path: str) -> dict[str, float]:
    """Return the worth of each strategy for a demanding user who tests the supporter."""
    rule = dynamics.ACCEPTANCES["goal_fit"]
    fits = zip(STRATEGIES, paths.FITS[path], strict=True)
    return {s: dynamics.worth(fit, KINDNESS[s], rule) for s, fit in fits}


def _expected_worth(strategy: str, belief: Mapping[str, float], turn: int) -> float:
    """Return the worth of a strategy for a demanding user, averaged over P(intention)."""
    trust = LATE_TRUST if turn >= EARLY_TURNS else 0
    rule, index = dynamics.ACCEPTANCES["goal_fit"], STRATEGIES.index(strategy)
    return sum(
        p * dynamics.worth(strategy_fits(intention, trust)[index], KINDNESS[strategy], rule)
        for intention, p in belief.items()
    )


def _fatigue(strategy: str, past: Sequence[str]) -> float:
    """Return the fatigue from the latest use of a strategy, in units of fit."""
    if strategy not in past:
        return 0.0
    ago = len(past) - max(n for n, s in enumerate(past) if s == strategy)
    fatigue = {1: dynamics.LAST, 2: dynamics.PREVIOUS}.get(ago, dynamics.EARLIER)
    return fatigue / dynamics.FIT_WEIGHT
