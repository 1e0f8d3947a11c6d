"""The second user's words: a reaction, an answer or a disclosure, a feeling, a need."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.config.run import EMOTIONAL_INTENTIONS
from harness.simulator.data_files import TableRules, tables
from harness.simulator.draws import pick
from harness.simulator.intention_lines import NEEDS
from harness.simulator.second import answers, dynamics
from harness.simulator.second.reading import ParsedSentence
from harness.simulator.second.sentence import ACTS
from harness.simulator.state import Disclosures, User

_ACTS = tuple(act for act in ACTS if act != "remark")
GLAD = (*_ACTS, "taken_up", "sorry")
"""Reasons why a reply helped."""
SORRY = (*_ACTS, "worn", "before", "beside", "too_much", "cruel", "little")
"""Reasons why a reply did not help; `little`: it helped less than the mood decays."""
LINES = tables(
    Path(__file__).with_name("lines.tsv"),
    {
        "opener": TableRules(placeholders=("t",)),
        **{f"glad.{reason}": TableRules() for reason in GLAD},
        **{f"sorry.{reason}": TableRules() for reason in SORRY},
        **{
            name: TableRules()
            for name in ("puzzled", "flat", "unknown", "rather_not", "none_of", "told_already")
        },
        **{name: TableRules(placeholders=("e",)) for name in ("low", "middle", "lighter")},
        **{f"farewell.{ending}": TableRules() for ending in ("success", "left", "cap")},
    },
)
"""Lines by table, without the lines about a need."""
LOW, LIGHTER, MET = 35, 60, 70
"""Thresholds of emotion: feelings are strong below LOW, told feelings fade from LIGHTER, and the
need is spoken of as met from MET."""
SPEAKS_OF_FEELINGS = {True: 0.8, False: 0.3}
"""Chance of a feeling in a turn, by whether the user's intention is emotional."""
NEED_AGAIN = 0.85
"""Factor on the chance of speaking of the need after a reply that helped."""
RATHER_NOT = {"negative": 0.06, "passive": 0.03, "avoidant": 0.12}
"""Chance of refusing an answer, by temperament."""


_NO_ANSWER = {None: "unknown", "absent": "none_of"}


@dataclass(frozen=True, slots=True)
class SecondReplyEffect:
    """How the user took a reply: what their words depend on."""

    change: int
    """Change of the emotion, in points."""
    reason: str | None
    """One of GLAD for a rise and of SORRY for a fall; None if nothing explains the change."""
    question: ParsedSentence | None
    about: frozenset[str]
    """Stems of the reply's content words."""
    puzzled: bool
    closes: bool
    """True if the user tells nothing in answer: the reply was cruel, or not language."""


def opening(
    user: User, emotion: int, disclosure: str, u: Sequence[float]
) -> tuple[Disclosures, str]:
    """Return the disclosures and text of the opening: topic, fact, feeling, and maybe a need."""
    persona = user.persona
    feeling = pick(persona.feelings, u[0])
    line = pick(LINES[_band(emotion)]["any"], u[1])
    parts = [pick(LINES["opener"]["any"], u[4]).format(t=persona.topic), persona.facts[0]]
    parts.append(line.format(e=feeling))
    needs: tuple[str, ...] = ()
    if u[2] < dynamics.EXPRESSION[disclosure]:
        needs = (need(disclosure, user.intention, emotion, False, (), u[3]),)
    disclosed = Disclosures((0,), frozenset((feeling,)), True, needs, frozenset((line,)))
    return disclosed, " ".join((*parts, *needs))


def compose_answer(
    user: User,
    before: Disclosures,
    emotion: int,
    effect: SecondReplyEffect,
    disclosure: str,
    ended: str | None,
    w: Sequence[float],
) -> tuple[Disclosures, str]:
    """Return the disclosures after the turn, and the user's words."""
    turn = _SecondTurnComposer(user, before, emotion, dynamics.EXPRESSION[disclosure], w)
    parts = [turn.reaction(effect)]
    if ended is not None:
        if effect.question is not None and not effect.closes and ended == "cap":
            parts += turn.answer(effect.question)
        parts.append(turn.line(f"farewell.{ended}", 6))
        return turn.disclosures(), " ".join(parts)
    if not effect.closes:
        parts += turn.tell(effect)
    if not effect.closes or effect.puzzled:
        parts += turn.need(disclosure, effect)
    return turn.disclosures(), " ".join(parts)


class _SecondTurnComposer:
    """Composes one turn of a user."""

    def __init__(
        self, user: User, before: Disclosures, emotion: int, shows: float, w: Sequence[float]
    ) -> None:
        self._user, self._before, self._emotion = user, before, emotion
        self._shows, self._w = shows, w
        self._index: int | None = None
        self._feeling: str | None = None
        self._need: str | None = None
        self._lines = set(before.lines)

    def line(self, table: str, draw: int) -> str:
        """Return a line of a table, not one said before if others are left."""
        line = _pick_unsaid(LINES[table]["any"], self._lines, self._w[draw])
        self._lines.add(line)
        return line

    def reaction(self, effect: SecondReplyEffect) -> str:
        """Return the reaction to the reply; a neutral line if it does not show."""
        if effect.puzzled:
            return self.line("puzzled", 0)
        shows = effect.reason == "cruel" or self._w[1] < self._shows
        if effect.reason is None or effect.change == 0 or not shows:
            return self.line("flat", 0)
        return self.line(f"{'glad' if effect.change > 0 else 'sorry'}.{effect.reason}", 0)

    def tell(self, effect: SecondReplyEffect) -> list[str]:
        """Return the answer to a question, or else an unasked disclosure and a feeling."""
        if effect.question is not None:
            return self.answer(effect.question)
        parts = []
        if self._w[2] < self._shows:
            parts += self._tell(
                answers.unasked_disclosure(self._persona, effect.about, self._before.told)
            )
        if self._w[3] < SPEAKS_OF_FEELINGS[self._emotional]:
            parts.append(self._feeling_line())
        return parts

    def answer(self, question: ParsedSentence) -> list[str]:
        """Return the answer to a question; empty for one about the need, which `need` answers."""
        subject = answers.subject_of(question.plain)
        if subject == "need":
            return []
        if subject == "feeling":
            answer_index = answers.answer(self._persona, question, self._before.told)
            return [self._feeling_line(), *self._tell(answer_index)]
        if subject != answers.SAFE and self._w[4] < RATHER_NOT[self._user.temperament]:
            return [self.line("rather_not", 5)]
        index = answers.answer(self._persona, question, self._before.told)
        if index is not None:
            feels = self._w[3] < SPEAKS_OF_FEELINGS[self._emotional] / 2
            return [*self._tell(index), *([self._feeling_line()] if feels else [])]
        return [self.line(_NO_ANSWER.get(subject, "told_already"), 5)]

    def need(self, disclosure: str, effect: SecondReplyEffect) -> list[str]:
        """Return a line about the user's intention if it shows; always if asked for."""
        helped, question = effect.change > 0, effect.question
        is_asked = question is not None and answers.subject_of(question.plain) == "need"
        if not is_asked and self._w[7] >= self._shows * (NEED_AGAIN if helped else 1.0):
            return []
        earlier, is_met = self._before.needs, self._emotion >= MET
        self._need = need(disclosure, self._user.intention, self._emotion, helped, earlier,
                          self._w[8])  # fmt: skip
        return [] if is_met and not is_asked and self._w[9] < 0.5 else [self._need]

    def disclosures(self) -> Disclosures:
        """Return the disclosures after the turn."""
        before, index = self._before, self._index
        return Disclosures(
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

    def _feeling_line(self) -> str:
        told_feelings = self._before.feelings
        band = _band(self._emotion)
        all_feelings = self._user.persona.feelings
        fading = (
            tuple([f for f in all_feelings if f in told_feelings])
            if band == "lighter"
            else all_feelings
        )
        self._feeling = pick(fading or all_feelings, self._w[10])
        band = "middle" if band == "lighter" and not fading else band
        return self.line(band, 11).format(e=self._feeling)


def need(
    disclosure: str, intention: str, emotion: int, glad: bool, earlier: Sequence[str], u: float
) -> str:
    """Return a line about the user's intention, as openly as `disclosure` allows."""
    is_met = emotion >= MET
    if disclosure == "never":
        kind = "emotional" if intention in EMOTIONAL_INTENTIONS else "rational"
        return _pick_unsaid(NEEDS[f"oblique.{'met' if is_met else 'heavy'}"][kind], earlier, u)
    key = "met" if is_met else "hint" if disclosure == "hint" else "more" if glad else "free"
    return _pick_unsaid(NEEDS[f"need.{key}"][intention], earlier, u)


def shows_attitude(text: str) -> bool:
    """Return whether the first sentence of `text` shows how the user took the reply."""
    unsaid = (*LINES["flat"]["any"], *LINES["puzzled"]["any"])
    return not text.startswith(unsaid)


def is_phrase(sentence: str) -> bool:
    """Return whether a sentence is a line that any of these users may say."""
    return sentence in _phrases()


@cache
def _phrases() -> frozenset[str]:
    """Return the lines without placeholders."""
    return frozenset(line for table in LINES.values() for line in table["any"] if "{" not in line)


def _band(emotion: int) -> str:
    return "low" if emotion < LOW else "middle" if emotion < LIGHTER else "lighter"


def _pick_unsaid(pool: tuple[str, ...], said_lines: Collection[str], u: float) -> str:
    """Return a line of the pool by the draw `u`, not one said before if others are left."""
    return pick(tuple([line for line in pool if line not in said_lines]) or pool, u)
