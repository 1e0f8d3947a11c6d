"""The appraisal of a reply by one user at one point of the conversation, as a sum of parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from harness.config.run import STRATEGIES
from harness.simulator.scripted import dynamics
from harness.simulator.scripted.dynamics import KINDNESS, AcceptanceRule, strategy_fits
from harness.simulator.scripted.reading import (
    COMMON_STEMS,
    FACT_STEMS,
    FEELINGS,
    FEWEST_SHARED,
    TELLABLE_STEMS,
    read,
    takes_up,
)
from harness.simulator.scripted.replies import ReplyReading, SentenceReading
from harness.simulator.scripted.sentence_guard import LanguageFault
from harness.simulator.state import State
from harness.utils.record import record

NOTHING_SAID = -1.0
"""Worth of a reply in which no strategy is recognised."""
FRESH_FACT, OLDER_FACT, FEELING = 0.6, 0.3, 0.4
CONFUSION = -1.2
"""Logits for speaking of something that this user never told."""
SAID_BEFORE = -2.0
STALE = -2.4
"""Worth of a stale sentence (said before, echoing the user, or flattery), and of a reply that is
not language."""
LONG_WORDS = 60
"""Words that a reply may have without penalty; TOO_LONG is added again for every 60 more."""
FEW_WORDS = 4
"""Fewest words of a reply that is not too short."""
TOO_SHORT, TOO_LONG, TOO_MANY, CUT = -1.0, -0.75, -0.75, -1.0
HURT = -5.0
"""Logits for a hurtful reply."""
DOUBT = -1.6
"""Logits per nat of suspicion."""
COLD, WARM_FROM = -2.5, 0.5
"""Logits for a reply with P(caring) = 0, and the P(caring) from which there is no penalty."""
PUZZLED = -5.0
ATYPICAL = LanguageFault("typicality", "unlike anything the start policy says")
_SHARED_STEMS = tuple(COMMON_STEMS.union(*sentence_stems) for sentence_stems in TELLABLE_STEMS)
"""By persona, the stems that do not show that a reply speaks of another persona's fact."""
_ALL_STEMS = tuple(frozenset().union(*sentence_stems) for sentence_stems in TELLABLE_STEMS)
"""By persona, the stems of all that they could tell."""
_FATIGUE = (dynamics.LAST, dynamics.PREVIOUS, dynamics.EARLIER)
"""Fatigue by recency of a strategy's latest use: the last reply, the reply before it, earlier."""
_INDEX = {name: index for index, name in enumerate(STRATEGIES)}


@record
class Appraisal:
    """Parts of the appraisal of one reply; all but `worth` are in logits of P(rise)."""

    worth: float
    pick_up: float
    confusion: float
    repetition: float
    fatigue: float
    form: float
    hurt: float
    doubt: float
    coldness: float
    puzzled: float

    @property
    def extra(self) -> float:
        """Sum of all parts but `worth`."""
        return (
            self.pick_up + self.confusion + self.repetition + self.fatigue + self.form
            + self.hurt + self.doubt + self.coldness + self.puzzled
        )  # fmt: skip

    def as_dict(self) -> dict[str, float | str]:
        """Return the parts by name, as recorded in UserTurn.why."""
        return {
            "worth": self.worth, "pick_up": self.pick_up, "confusion": self.confusion,
            "repetition": self.repetition, "fatigue": self.fatigue, "form": self.form,
            "hurt": self.hurt, "doubt": self.doubt, "coldness": self.coldness,
            "puzzled": self.puzzled,
        }  # fmt: skip


def puzzle(reading: ReplyReading, start_z: float | None, cut: float | None) -> LanguageFault | None:
    """Return why a reply is not language to the user; None if they understand it.

    A reply is also rejected if its z-score `start_z` under the start policy exceeds `cut`. None for
    either skips this one-sided test.
    """
    if reading.fault is not None:
        return reading.fault
    is_atypical = start_z is not None and cut is not None and start_z > cut
    return ATYPICAL if is_atypical else None


def appraise(
    reading: ReplyReading,
    cut: bool,
    puzzled: bool,
    suspicion: float,
    state: State,
    rule: AcceptanceRule,
) -> Appraisal:
    """Return the appraisal of `reading` by the user of `state`.

    `suspicion` is the user's suspicion after the reply.
    """
    fresh = _fresh_sentences(reading, state)
    stale = len(reading.sentences) - len(fresh)
    strategies = reading.strategy_set
    if stale:
        strategies = frozenset([s.strategy for s in fresh if s.strategy is not None])
    user = state.user
    return Appraisal(
        worth=STALE
        if puzzled
        else _worth(strategies, stale, user.intention, state.trust, rule, user.path),
        pick_up=_pick_up(reading, state),
        confusion=CONFUSION * min(2, _count_foreign(reading, state)),
        repetition=SAID_BEFORE if stale else 0.0,
        fatigue=_mean_fatigue(reading.strategy_set, state.past_strategies),
        form=_form(reading.word_count, len(reading.strategy_set), cut),
        hurt=HURT if is_hurtful(reading, state) else 0.0,
        doubt=DOUBT * max(0.0, suspicion),
        coldness=COLD * max(0.0, 1 - reading.caring / WARM_FROM),
        puzzled=PUZZLED if puzzled else 0.0,
    )


def is_hurtful(reading: ReplyReading, state: State) -> bool:
    """Return whether the user of `state` hears `reading` as hurtful."""
    evidence = reading.hurt_evidence + dynamics.PRIOR_OF_SUSPICION * state.suspicion
    return reading.hurts or evidence > dynamics.HURTFUL_FROM


def _fresh_sentences(reading: ReplyReading, state: State) -> list[SentenceReading]:
    """Return the sentences that were not said before, do not echo the user and do not flatter."""
    fresh, earlier = list[SentenceReading](), state.sentences
    for sentence in reading.sentences:
        if not sentence.hollow and not sentence.said_before(earlier):
            fresh.append(sentence)
        earlier = (*earlier, sentence.plain)
    return fresh


def says_again(reading: ReplyReading, state: State) -> bool:
    """Return whether a sentence repeats an earlier sentence of this reply or a previous one."""
    earlier = state.sentences
    for sentence in reading.sentences:
        if sentence.said_before(earlier):
            return True
        earlier = (*earlier, sentence.plain)
    return False


@lru_cache(maxsize=16384)
def _worth(
    strategies: frozenset[str],
    stale: int,
    intention: str,
    trust: int,
    rule: AcceptanceRule,
    path: str | None,
) -> float:
    """Return the mean worth over strategies and stale sentences; a mean discourages hedging.

    Cached because there are few strategies and so few sets of them.
    """
    if not strategies:
        return STALE if stale else NOTHING_SAID
    fits = strategy_fits(intention, trust, path)
    values = [dynamics.worth(fits[_INDEX[s]], KINDNESS[s], rule) for s in sorted(strategies)]
    values += [STALE] * stale
    return sum(values) / len(values)


def _pick_up(reading: ReplyReading, state: State) -> float:
    """Return the logits for taking up a told sentence or feeling; the newest counts most."""
    disclosed, value = state.disclosed, 0.0
    told_indices, persona_index = disclosed.told, state.user.persona_index
    tellable_stems = TELLABLE_STEMS[persona_index]
    if len(reading.stems & _ALL_STEMS[persona_index]) < FEWEST_SHARED:
        pass  # a quick test for the most common case: nothing told is taken up
    elif disclosed.fresh and _takes_up_one(reading, [tellable_stems[told_indices[-1]]]):
        value = FRESH_FACT
    elif _takes_up_one(reading, [tellable_stems[index] for index in told_indices]):
        value = OLDER_FACT
    return value if reading.feelings.isdisjoint(disclosed.feelings) else value + FEELING


def find_taken_up(text: str, state: State) -> tuple[str, ...]:
    """Return the told sentences, then the feelings, that `text` takes up, in the user's words.

    Appraisal.pick_up rewards them.
    """
    reading, persona_index = read(text), state.user.persona_index
    stems = TELLABLE_STEMS[persona_index]
    indices = [n for n in state.disclosed.told if _takes_up_one(reading, [stems[n]])]
    feelings = sorted(reading.feelings & state.disclosed.feelings)
    return (*(state.user.persona.tellable[n].text for n in indices), *feelings)


def _takes_up_one(reading: ReplyReading, candidates: Sequence[frozenset[str]]) -> bool:
    """Return whether a sentence of the reply takes up one of `candidates`, stems of sentences."""
    for sentence in reading.sentences:
        stems = sentence.stems
        for candidate in candidates:
            if takes_up(stems, candidate):
                return True
    return False


def _count_foreign(reading: ReplyReading, state: State) -> int:
    """Return the number of feelings that the user never told, plus 1 for another persona's fact."""
    persona_index = state.user.persona_index
    unnamed = reading.feelings - state.disclosed.feelings
    feeling_count = (
        len(unnamed - _named_feelings(persona_index, state.disclosed.told)) if unnamed else 0
    )
    other_facts = [
        FACT_STEMS[persona][number] for persona, number in reading.facts if persona != persona_index
    ]
    if not other_facts:
        return feeling_count
    shared_stems = _SHARED_STEMS[persona_index]
    return feeling_count + any(
        len((fact & reading.stems) - shared_stems) > 1 for fact in other_facts
    )


@lru_cache(maxsize=16384)
def _named_feelings(persona_index: int, indices: tuple[int, ...]) -> frozenset[str]:
    """Return the feelings that the told sentences name."""
    sentence_stems = TELLABLE_STEMS[persona_index]
    return frozenset(
        FEELINGS[stem] for n in indices for stem in sentence_stems[n] if stem in FEELINGS
    )


def _mean_fatigue(strategies: frozenset[str], past: Sequence[frozenset[str]]) -> float:
    if len(strategies) == 1:
        return -_fatigue(next(iter(strategies)), past)
    return -sum([_fatigue(s, past) for s in sorted(strategies)]) / max(1, len(strategies))


def _fatigue(strategy: str, past: Sequence[frozenset[str]]) -> float:
    for ago, used in enumerate(reversed(past)):
        if strategy in used:
            return _FATIGUE[min(ago, 2)]
    return 0.0


@lru_cache(maxsize=4096)
def _form(words: int, strategies: int, cut: bool) -> float:
    """Return the logits for length, truncation and number of strategies. Cached: few values."""
    value = CUT if cut else 0.0
    if words < FEW_WORDS:
        value += TOO_SHORT
    value += TOO_LONG * min(3, max(0, words - 1) // LONG_WORDS)
    return value + TOO_MANY * max(0, strategies - 2)
