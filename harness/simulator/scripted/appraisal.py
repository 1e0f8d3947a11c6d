"""What a reply is worth to this user at this point of the talk, part by part, in logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.config.run import STRATEGIES
from harness.simulator.scripted import dynamics
from harness.simulator.scripted.dynamics import Acceptance
from harness.simulator.scripted.reading import COMMON_STEMS, FACT_STEMS, Reading, Sentence
from harness.simulator.scripted.wants import KINDNESS, fits
from harness.simulator.state import State

NOTHING_SAID = -1.0
"""Worth of a reply in which no strategy is recognised."""
FRESH_FACT, OLDER_FACT, FEELING = 0.6, 0.3, 0.4
CONFUSION = -1.2
"""For talk of what this user never said."""
SAID_BEFORE = -2.0
STALE = -2.4
"""Worth of a sentence that was said before, is the user's own handed back or flatters, and of what
is not language."""
LONG_WORDS = 60
"""Words a reply may have; each time so many more tire."""
TOO_SHORT, TOO_LONG, TOO_MANY, CUT = -1.0, -0.75, -0.75, -1.0
HURT = -4.0
PUZZLED = -5.0
START_NLL_LIMIT = 1.2
"""Nats a token. A fluent start model's replies average about .55 under it, those of a policy that
drifts .6 to .8, gibberish 1.4 to 3.6. A single short reply scatters around its mean, so the limit
lies nearer to gibberish than to fluency."""
_KNOWN_TO = tuple(COMMON_STEMS.union(*facts) for facts in FACT_STEMS)
"""Stems that a fact of another's may share with each person's own."""
_FATIGUE = (dynamics.LAST, dynamics.PREVIOUS, dynamics.EARLIER)
"""Of a strategy used last, before that, or earlier."""
_PLACE = {name: number for number, name in enumerate(STRATEGIES)}


@dataclass(frozen=True, slots=True)
class Appraisal:
    """The parts; all but `worth` in logits of P(rise)."""

    worth: float
    pick_up: float
    confusion: float
    repetition: float
    fatigue: float
    form: float
    hurt: float
    puzzled: float

    @property
    def extra(self) -> float:
        return (
            self.pick_up + self.confusion + self.repetition + self.fatigue + self.form
            + self.hurt + self.puzzled
        )  # fmt: skip

    def as_dict(self) -> dict[str, float]:
        return {
            "worth": self.worth, "pick_up": self.pick_up, "confusion": self.confusion,
            "repetition": self.repetition, "fatigue": self.fatigue, "form": self.form,
            "hurt": self.hurt, "puzzled": self.puzzled,
        }  # fmt: skip


def puzzle(reading: Reading, start_nll: float | None) -> str | None:
    """Why the user takes a reply for not being language; None if they understand it."""
    if reading.fault is not None:
        return reading.fault
    if start_nll is not None and start_nll > START_NLL_LIMIT:
        return "unlike anything the start policy says"
    return None


def appraise(
    reading: Reading, cut: bool, puzzled: bool, state: State, rule: Acceptance
) -> Appraisal:
    """How `reading` strikes the user of `state`."""
    fresh = _fresh(reading, state)
    stale = len(reading.said) - len(fresh)
    kinds = frozenset([s.strategy for s in fresh if s.strategy is not None])
    return Appraisal(
        worth=STALE if puzzled else _worth(kinds, stale, state.user.intention, state.trust, rule),
        pick_up=_pick_up(reading, state),
        confusion=CONFUSION * min(2, _foreign(reading, state)),
        repetition=SAID_BEFORE if stale else 0.0,
        fatigue=_mean_fatigue(reading.kinds, state.heard),
        form=_form(reading.word_count, len(reading.kinds), cut),
        hurt=HURT if reading.hurts else 0.0,
        puzzled=PUZZLED if puzzled else 0.0,
    )


def _fresh(reading: Reading, state: State) -> list[Sentence]:
    """The sentences that mean something: not said before, nor the user's own, nor flattery."""
    fresh, before = list[Sentence](), state.sentences
    for sentence in reading.said:
        if not sentence.hollow and not sentence.said_before(before):
            fresh.append(sentence)
        before = (*before, sentence.plain)
    return fresh


@lru_cache(maxsize=16384)
def _worth(
    kinds: frozenset[str], stale: int, intention: str, trust: int, rule: Acceptance
) -> float:
    """Mean over the strategies and what is stale, so that no sentence can hedge another.

    Kept: strategies are few, and so are their sets.
    """
    if not kinds:
        return STALE if stale else NOTHING_SAID
    wanted = fits(intention, trust)
    values = [dynamics.worth(wanted[_PLACE[k]], KINDNESS[k], rule) for k in sorted(kinds)]
    values += [STALE] * stale
    return sum(values) / len(values)


def _pick_up(reading: Reading, state: State) -> float:
    told, person, value = state.told, state.user.person, 0.0
    spoken = [number for who, number in reading.facts if who == person and number < told.facts]
    if told.fresh_fact and told.facts - 1 in spoken:
        value = FRESH_FACT
    elif spoken:
        value = OLDER_FACT
    return value if reading.feelings.isdisjoint(told.feelings) else value + FEELING


def _foreign(reading: Reading, state: State) -> int:
    """How many things the reply speaks of that this user never said: feelings, another's facts."""
    wrong = len(reading.feelings - state.told.feelings)
    others = [FACT_STEMS[who][n] for who, n in reading.facts if who != state.user.person]
    if not others:
        return wrong
    known = _KNOWN_TO[state.user.person]
    return wrong + any(len((fact & reading.stems) - known) > 1 for fact in others)


def _mean_fatigue(kinds: frozenset[str], heard: Sequence[frozenset[str]]) -> float:
    return -sum([_fatigue(kind, heard) for kind in kinds]) / max(1, len(kinds))


def _fatigue(kind: str, heard: Sequence[frozenset[str]]) -> float:
    for ago, past in enumerate(reversed(heard)):
        if kind in past:
            return _FATIGUE[min(ago, 2)]
    return 0.0


@lru_cache(maxsize=4096)
def _form(words: int, kinds: int, cut: bool) -> float:
    """Kept: a handful of values, asked for at every reply."""
    value = CUT if cut else 0.0
    if words < 4:
        value += TOO_SHORT
    value += TOO_LONG * min(3, max(0, words - 1) // LONG_WORDS)
    return value + TOO_MANY * max(0, kinds - 2)
