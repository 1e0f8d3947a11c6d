"""What a reply is worth to this user at this point of the talk, part by part, in logits."""

from __future__ import annotations

from dataclasses import dataclass

from harness.config import STRATEGIES
from harness.simulator import dynamics
from harness.simulator.dynamics import Acceptance
from harness.simulator.reading import COMMON_STEMS, FACT_STEMS, Reading, Sentence
from harness.simulator.state import State
from harness.simulator.wants import KINDNESS, fits

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
    kinds = frozenset(s.strategy for s in fresh if s.strategy is not None)
    return Appraisal(
        worth=STALE if puzzled else _worth(kinds, stale, state, rule),
        pick_up=_pick_up(reading, state),
        confusion=CONFUSION * min(2, _foreign(reading, state)),
        repetition=SAID_BEFORE if stale else 0.0,
        fatigue=_mean_fatigue(frozenset(reading.strategies), state),
        form=_form(reading, cut),
        hurt=HURT if reading.hurts else 0.0,
        puzzled=PUZZLED if puzzled else 0.0,
    )


def _fresh(reading: Reading, state: State) -> list[Sentence]:
    """The sentences that mean something: not said before, nor the user's own, nor flattery."""
    fresh = list[Sentence]()
    before = [*state.sentences]
    for sentence in reading.said:
        if not sentence.hollow and not any(map(sentence.much_like, before)):
            fresh.append(sentence)
        before.append(sentence.plain)
    return fresh


def _worth(kinds: frozenset[str], stale: int, state: State, rule: Acceptance) -> float:
    """Mean over the strategies and what is stale, so that no sentence can hedge another."""
    if not kinds:
        return STALE if stale else NOTHING_SAID
    wanted = fits(state.user.intention, state.trust)
    values = [dynamics.worth(wanted[_PLACE[k]], KINDNESS[k], rule) for k in sorted(kinds)]
    values += [STALE] * stale
    return sum(values) / len(values)


def _pick_up(reading: Reading, state: State) -> float:
    told, person = state.told, state.user.person
    spoken = [number for who, number in reading.facts if who == person and number < told.facts]
    value = 0.0
    if told.fresh_fact and told.facts - 1 in spoken:
        value = FRESH_FACT
    elif spoken:
        value = OLDER_FACT
    return value + (FEELING if reading.feelings & told.feelings else 0.0)


def _foreign(reading: Reading, state: State) -> int:
    """How many things the reply speaks of that this user never said: feelings, another's facts."""
    wrong = len(reading.feelings - state.told.feelings)
    others = [FACT_STEMS[who][n] for who, n in reading.facts if who != state.user.person]
    known = COMMON_STEMS.union(*FACT_STEMS[state.user.person]) if others else COMMON_STEMS
    return wrong + any(len((fact & reading.stems) - known) > 1 for fact in others)


def _mean_fatigue(kinds: frozenset[str], state: State) -> float:
    return -sum(_fatigue(kind, state) for kind in kinds) / max(1, len(kinds))


def _fatigue(kind: str, state: State) -> float:
    heard = state.heard
    if heard and kind in heard[-1]:
        return dynamics.LAST
    if len(heard) > 1 and kind in heard[-2]:
        return dynamics.PREVIOUS
    return dynamics.EARLIER if any(kind in past for past in heard[:-2]) else 0.0


def _form(reading: Reading, cut: bool) -> float:
    value = CUT if cut else 0.0
    if reading.word_count < 4:
        value += TOO_SHORT
    value += TOO_LONG * min(3, max(0, reading.word_count - 1) // LONG_WORDS)
    return value + TOO_MANY * max(0, len(frozenset(reading.strategies)) - 2)
