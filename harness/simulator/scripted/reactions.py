"""The user's first sentence on a reply: what they heard in it, and how it moved them.

Why a reply helped or hurt is said by reasons.py; a change that does not show sounds neutral.
"""

from __future__ import annotations

from harness.simulator.scripted.answers import Told
from harness.simulator.scripted.lines import LINES, MORE, of_user, unsaid
from harness.simulator.scripted.questions import Question
from harness.simulator.state import State
from harness.utils.record import record

_CLAIMS = frozenset(["restate", "reflect", "affirm", "suggest", "inform"])
"""Strategies of which one can say `maybe`."""


@record
class Heard:
    """What the user has heard in a reply, as far as their words depend on it."""

    change: int
    """Of the emotion, points."""
    reason: str
    """Why, one of lines.RISES or lines.FALLS, or more of a strategy; puzzled for no language,
    unmoved for a rise that no word of the reply explains."""
    question: Question | None
    strategy: str | None
    """The last one."""
    stems: frozenset[str]
    """Whom and what it speaks of."""
    closes: bool = False
    """Nothing is told in answer: the reply hurt, or was no language."""
    denied: str = ""
    """What a cruel reply accuses the user of, denied."""

    @property
    def rises(self) -> bool:
        """Whether the reply helped."""
        return self.change > 0


def reaction(
    state: State, heard: Heard, shows: bool, u: float, told: Told | None = None, ended: bool = False
) -> str:
    """Return the user's first sentence on a reply; a change that does not show sounds neutral.

    `told`: what follows, which it must not promise or take back.
    """
    said, user = state.disclosed.lines, state.user
    if heard.reason == "puzzled":
        return unsaid(LINES["puzzled"]["any"], said, u)
    hides = not shows or heard.change == 0 or heard.reason == "unmoved"
    if hides or (heard.rises and heard.closes):
        return unsaid(_flat(heard, told), said, u)
    unanswered = heard.question is not None and not heard.closes and told is None
    if ended and unanswered and not heard.rises:
        return unsaid(LINES["leaves_question"]["any"], said, u)
    if heard.reason.startswith(MORE):
        return unsaid(LINES["more_of"][heard.reason.removeprefix(MORE)], said, u)
    way = "rise" if heard.rises else "fall"
    checks = heard.question is not None and heard.question.subject == "checked"
    temperament = None if checks else user.temperament
    pool = of_user(f"{way}.{heard.reason}", user.persona.voice, temperament)
    if heard.denied:  # which says no itself
        pool = tuple([line for line in pool if not line.startswith("No")])
    return unsaid(pool, said, u)


def _flat(heard: Heard, told: Told | None) -> tuple[str, ...]:
    """Return the lines of a reaction that does not show, fit for what was said and what follows."""
    flat = LINES["flat"]
    if heard.closes or (heard.question is not None and (told is None or told.closed)):
        return flat["closed"]
    if heard.question is not None:
        return flat["question"]
    claims = heard.strategy in _CLAIMS and heard.reason not in ("apology", "unmoved")
    return (*flat["any"], *flat["claim"]) if claims else flat["any"]
