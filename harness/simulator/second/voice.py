"""The second user's words: how the reply was taken, an answer or what comes next, feeling, need."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.config.run import EMOTIONAL_INTENTIONS
from harness.simulator.data_files import Table, tables
from harness.simulator.draws import pick
from harness.simulator.intention_lines import NEEDS
from harness.simulator.second import answers, dynamics
from harness.simulator.second.reading import HeardSentence
from harness.simulator.second.sentence import ACTS
from harness.simulator.state import Disclosed, User

_ACTS = tuple(act for act in ACTS if act != "remark")
GLAD = (*_ACTS, "taken_up", "sorry")
"""What a reply can help by."""
SORRY = (*_ACTS, "worn", "before", "beside", "too_much", "cruel", "little")
"""What a reply can fail by; little: it helped, and less than the mood sinks by itself."""
LINES = tables(
    Path(__file__).with_name("lines.tsv"),
    {
        "opener": Table(placeholders=("t",)),
        **{f"glad.{reason}": Table() for reason in GLAD},
        **{f"sorry.{reason}": Table() for reason in SORRY},
        **{
            name: Table()
            for name in ("puzzled", "flat", "unknown", "rather_not", "none_of", "told_already")
        },
        **{name: Table(placeholders=("e",)) for name in ("low", "middle", "lighter")},
        **{f"farewell.{ending}": Table() for ending in ("success", "left", "cap")},
    },
)
"""By table, the lines that bear on no need."""
LOW, LIGHTER, MET = 35, 60, 70
"""Emotions: below the first feelings are strong, from the second on those told before fade, from
the third on the need is spoken of as met."""
SPEAKS_OF_FEELINGS = {True: 0.8, False: 0.3}
"""Chance of a feeling in a turn, by whether the user came for something emotional."""
NEED_AGAIN = 0.85
"""Factor on the chance of speaking of the need where the last reply helped."""
RATHER_NOT = {"negative": 0.06, "passive": 0.03, "avoidant": 0.12}
"""Chance of refusing an answer."""


_NO_ANSWER = {None: "unknown", "absent": "none_of"}


@dataclass(frozen=True, slots=True)
class Taken:
    """How a reply was taken, as far as the words depend on it."""

    change: int
    """Of the emotion, points."""
    reason: str | None
    """One of GLAD where it helped and of SORRY where it did not; None where nothing explains it."""
    question: HeardSentence | None
    about: frozenset[str]
    """Stems of what the reply speaks of."""
    puzzled: bool
    closes: bool
    """Nothing is told in answer: the reply was cruel, or no language."""


def opening(user: User, emotion: int, disclosure: str, u: Sequence[float]) -> tuple[Disclosed, str]:
    """Return the first words: the topic, a fact, a feeling, and what shows of the need."""
    persona = user.persona
    feeling = pick(persona.feelings, u[0])
    line = pick(LINES[_band(emotion)]["any"], u[1])
    parts = [pick(LINES["opener"]["any"], u[4]).format(t=persona.topic), persona.facts[0]]
    parts.append(line.format(e=feeling))
    needs: tuple[str, ...] = ()
    if u[2] < dynamics.EXPRESSION[disclosure]:
        needs = (need(disclosure, user.intention, emotion, False, (), u[3]),)
    told = Disclosed((0,), frozenset((feeling,)), True, needs, frozenset((line,)))
    return told, " ".join((*parts, *needs))


def answered(
    user: User,
    before: Disclosed,
    emotion: int,
    taken: Taken,
    disclosure: str,
    ended: str | None,
    w: Sequence[float],
) -> tuple[Disclosed, str]:
    """Return what is disclosed by then, and the words of one turn."""
    turn = _Turn(user, before, emotion, dynamics.EXPRESSION[disclosure], w)
    parts = [turn.reaction(taken)]
    if ended is not None:
        if taken.question is not None and not taken.closes and ended == "cap":
            parts += turn.answer(taken.question)
        parts.append(turn.line(f"farewell.{ended}", 6))
        return turn.disclosed(), " ".join(parts)
    if not taken.closes:
        parts += turn.tells(taken)
    if not taken.closes or taken.puzzled:
        parts += turn.need(disclosure, taken)
    return turn.disclosed(), " ".join(parts)


class _Turn:
    """One user who is about to speak."""

    def __init__(
        self, user: User, before: Disclosed, emotion: int, shows: float, w: Sequence[float]
    ) -> None:
        self._user, self._before, self._emotion = user, before, emotion
        self._shows, self._w = shows, w
        self._index: int | None = None
        self._feeling: str | None = None
        self._need: str | None = None
        self._lines = set(before.lines)

    def line(self, table: str, draw: int) -> str:
        """Return a line of a table, none said before if others are left."""
        line = _fresh(LINES[table]["any"], self._lines, self._w[draw])
        self._lines.add(line)
        return line

    def reaction(self, taken: Taken) -> str:
        """Return how the reply was taken, if that shows."""
        if taken.puzzled:
            return self.line("puzzled", 0)
        shows = taken.reason == "cruel" or self._w[1] < self._shows
        if taken.reason is None or taken.change == 0 or not shows:
            return self.line("flat", 0)
        return self.line(f"{'glad' if taken.change > 0 else 'sorry'}.{taken.reason}", 0)

    def tells(self, taken: Taken) -> list[str]:
        """Return the answer to a question, or what is told unasked, and a feeling."""
        if taken.question is not None:
            return self.answer(taken.question)
        parts = []
        if self._w[2] < self._shows:
            parts += self._tell(answers.unasked(self._persona, taken.about, self._before.told))
        if self._w[3] < SPEAKS_OF_FEELINGS[self._emotional]:
            parts.append(self._feels())
        return parts

    def answer(self, question: HeardSentence) -> list[str]:
        """Return the answer to a question; what is needed is told with the need."""
        subject = answers.subject_of(question.plain)
        if subject == "need":
            return []
        if subject == "feeling":
            told = answers.answer(self._persona, question, self._before.told)
            return [self._feels(), *self._tell(told)]
        if subject != answers.SAFE and self._w[4] < RATHER_NOT[self._user.temperament]:
            return [self.line("rather_not", 5)]
        index = answers.answer(self._persona, question, self._before.told)
        if index is not None:
            feels = self._w[3] < SPEAKS_OF_FEELINGS[self._emotional] / 2
            return [*self._tell(index), *([self._feels()] if feels else [])]
        return [self.line(_NO_ANSWER.get(subject, "told_already"), 5)]

    def need(self, disclosure: str, taken: Taken) -> list[str]:
        """Return a line on what they came for, if that shows; always if it is asked for."""
        glad, question = taken.change > 0, taken.question
        asked = question is not None and answers.subject_of(question.plain) == "need"
        if not asked and self._w[7] >= self._shows * (NEED_AGAIN if glad else 1.0):
            return []
        earlier, met = self._before.needs, self._emotion >= MET
        self._need = need(disclosure, self._user.intention, self._emotion, glad, earlier,
                          self._w[8])  # fmt: skip
        return [] if met and not asked and self._w[9] < 0.5 else [self._need]

    def disclosed(self) -> Disclosed:
        """Return what has been told once the turn is spoken."""
        before, index = self._before, self._index
        return Disclosed(
            before.told if index is None else (*before.told, index),
            before.feelings | {self._feeling} if self._feeling else before.feelings,
            index is not None,
            (*before.needs, self._need) if self._need else before.needs,
            frozenset(self._lines),
        )

    @property
    def _persona(self) -> int:
        return self._user.persona_index

    @property
    def _emotional(self) -> bool:
        return self._user.intention in EMOTIONAL_INTENTIONS

    def _tell(self, index: int | None) -> list[str]:
        self._index = index
        return [] if index is None else [self._user.persona.tellable[index].text]

    def _feels(self) -> str:
        named = self._before.feelings
        band = _band(self._emotion)
        own = self._user.persona.feelings
        fading = tuple([f for f in own if f in named]) if band == "lighter" else own
        self._feeling = pick(fading or own, self._w[10])
        band = "middle" if band == "lighter" and not fading else band
        return self.line(band, 11).format(e=self._feeling)


def need(
    disclosure: str, intention: str, emotion: int, glad: bool, earlier: Sequence[str], u: float
) -> str:
    """Return a line that bears on what a user came for, as openly as the level lets it show."""
    met = emotion >= MET
    if disclosure == "never":
        kind = "emotional" if intention in EMOTIONAL_INTENTIONS else "rational"
        return _fresh(NEEDS[f"oblique.{'met' if met else 'heavy'}"][kind], earlier, u)
    how = "met" if met else "hint" if disclosure == "hint" else "more" if glad else "free"
    return _fresh(NEEDS[f"need.{how}"][intention], earlier, u)


def shows_attitude(text: str) -> bool:
    """Return whether the first sentence of `text` says how the reply was taken."""
    unsaid = (*LINES["flat"]["any"], *LINES["puzzled"]["any"])
    return not text.startswith(unsaid)


def is_phrase(sentence: str) -> bool:
    """Return whether a sentence is one that these users say whatever their matter is."""
    return sentence in _phrases()


@cache
def _phrases() -> frozenset[str]:
    """Return the lines without a gap, and the sentences of those that have several."""
    return frozenset(line for table in LINES.values() for line in table["any"] if "{" not in line)


def _band(emotion: int) -> str:
    return "low" if emotion < LOW else "middle" if emotion < LIGHTER else "lighter"


def _fresh(pool: tuple[str, ...], said: Collection[str], u: float) -> str:
    """Return the line of a pool that a draw falls on, none said before if others are left."""
    return pick(tuple([line for line in pool if line not in said]) or pool, u)
