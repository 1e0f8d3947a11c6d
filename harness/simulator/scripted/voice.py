"""The user's words: a turn is a reaction, an answer or disclosure, a feeling and a need.

The reaction follows from why the reply helped or hurt (reactions.py). The disclosure follows from
what the reply asked (answers.py) or touched on (unasked.py). Feelings and needs
(feelings_and_needs.py) show as far as the difficulty level allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.simulator.draws import pick
from harness.simulator.scripted import answers, paths, questions
from harness.simulator.scripted.answers import UserAnswer
from harness.simulator.scripted.dynamics import DisclosureRule
from harness.simulator.scripted.feelings_and_needs import (
    MET,
    feeling_chance,
    feeling_line,
    feelings_of,
    need_line,
)
from harness.simulator.scripted.lines import ANSWERS, LINES, all_lines, manner, pick_unsaid
from harness.simulator.scripted.reactions import ReplyEffect, reaction
from harness.simulator.scripted.unasked import unasked_disclosure
from harness.simulator.scripted.words import content
from harness.simulator.state import Disclosures, State, User

TELLS_AFTER_FALL = 0.9
"""Factor on the chance of an unasked disclosure after a reply that did not help."""
LED_TO = 0.4
"""Chance that a need precedes an unasked disclosure, or that the disclosure is introduced."""


def opening(
    user: User, emotion: int, rule: DisclosureRule, u: Sequence[float]
) -> tuple[Disclosures, str]:
    """Return the disclosures and the text of the opening: topic, fact, feeling, maybe a need."""
    persona = user.persona
    feeling = pick(persona.feelings, u[0])
    line = feeling_line(False, emotion, frozenset(), u[1])
    needs: tuple[str, ...] = ()
    if u[2] < rule.expression:
        needs = (need_line(rule.lines, user.intention, emotion, False, (), u[3]),)
    parts = [opener(user, u[4:]), persona.facts[0], line.format(e=feeling), *needs]
    disclosed = Disclosures((0,), frozenset((feeling,)), True, needs, frozenset((line,)))
    return disclosed, manner(" ".join(parts), persona.voice)


def opener(user: User, u: Sequence[float]) -> str:
    """Return the first sentence. If the first fact names the topic, it may leave the topic out."""
    persona = user.persona
    fact_names_topic = not content(persona.topic).isdisjoint(content(persona.facts[0]))
    if fact_names_topic and u[0] < 0.5:
        return pick(LINES["opener_without_topic"][persona.voice], u[1])
    return pick(LINES["opener"][persona.voice], u[1]).format(t=persona.topic)


def compose_answer(
    state: State,
    heard: ReplyEffect,
    rule: DisclosureRule,
    ended: str | None,
    u: Sequence[float],
    w: Sequence[float],
) -> tuple[Disclosures, str]:
    """Return the disclosures after the turn, and the user's words.

    The draws `u` decide the reaction, whether it shows, and what is told. The draws `w` decide the
    wording.
    """
    shows, turn = u[1] < rule.expression, _TurnComposer(state, heard, rule, w)
    if ended is not None:
        answer = turn.tell_last(ended)
        first = reaction(state, heard, shows, u[0], answer, ended=True)
        return state.disclosed, turn.last_words(first, answer, ended)
    answer = turn.tell(u[2:])
    first = reaction(state, heard, shows, u[0], answer)
    is_expressed = shows and heard.reason in ("suggest", "offer", "restate")
    if answer is not None and answer.is_reaction and is_expressed:
        answer = replace(answer, sentences=answer.sentences[1:])
    path = state.user.path
    if path is not None and paths.is_testing(path, state.trust) and not heard.closes:
        return turn.compose(first, answer, None, None, turn.test(path, shows, u[7]))
    return turn.compose(first, answer, turn.feeling(answer, u[3:6]), turn.need(answer, u[6:8]))


class _TurnComposer:
    """Composes one turn of a user."""

    def __init__(
        self, state: State, heard: ReplyEffect, rule: DisclosureRule, w: Sequence[float]
    ) -> None:
        self.state, self.heard, self.rule, self.w = state, heard, rule, w
        self.before, self.lines = state.disclosed, set[str]()
        self.voice = state.user.persona.voice

    def tell(self, u: Sequence[float]) -> UserAnswer | None:
        """Return the answer to a question, or else an unasked disclosure; None without either."""
        heard = self.heard
        if heard.closes:
            return None
        if heard.question is not None:
            return answers.answer(self.state, heard.question, heard.rises, self.w)
        chance = self.rule.expression * (1.0 if heard.rises else TELLS_AFTER_FALL)
        if u[0] >= chance:
            return None
        return unasked_disclosure(self.state, heard.strategy, heard.rises, heard.stems)

    def feeling(self, answer: UserAnswer | None, u: Sequence[float]) -> str | None:
        """Return the feeling that the user speaks of, if any."""
        is_asked = answer is not None and answer.feeling_follows
        is_closed = answer is not None and (answer.is_closed or answer.need_follows)
        names_feeling = answer is not None and any(
            s.startswith("I feel ") for s in answer.sentences
        )
        if (
            is_closed
            or names_feeling
            or not (is_asked or u[0] < feeling_chance(self.state.user.intention))
        ):
            return None
        feelings = feelings_of(self.state)
        return pick(feelings, u[1]) if feelings else None

    def need(self, answer: UserAnswer | None, u: Sequence[float]) -> str | None:
        """Return a line about the user's intention, or None."""
        is_asked = answer is not None and answer.need_follows
        refuses = answer is not None and answer.is_refusal
        if self.heard.closes or refuses or (u[0] >= self.rule.expression and not is_asked):
            return None
        rises = self.heard.rises and not is_asked
        style = "tell" if self._leads(answer) and self.rule.lines == "free" else self.rule.lines
        user = self.state.user
        return need_line(style, user.intention, self.state.emotion, rises, self.before.needs, u[1])

    def test(self, path: str, shows: bool, u: float) -> str:
        """Return a line that tests the supporter; after thanks it begins with `But`."""
        line = pick_unsaid(paths.LINES[path], self.before.lines, u)
        self.lines.add(line)
        return paths.taking_back(line) if shows and self.heard.rises else line

    def _leads(self, answer: UserAnswer | None) -> bool:
        """Return whether the need precedes an unasked disclosure."""
        unasked = answer is not None and answer.index is not None and self.heard.question is None
        weighs = self.state.emotion < MET
        return unasked and weighs and self.heard.rises and self.w[5] < LED_TO

    def tell_last(self, ended: str) -> UserAnswer | None:
        """Return the answer in a last turn, if any.

        A user who leaves answers only a question about their safety.
        """
        heard, question = self.heard, self.heard.question
        if heard.closes or question is None or ended == "success":
            return None
        if not questions.asks_with_care(question) and (
            ended == "left" or question.kind in ("offer", "proposal")
        ):
            return None
        return answers.answer(self.state, question, heard.rises, self.w)

    def last_words(self, first: str, answer: UserAnswer | None, ended: str) -> str:
        """Return the last reaction, the answer to a question, and goodbye."""
        goodbye = farewell(ended, self.heard.reason in ("cruel", "death"), self.state.user)
        if ended == "success":
            return goodbye
        parts = [] if answer is None else [*answer.sentences]
        if answer is not None and answer.feeling_follows and (feelings := feelings_of(self.state)):
            line = self._feeling(pick(feelings, self.w[10]))
            parts.insert(0 if answer.index is not None else len(parts), line)
        return " ".join((first, *parts, goodbye))

    def compose(
        self,
        first: str,
        answer: UserAnswer | None,
        feeling: str | None,
        need: str | None,
        test: str | None = None,
    ) -> tuple[Disclosures, str]:
        """Return the disclosures after the turn, and the parts joined in a coherent order."""
        before, parts = self.before, list[str]()
        self.lines.add(first)
        if self.heard.denied and first in _HURT:
            parts.append(self.heard.denied)
        leads = need is not None and self._leads(answer)
        complains = not self.heard.rises and self.heard.question is None
        if need and (leads or (complains and answer is not None)):
            parts.append(need)
        elif answer is not None and self.heard.question is None and self.w[6] < LED_TO:
            parts.append(self._line("go_on" if self.heard.rises else "explain"))
        feeling_lines = [self._feeling(feeling)] if feeling else []
        asks_feeling = answer is not None and answer.feeling_follows and answer.index is not None
        if answer is not None:
            parts += (
                [*feeling_lines, *answer.sentences]
                if asks_feeling
                else [*answer.sentences, *feeling_lines]
            )
            self.lines.update(answer.lines)
        else:
            parts += feeling_lines
        if need and need not in parts:
            parts.append(need)
        if test:
            parts.append(test)
        answers_it = answer is not None and answer.is_reaction
        if not parts and not self.heard.closes and not answers_it:
            parts.append(pick_unsaid(LINES["silent"]["any"], before.lines, self.w[7]))
            self.lines.add(parts[-1])
        index = None if answer is None else answer.index
        disclosed = Disclosures(
            before.told if index is None else (*before.told, index),
            before.feelings | {feeling} if feeling else before.feelings,
            index is not None,
            (*before.needs, need) if need else before.needs,
            before.lines | self.lines,
        )
        return disclosed, " ".join((first, *parts))

    def _line(self, table: str) -> str:
        line = pick_unsaid(ANSWERS[table][self.voice], self.before.lines, self.w[8])
        self.lines.add(line)
        return line

    def _feeling(self, feeling: str) -> str:
        was_told = feeling in self.before.feelings
        line = feeling_line(was_told, self.state.emotion, self.before.lines, self.w[9])
        self.lines.add(line)
        return line.format(e=feeling)


def farewell(ending: str, hurt: bool, user: User) -> str:
    """Return the last words of a conversation."""
    if ending == "left" and hurt:
        return LINES["storms_off"][user.temperament][0]
    return LINES[f"farewell.{ending}"][user.persona.voice][0]


_HURT = all_lines(("fall.hurt", "fall.cruel", "hurt_of"))
