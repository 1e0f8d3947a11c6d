"""The user's words: what is told next, which line puts it, and in whose manner.

The lines are in lines.tsv and need_lines.tsv; facts and feelings are the persona's. Facts are told
in their order as trust grows, feelings and needs as far as the level lets them show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.config.run import EMOTIONAL_INTENTIONS, INTENTIONS, STRATEGIES, TEMPERAMENTS
from harness.simulator.data_files import Table, tables
from harness.simulator.draws import pick
from harness.simulator.personas import VOICES
from harness.simulator.scripted.dynamics import DisclosureRule
from harness.simulator.scripted.words import content
from harness.simulator.state import Disclosed, State, User

ENDINGS = ("success", "left", "cap")
BANDS = ("low", "middle", "lighter")
"""Bands of emotion, by which feelings are put."""
KINDS_OF_NEED = ("emotional", "rational")
LINES = tables(
    Path(__file__).with_name("lines.tsv"),
    {
        "opener": Table(VOICES, ("t",)),
        "opener_without_topic": Table(VOICES),
        **{f"{taken}{by}": Table(keys)
           for taken in ("rise", "fall")
           for by, keys in (("", VOICES), ("_after", STRATEGIES), ("_of", TEMPERAMENTS))},
        "hurt": Table(TEMPERAMENTS),
        "flat": Table(("any", "question")),
        "puzzled": Table(),
        "silent": Table(),
        "new_feeling": Table(BANDS[:2], ("e",)),
        "told_feeling": Table(BANDS, ("e",)),
        **{f"farewell.{ending}": Table(VOICES, single=True) for ending in ENDINGS},
        "storms_off": Table(TEMPERAMENTS, single=True),
    },
)  # fmt: skip
"""By table and key, the lines that bear on no need."""
NEEDS = tables(
    Path(__file__).with_name("need_lines.tsv"),
    {f"need.{shown}": Table(INTENTIONS) for shown in ("free", "hint", "met")}
    | {f"oblique.{weight}": Table(KINDS_OF_NEED) for weight in ("heavy", "met")},
)
"""By table and key, the lines that bear on what the user came for."""
NEED_LINES = tuple(line for table in NEEDS.values() for lines in table.values() for line in lines)

LOW, LIGHTER, MET = 35, 60, 70
"""Emotions: below the first feelings are strong, from the second on they fade, and from the third
on a need weighs less."""
FACTS_AT_TRUST = (3, 4, 5, 5)
"""The most facts that a user tells, by trust."""
EMOTIONAL_FEELING, RATIONAL_FEELING = 0.85, 0.35
"""Chance of a feeling in a turn: who came for empathy speaks of feelings, who came for an answer
of facts."""
_CONTRACTIONS = (
    ("I am", "I'm"), ("It is", "It's"), ("it is", "it's"), ("That is", "That's"),
    ("that is", "that's"), ("There is", "There's"), ("there is", "there's"), ("do not", "don't"),
    ("Do not", "Don't"), ("does not", "doesn't"), ("did not", "didn't"), ("have not", "haven't"),
    ("has not", "hasn't"), ("are not", "aren't"), ("cannot", "can't"), ("is not", "isn't"),
    ("You are", "You're"), ("you are", "you're"),
)  # fmt: skip
_SHORT = dict(_CONTRACTIONS)
_LONG = {short: long for long, short in _CONTRACTIONS}
_TO_SHORTEN = re.compile(rf"\b(?:{'|'.join(_SHORT)})\b(?= \w)")
_TO_EXPAND = re.compile(rf"\b(?:{'|'.join(_LONG)})\b")


def opening(
    user: User, emotion: int, rule: DisclosureRule, u: Sequence[float]
) -> tuple[Disclosed, str]:
    """Return the first words: the topic, one fact, one feeling, perhaps what is needed."""
    persona = user.persona
    feeling = pick(persona.feelings, u[0])
    parts = [
        opener(user, u[4:]),
        persona.facts[0],
        feeling_line(feeling, False, emotion, u[1]),
    ]
    needs = _needs(user, emotion, rule, (), u[2:])
    disclosed = Disclosed(1, frozenset((feeling,)), True, needs)
    return disclosed, manner(" ".join([*parts, *needs]), persona.voice)


def feeling_chance(intention: str) -> float:
    """Return the chance that a user of `intention` speaks of a feeling in a turn."""
    return EMOTIONAL_FEELING if intention in EMOTIONAL_INTENTIONS else RATIONAL_FEELING


def continuation(state: State, rule: DisclosureRule, u: Sequence[float]) -> tuple[Disclosed, str]:
    """Return what follows the reaction to a reply: who is asked tells something if any is left."""
    before, persona = state.disclosed, state.user.persona
    parts = []
    limit = min(FACTS_AT_TRUST[state.trust], len(persona.facts))
    was_asked = "question" in state.past_strategies[-1]
    fact = before.facts < limit and (u[0] < rule.expression or was_asked)
    if fact:
        parts.append(persona.facts[before.facts])
    feelings = _feelings(state) if u[1] < feeling_chance(state.user.intention) else ()
    feeling = pick(feelings, u[2]) if feelings else None
    if feeling:
        parts.append(feeling_line(feeling, feeling in before.feelings, state.emotion, u[3]))
    needs = _needs(state.user, state.emotion, rule, before.needs, u[4:])
    parts.extend(needs)
    if not parts:
        parts.append(pick(LINES["silent"]["any"], u[6]))
    return (
        Disclosed(
            before.facts + fact,
            before.feelings | {feeling} if feeling else before.feelings,
            fact,
            (*before.needs, *needs),
        ),
        " ".join(parts),
    )


def _feelings(state: State) -> tuple[str, ...]:
    """Return those the user may speak of: once lighter, only of what was told before."""
    feelings = state.user.persona.feelings
    if state.emotion < LIGHTER:
        return feelings
    return tuple([f for f in feelings if f in state.disclosed.feelings])


def _needs(
    user: User, emotion: int, rule: DisclosureRule, earlier: Sequence[str], u: Sequence[float]
) -> tuple[str, ...]:
    """Return a line on what they came for, or none."""
    if u[0] >= rule.expression:
        return ()
    return (need_line(rule.lines, user.intention, emotion, earlier, u[1]),)


def manner(text: str, voice: str) -> str:
    """Return `text` as said in `voice`: short sentences are contracted, the others are not."""
    return _TO_SHORTEN.sub(lambda m: _SHORT[m.group()], text) if voice == "short" else text


def expanded(text: str) -> str:
    """Return `text` with the contractions of `manner` undone."""
    return _TO_EXPAND.sub(lambda m: _LONG[m.group()], text)


def opener(user: User, u: Sequence[float]) -> str:
    """Return the first sentence: the topic, unless the first fact is about to name it again."""
    persona = user.persona
    named_at_once = not content(persona.topic).isdisjoint(content(persona.facts[0]))
    if named_at_once and u[0] < 0.5:
        return pick(LINES["opener_without_topic"][persona.voice], u[1])
    return pick(LINES["opener"][persona.voice], u[1]).format(t=persona.topic)


def reaction(change: int, after: str | None, hurt: bool, shows: bool, user: User, u: float) -> str:
    """Return the user's first sentence on a reply whose last strategy was `after`.

    A change that does not show sounds neutral.
    """
    asked = after == "question"
    if not shows or change == 0:
        return pick(LINES["flat"]["question" if asked else "any"], u)
    if hurt and change < 0:
        return pick(LINES["hurt"][user.temperament], u)
    taken = "rise" if change > 0 else "fall"
    pool = LINES[f"{taken}_after"][after] if after else ()
    if not asked:  # an answer begins with neither thanks nor yes
        pool += LINES[taken][user.persona.voice]
        pool += LINES[f"{taken}_of"][user.temperament]
    return pick(pool, u)


def puzzled_line(u: float) -> str:
    """Return a line for a reply that is no language."""
    return pick(LINES["puzzled"]["any"], u)


def feeling_line(feeling: str, was_told: bool, emotion: int, u: float) -> str:
    """Return a line on a feeling that was told before or on a new one."""
    band = BANDS[0 if emotion < LOW else 1 if emotion < LIGHTER or not was_told else 2]
    return pick(LINES["told_feeling" if was_told else "new_feeling"][band], u).format(e=feeling)


def need_line(shown: str, intention: str, emotion: int, earlier: Sequence[str], u: float) -> str:
    """Return a line that bears on what the user came for, and not one of the latest in `earlier`.

    `shown`: DisclosureRule.lines.
    """
    met = emotion >= MET
    if shown == "oblique":
        kind = "emotional" if intention in EMOTIONAL_INTENTIONS else "rational"
        pool = NEEDS["oblique.met" if met else "oblique.heavy"][kind]
    else:
        pool = NEEDS["need.met" if met else f"need.{shown}"][intention]
    latest = earlier[-(len(pool) - 1) :]
    if not latest:
        return pick(pool, u)
    return pick(tuple([line for line in pool if line not in latest]), u)


def farewell(ending: str, hurt: bool, user: User) -> str:
    """Return the last words of a conversation."""
    if ending == "left" and hurt:
        return LINES["storms_off"][user.temperament][0]
    return LINES[f"farewell.{ending}"][user.persona.voice][0]


def shows_attitude(text: str) -> bool:
    """Return whether the first sentence of `text` says how the reply was taken."""
    return not text.startswith(_UNREADABLE)


def speaks_of_need(text: str) -> bool:
    """Return whether a line in `text` bears on what the user came for."""
    plain = expanded(text)
    return any(line in plain for line in NEED_LINES)


def all_lines(names: Iterable[str]) -> frozenset[str]:
    """Return the lines of some tables of LINES, whatever their key."""
    return frozenset(line for name in names for lines in LINES[name].values() for line in lines)


_UNREADABLE = tuple(
    manner(line, voice)
    for line in sorted(all_lines(("flat", "puzzled")))
    for voice in ("plain", "short")
)
