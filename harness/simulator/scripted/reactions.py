"""The user's first sentence after a reply: what they heard in it, and how it moved them.

reasons.py gives the reason why the reply helped or hurt. A change that does not show gets a neutral
line.
"""

from __future__ import annotations

from harness.simulator.scripted.answers import UserAnswer
from harness.simulator.scripted.lines import LINES, MORE, of_user, pick_unsaid
from harness.simulator.scripted.questions import ParsedQuestion
from harness.simulator.state import State
from harness.utils.record import record

_CLAIMS = frozenset(["restate", "reflect", "affirm", "suggest", "inform"])
"""Strategies that make a claim, to which `maybe` is a response."""


@record
class ReplyEffect:
    """The parts of a reply that the user's words depend on."""

    change: int
    """Change of the emotion, in points."""
    reason: str
    """One of lines.RISES or lines.FALLS; lines.MORE and a strategy; `puzzled` for a reply that is
    not language; or `unmoved` for a rise that nothing in the reply explains."""
    question: ParsedQuestion | None
    strategy: str | None
    """The last strategy of the reply."""
    stems: frozenset[str]
    """Stems of the persons and things that the reply mentions."""
    closes: bool = False
    """True if the user tells nothing in answer: the reply hurt, or is not language."""
    denied: str = ""
    """The user's denial of what a cruel reply accuses them of, or empty."""

    @property
    def rises(self) -> bool:
        """Whether the reply helped."""
        return self.change > 0


def reaction(
    state: State,
    heard: ReplyEffect,
    shows: bool,
    u: float,
    answer: UserAnswer | None = None,
    ended: bool = False,
) -> str:
    """Return the user's first sentence after a reply; neutral if the change does not show.

    `answer` follows the sentence, which must not contradict it.
    """
    said_lines, user = state.disclosed.lines, state.user
    if heard.reason == "puzzled":
        return pick_unsaid(LINES["puzzled"]["any"], said_lines, u)
    hides = not shows or heard.change == 0 or heard.reason == "unmoved"
    if hides or (heard.rises and heard.closes):
        return pick_unsaid(_neutral_lines(heard, answer), said_lines, u)
    unanswered = heard.question is not None and not heard.closes and answer is None
    if ended and unanswered and not heard.rises:
        return pick_unsaid(LINES["leaves_question"]["any"], said_lines, u)
    if heard.reason.startswith(MORE):
        return pick_unsaid(LINES["more_of"][heard.reason.removeprefix(MORE)], said_lines, u)
    direction = "rise" if heard.rises else "fall"
    checks = heard.question is not None and heard.question.subject == "checked"
    temperament = None if checks else user.temperament
    pool = of_user(f"{direction}.{heard.reason}", user.persona.voice, temperament)
    if heard.denied:  # the denial already begins with `No`
        pool = tuple([line for line in pool if not line.startswith("No")])
    return pick_unsaid(pool, said_lines, u)


def _neutral_lines(heard: ReplyEffect, answer: UserAnswer | None) -> tuple[str, ...]:
    """Return the neutral lines that fit the reply and what follows."""
    flat = LINES["flat"]
    if heard.closes or (heard.question is not None and (answer is None or answer.is_closed)):
        return flat["closed"]
    if heard.question is not None:
        return flat["question"]
    claims = heard.strategy in _CLAIMS and heard.reason not in ("apology", "unmoved")
    return (*flat["any"], *flat["claim"]) if claims else flat["any"]
