"""What a user answers to a question.

An answer is a sentence from the persona's facts or life that fits the topic and the persons in the
question. Failing that, it is a feeling, a number, `I do not know`, `I would rather not` or a
question for clarification, but never something unconnected. Each sentence is told once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace

from harness.config.run import EMOTIONAL_INTENTIONS
from harness.simulator.scripted import questions
from harness.simulator.scripted.lines import ANSWERS, HURTFUL, all_lines, pick_unsaid
from harness.simulator.scripted.questions import ABSENT, OF_THE_TALK, ParsedQuestion
from harness.simulator.scripted.relevance import (
    ENTITIES,
    asks_of_persons,
    persons_in,
    ranked,
)
from harness.simulator.scripted.yes_or_no import says_neither, says_no
from harness.simulator.state import Disclosures, State
from harness.utils.record import record

REFUSES = (0.10, 0.07, 0.04, 0.02)
"""Chance that the user refuses to answer, by trust."""
REFUSES_BY_TEMPERAMENT = {"negative": 1.0, "passive": 0.6, "avoidant": 1.6}
SAID_BACK = 0.9
"""Chance that yes or no is said as a whole sentence, where the question allows it."""
ECHOED = 0.7
"""Chance that an answer that does not name the thing asked about begins by repeating it."""
_ASKS_WHETHER_WELL = re.compile(r"\b(?:okay|ok|all right|alright|fine|well|good|better)\b")
WELL = 60
"""Emotion from which a user says that they are all right."""
_SAYS_SAFE = re.compile(r"\b(?:safe|danger|all right|fine|well enough)\b")
_TAKEN = {"offer": ("accept", "decline"), "proposal": ("could", "could_not")}
_HURT = all_lines((*(f"fall.{reason}" for reason in HURTFUL), "fall.wary", "hurt_of"))


@record
class UserAnswer:
    """What the user tells next."""

    sentences: tuple[str, ...] = ()
    index: int | None = None
    """Index into Persona.tellable of the sentence told."""
    feeling_follows: bool = False
    """True if a feeling must follow because the supporter asked for it."""
    need_follows: bool = False
    """True if a need must follow because the supporter asked for it."""
    is_closed: bool = False
    """True if nothing more is told: the user refused, or did not know."""
    is_refusal: bool = False
    """True if the user refused; no need follows then."""
    is_reaction: bool = False
    """True if the first sentence is a yes or no that a shown reaction already expresses."""
    lines: tuple[str, ...] = field(default=())
    """The lines used, as worded in the data files."""


def answer(state: State, question: ParsedQuestion, rises: bool, u: Sequence[float]) -> UserAnswer:
    """Return the user's answer to `question`; `rises` says whether the reply raised the emotion."""
    speaker = _Speaker(state, u)
    if question.subject == "safe":
        return speaker.answer_safety(question)
    if question.subject == "safe_there":
        return speaker.line("safe_there" if "safe" in question.plain else "safe_harm")
    if question.subject in OF_THE_TALK:
        return speaker.about_conversation(question.subject, rises)
    if question.kind in ("offer", "proposal") and question.subject != "need":
        return speaker.answer_offer(question, rises)
    if question.subject == "need":
        return speaker.tell_need_kind()
    if question.subject == "scale":
        return speaker.line("scale", n=str(max(1, min(10, 10 - state.emotion // 10))))
    if not rises and u[0] < 2 * _refusal_chance(state):
        return replace(
            speaker.line("rather_not", closed=True, x=_topic_name(question)), is_refusal=True
        )
    if question.feelings and question.kind != "open":
        return speaker.answer_feelings(question)
    if question.subject == "motive":
        return speaker.line("unknown", closed=True)
    sentence_answer = speaker.sentence(question, rises)
    if sentence_answer is not None:
        return sentence_answer
    about_persons = asks_of_persons(state.user.persona_index, question.subject, question.entities)
    has_none = about_persons and question.subject == "home" and question.kind == "yes_no"
    if question.subject in ABSENT or has_none:
        if question.statements[1]:
            return speaker.yes_or_no(question, yes=False)
        return speaker.line(
            "nothing_of", x=question.named.removeprefix("my ") or str(question.subject)
        )
    if question.subject == "feeling":
        return UserAnswer(feeling_follows=True)
    if question.subject is not None and not about_persons:
        return speaker.line("told_already")
    if question.kind == "guess":
        return speaker.line("guess_right" if rises else "guess_wrong")
    if question.kind == "yes_no" and question.statements[1]:
        return speaker.yes_or_no(question, yes=u[1] < 0.5 and bool(question.statements[0]))
    return speaker.line("unknown", closed=True)


def _refusal_chance(state: State) -> float:
    return REFUSES[state.trust] * REFUSES_BY_TEMPERAMENT[state.user.temperament]


def _topic_name(question: ParsedQuestion) -> str:
    return question.named or ANSWERS["name"].get(question.subject or "fact", ("that",))[0]


class _Speaker:
    """One user and the draws of the turn in which they answer."""

    def __init__(self, state: State, u: Sequence[float]) -> None:
        self.state, self.u = state, u
        self.disclosed: Disclosures = state.disclosed
        self.persona = state.user.persona
        self.voice = self.persona.voice
        self.entities = ENTITIES[state.user.persona_index]

    def line(self, table: str, closed: bool = False, **values: str) -> UserAnswer:
        """Return a single line of `table` as the whole answer."""
        line = pick_unsaid(ANSWERS[table][self.voice], self.disclosed.lines, self.u[2])
        return UserAnswer((_capitalise(line.format(**values)),), is_closed=closed, lines=(line,))

    def answer_offer(self, question: ParsedQuestion, rises: bool) -> UserAnswer:
        """Return the response to an offer or proposal, with a related sentence if there is one."""
        accept, decline = _TAKEN[question.kind]
        first = self.line(accept if rises else decline)
        index = self._best(question, question.subject, near=False)
        if index is None or not self.entities[index] & question.entities:
            refuses = not rises
            return replace(
                first,
                is_closed=refuses,
                is_refusal=refuses,
                is_reaction=question.kind == "proposal",
            )
        text = self.persona.tellable[index].text
        by_reaction = question.kind == "proposal"
        return UserAnswer(
            (*first.sentences, text), index, is_reaction=by_reaction, lines=first.lines
        )

    def tell_need_kind(self) -> UserAnswer:
        """Return a line that says the kind of the need; the level decides how much more follows."""
        emotional = self.state.user.intention in EMOTIONAL_INTENTIONS
        pool = ANSWERS["wants_kind"]["emotional" if emotional else "rational"]
        line = pick_unsaid(pool, self.disclosed.lines, self.u[2])
        return UserAnswer((line,), need_follows=True, lines=(line,))

    def answer_safety(self, question: ParsedQuestion) -> UserAnswer:
        """Return an answer that the user is safe, with an untold sentence of their life if any."""
        index = self._best(question, "safe", near=False)
        if index is None:
            return self.line("safe")
        text = self.persona.tellable[index].text
        needs_line = "safe" in question.plain and _SAYS_SAFE.search(text) is None
        first = self.line("safe") if needs_line else UserAnswer()
        return UserAnswer((*first.sentences, text), index, lines=first.lines)

    def about_conversation(self, subject: str, rises: bool) -> UserAnswer:
        """Return the answer to a question about the conversation itself."""
        hurt = self.state.suspicion > 0 or not _HURT.isdisjoint(self.disclosed.lines)
        table = {
            "checked": "checked_right" if rises else "checked_wrong",
            "opinion": "thinks_well" if rises else "thinks_little",
            "read": "hurt_read" if hurt else "fine_read",
        }[subject]
        return replace(self.line(table), is_reaction=subject == "checked")

    def answer_feelings(self, question: ParsedQuestion) -> UserAnswer:
        """Return which of the feelings in the question the user has, or that they have another."""
        felt = next((f for f in question.feelings if f in self.persona.feelings), None)
        if felt is None:
            first = self.line("other_feeling", e=question.feelings[-1])
            return UserAnswer(first.sentences, feeling_follows=True, lines=first.lines)
        first = self.line("yes")
        index = self._best(question, "why", near=True)
        explanation = () if index is None else (self.persona.tellable[index].text,)
        beginning = first.sentences if question.kind == "yes_no" else ()
        return UserAnswer((*beginning, f"I feel {felt}.", *explanation), index, lines=first.lines)

    def sentence(self, question: ParsedQuestion, rises: bool) -> UserAnswer | None:
        """Return an answer with an untold sentence, after yes or no if due; None if none fits."""
        subject = question.subject
        index = self._best(question, subject, near=True)
        if index is None:
            return None
        tellable = self.persona.tellable[index]
        first = self._leading_yes_or_no(question, tellable.text, rises)
        lines = first.lines if first else ()
        beginning = first.sentences if first else ()
        if question.named and not first and self._needs_echo(question, index):
            echo = self.line("echo", x=question.named)
            beginning, lines = echo.sentences, echo.lines
        feeling = subject == "feeling"
        if feeling and question.kind == "yes_no":
            well = _ASKS_WHETHER_WELL.search(question.plain) is None or self.state.emotion >= WELL
            first = self.yes_or_no(question, well)
            return UserAnswer(first.sentences, feeling_follows=True, lines=first.lines)
        return UserAnswer((*beginning, tellable.text), index, feeling_follows=feeling, lines=lines)

    def _leading_yes_or_no(
        self, question: ParsedQuestion, text: str, rises: bool
    ) -> UserAnswer | None:
        """Return the yes or no that begins an answer; None if there is none to add."""
        if text.startswith(("Yes", "No,", "No ")):
            return None
        if question.kind != "yes_no" or self._leaves_open(question, text):
            return None
        return self.yes_or_no(question, not says_no(question, text))

    def yes_or_no(self, question: ParsedQuestion, yes: bool) -> UserAnswer:
        """Return yes or no, mostly as a whole sentence where the question allows it."""
        statement = question.statements[0 if yes else 1]
        if statement and self.u[3] < SAID_BACK:
            return UserAnswer((statement,))
        return self.line("yes" if yes else "no")

    def _needs_echo(self, question: ParsedQuestion, index: int) -> bool:
        """Return whether the answer must begin by repeating the thing asked about."""
        entities = questions.entities(question.named)
        return entities.isdisjoint(self.entities[index]) and self.u[3] < ECHOED

    def _best(self, question: ParsedQuestion, subject: str | None, near: bool) -> int | None:
        """Return the index of the untold sentence that answers best; None if none is connected."""
        told_indices = self.disclosed.told
        best = ranked(self.state.user.persona_index, subject, question.entities, near)
        return next((index for index in best if index not in told_indices), None)

    def _leaves_open(self, question: ParsedQuestion, text: str) -> bool:
        """Return whether a sentence answers neither yes nor no.

        This is so if it mentions none of the persons in the question.
        """
        mentioned = questions.entities(text)
        persons = persons_in(self.state.user.persona_index, question.entities)
        if persons and persons.isdisjoint(mentioned):
            return True
        if question.subject == "tried":
            return False
        return says_neither(question, text)


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
