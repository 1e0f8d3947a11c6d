"""Reference policies: scripted supporters who know only what the user has said.

They mark the ends of the scale on a difficulty: who listens, who talks well without listening, who
hurts, who is silent, and who strings together words that a lexicon likes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from harness.config.run import EMOTIONAL_INTENTIONS, INTENTIONS, STRATEGIES
from harness.simulator.draws import pick, uniforms
from harness.simulator.listening import Heard, listen
from harness.simulator.protocol import ConversationKey, SupporterReply, UserSimulator, UserTurn
from harness.simulator.reference_phrases import DISMISSIVE, NEUTRAL, PHRASES, turned
from harness.simulator.scripted import dynamics
from harness.simulator.scripted.disclosure import feeling_chance
from harness.simulator.scripted.wants import KINDNESS, LATE_TRUST, fits

Reference = Callable[[Sequence[str], Sequence[str], Sequence[float]], str]
"""(what the user said, what was replied, uniform draws) -> the next reply."""

OTHER_KIND = 4.0
"""Log-odds against the intentions of the kind that did not show."""
EARLY_TURNS = 3
"""Replies after which the attentive reference expects that there is trust."""


def talk(
    simulator: UserSimulator, reference: Reference, keys: Sequence[ConversationKey]
) -> list[list[UserTurn]]:
    """Hold one conversation per key; all its user turns, the opening first."""
    return [_talk(simulator, reference, key, opening) for key, opening in zip(
        keys, simulator.open(keys), strict=True)]  # fmt: skip


def _talk(
    simulator: UserSimulator, reference: Reference, key: ConversationKey, opening: UserTurn
) -> list[UserTurn]:
    turns, said = [opening], list[str]()
    while turns[-1].ended is None:
        u = uniforms("reference", key.seed, key.split, key.step, key.group, key.sample, len(said))
        said.append(reference([t.text for t in turns], said, u))
        turns += simulator.answer([turns[-1]], [SupporterReply(said[-1])])
    return turns


def attentive(heard: Sequence[str], said: Sequence[str], u: Sequence[float]) -> str:
    """Listens: takes up the newest fact, and chooses by what the user seems to want."""
    known = listen(heard)
    done = [_strategy(reply, known) for reply in said]
    belief = _belief(known, done)
    scores = {s: _promise(s, belief, len(said)) - _tired(s, done) for s in STRATEGIES}
    return phrase(max(scores, key=lambda s: scores[s]), known, said, u, newest=True)


def random_supporter(heard: Sequence[str], said: Sequence[str], u: Sequence[float]) -> str:
    """Fluent and friendly, with a strategy and a told fact at random."""
    return phrase(pick(STRATEGIES, u[0]), listen(heard), (), u[1:], newest=False)


def spoken_schedule(strategies: Sequence[str]) -> Reference:
    """Plays a fixed schedule, taking up the newest fact: what the strategy game calls blind."""

    def reply(heard: Sequence[str], said: Sequence[str], u: Sequence[float]) -> str:
        strategy = strategies[len(said) % len(strategies)]
        return phrase(strategy, listen(heard), said, u, newest=True)

    return reply


def fixed_cycle(*replies: str) -> Reference:
    """Says the same replies in turn, whatever it hears."""
    return lambda heard, said, u: replies[len(said) % len(replies)]


def keyword_salad(heard: Sequence[str], said: Sequence[str], u: Sequence[float]) -> str:
    """Strings together words that a lexicon likes."""
    known = listen(heard)
    fact, felt = turned(known.facts[-1]), (known.feelings or ("sad",))[-1]
    return f"so you are it sounds like you feel {felt} {fact} brave what?"


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
    strategy: str, known: Heard, said: Sequence[str], u: Sequence[float], newest: bool
) -> str:
    """A sentence of `strategy` not yet said, about the newest or any told fact."""
    facts, feelings = known.facts or ("I am here.",), known.feelings or ("sad",)
    fact = facts[-1] if newest else pick(facts, u[0])
    felt = feelings[-1] if newest else pick(feelings, u[1])
    options = [p.format(f=turned(fact), e=felt) for p in PHRASES[strategy]]
    with_fact = [p for p in options if turned(fact) in p] if newest else []
    for group in (with_fact, options):
        fresh = tuple(p for p in group if p not in said)
        if fresh:
            return pick(fresh, u[2])
    return pick(tuple(options), u[2])


def _strategy(reply: str, known: Heard) -> str:
    """Which strategy the reference itself meant by `reply`."""
    openings = {p.split("{")[0]: s for s, group in PHRASES.items() for p in group}
    best = max((o for o in openings if reply.startswith(o)), key=len, default="")
    return openings.get(best, "other")


def _belief(known: Heard, done: Sequence[str]) -> dict[str, float]:
    """What the user may want: what a line said, else what the reactions to each reply suggest."""
    if known.need:
        return {known.need: 1.0}
    weight = {i: sum(_feeling_evidence(i, felt) for felt in known.felt) for i in INTENTIONS}
    for turn, (strategy, way) in enumerate(zip(done, known.directions, strict=True)):
        for intention in INTENTIONS:
            value = dynamics.FIT_WEIGHT * _promise(strategy, {intention: 1.0}, turn)
            weight[intention] -= abs(way) * math.log1p(math.exp(-way * value))
    for intention in INTENTIONS if known.kind else ():
        if (intention in EMOTIONAL_INTENTIONS) != (known.kind == "emotional"):
            weight[intention] -= OTHER_KIND
    total = sum(map(math.exp, weight.values()))
    return {intention: math.exp(w) / total for intention, w in weight.items()}


def _feeling_evidence(intention: str, felt: bool) -> float:
    """Log-likelihood of speaking, or not speaking, of a feeling in one turn."""
    chance = feeling_chance(intention)
    return math.log(chance if felt else 1 - chance)


def _promise(strategy: str, belief: Mapping[str, float], turn: int) -> float:
    """What a strategy is worth to a demanding user who wants what is believed."""
    trust = LATE_TRUST if turn >= EARLY_TURNS else 0
    rule, place = dynamics.ACCEPTANCES["goal_fit"], STRATEGIES.index(strategy)
    return sum(
        p * dynamics.worth(fits(intention, trust)[place], KINDNESS[strategy], rule)
        for intention, p in belief.items()
    )


def _tired(strategy: str, done: Sequence[str]) -> float:
    """Fatigue in units of fit."""
    if strategy not in done:
        return 0.0
    ago = len(done) - max(n for n, s in enumerate(done) if s == strategy)
    lost = {1: dynamics.LAST, 2: dynamics.PREVIOUS}.get(ago, dynamics.EARLIER)
    return lost / dynamics.FIT_WEIGHT
