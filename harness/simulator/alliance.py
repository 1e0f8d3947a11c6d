"""The working alliance of a conversation, in three parts of 0 to 1: bond, goal and task.

After Bordin (Psychotherapy 16, 1979), whose parts the Working Alliance Inventory asks for and whom
arXiv 2208.13077 and 2303.09601 reward. Ours are read off what the simulated user kept or said of
each reply. They are no questionnaire and measure no therapy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from harness.config.run import EMOTIONAL_INTENTIONS, STRATEGIES
from harness.simulator.account import intention_of
from harness.simulator.protocol import UserTurn, memory_of
from harness.simulator.scripted import dynamics
from harness.simulator.scripted.paths import PUT_TO_THE_TEST
from harness.simulator.second import dynamics as second
from harness.simulator.second.memory import Memory
from harness.simulator.state import State
from harness.utils.record import record

SOLVING = frozenset(("suggest", "inform"))
"""Strategies that work on the problem, and not on how it feels."""
SERVES = ("partly", "fully")
"""What a served user says of a reply that gives what they came for."""


@record
class Alliance:
    """What a conversation has of each part; None for what its user keeps no account of."""

    bond: float | None
    """Trust at the end, over the most that there is: of the scripted user."""
    goal: float | None
    """Share of replies that serve what the user came for."""
    task: float | None
    """Share of replies that work on what the user wants worked on: the problem, or how it feels."""

    @property
    def mean(self) -> float | None:
        """The mean of the parts that there are."""
        parts = [part for part in (self.bond, self.goal, self.task) if part is not None]
        return fmean(parts) if parts else None


NOT_MEASURED = Alliance(None, None, None)


def alliance(turns: Sequence[UserTurn]) -> Alliance:
    """Measure the turns of a user, the opening first.

    What follows a failure of the simulator does not count; without an answer nothing is measured.
    """
    answered = [(before, after) for before, after in pairwise(turns) if after.ended != "failed"]
    if not answered:
        return NOT_MEASURED
    last = memory_of(answered[-1][1])
    return Alliance(
        bond=last.trust / dynamics.MAX_TRUST if isinstance(last, State) else None,
        goal=_share([_serves(*one) for one in answered]),
        task=_share([_is_wanted(*one) for one in answered]),
    )


def _share(found: Sequence[bool | None]) -> float | None:
    known = [one for one in found if one is not None]
    return fmean(known) if known else None


def _serves(before: UserTurn, after: UserTurn) -> bool | None:
    """Whether a reply fits what the user came for by half or more; None where nobody knows, and
    of a reply to a user who put the supporter to the test, who wants something else.
    """
    if PUT_TO_THE_TEST in after.why:
        return None
    fit = after.why.get("target_fit")
    if fit is not None:
        return fit in SERVES
    state, felt = memory_of(before), memory_of(after)
    if isinstance(state, State):
        fits = dynamics.strategy_fits(state.user.intention, state.trust)
        return _is_fit([fits[STRATEGIES.index(one)] for one in after.strategies], after)
    if isinstance(felt, Memory):
        told = len(felt.disclosed.told)
        acts = felt.past[-1] if felt.past else ()
        return _is_fit(
            [second.value(act, felt.user.intention, 1.0, told) for act in sorted(acts)], after
        )
    return None


def _is_fit(fits: Sequence[float], after: UserTurn) -> bool:
    """Whether the mean fit of what was recognised is enough, so that nothing can hedge."""
    return bool(fits) and not after.flagged and fmean(fits) >= dynamics.GOAL_LINE


def _is_wanted(before: UserTurn, after: UserTurn) -> bool | None:
    """Whether a reply works on the problem just where the user wants that."""
    wanted = None if PUT_TO_THE_TEST in after.why else wants_solving(before)
    if wanted is None:
        return None
    solves = not SOLVING.isdisjoint(after.strategies)
    return bool(after.strategies) and not after.flagged and solves == wanted


def wants_solving(turn: UserTurn) -> bool | None:
    """Whether a user came for work on the problem; None where what they came for is not known."""
    intention = intention_of(turn)
    return None if intention is None else intention not in EMOTIONAL_INTENTIONS
