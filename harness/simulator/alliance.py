"""The working alliance of a conversation in three parts, each from 0 to 1: bond, goal and task.

The parts are those of Bordin (Psychotherapy 16, 1979). The Working Alliance Inventory measures
them, and arXiv 2208.13077 and 2303.09601 reward them. Here they are computed from the simulated
user's state or judgement after each reply; they are no questionnaire and measure no therapy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from harness.config.run import EMOTIONAL_INTENTIONS, INTENTIONS, STRATEGIES
from harness.simulator.account import intention_of
from harness.simulator.protocol import UserTurn, memory_of
from harness.simulator.scripted import dynamics
from harness.simulator.scripted.paths import PUT_TO_THE_TEST
from harness.simulator.second import dynamics as second
from harness.simulator.second.state import SecondState
from harness.simulator.state import State
from harness.utils.record import record

SOLVING = frozenset(("suggest", "inform"))
"""Strategies that work on the problem instead of on how it feels."""
SERVES = ("partly", "fully")
"""A served user's judgements of a reply that count as serving the user's intention."""


@record
class Alliance:
    """The parts of a conversation's alliance; None for a part that its simulator does not track."""

    bond: float | None
    """Trust at the end divided by the maximum; scripted user only."""
    goal: float | None
    """Share of replies that serve the user's intention."""
    task: float | None
    """Share of replies that work on what the user wants worked on: the problem, or how it feels."""

    @property
    def mean(self) -> float | None:
        """Mean of the measured parts; None if there are none."""
        parts = [part for part in (self.bond, self.goal, self.task) if part is not None]
        return fmean(parts) if parts else None


NOT_MEASURED = Alliance(None, None, None)


def alliance(turns: Sequence[UserTurn]) -> Alliance:
    """Return the alliance of one conversation's user turns, the opening first.

    A failed turn does not count. Without an answer nothing is measured.
    """
    answered = [(before, after) for before, after in pairwise(turns) if after.ended != "failed"]
    if not answered:
        return NOT_MEASURED
    last = memory_of(answered[-1][1])
    return Alliance(
        bond=last.trust / dynamics.MAX_TRUST if isinstance(last, State) else None,
        goal=_share([_serves(*exchange) for exchange in answered]),
        task=_share([_is_wanted(*exchange) for exchange in answered]),
    )


def _share(values: Sequence[bool | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return fmean(measured) if measured else None


def _serves(before: UserTurn, after: UserTurn) -> bool | None:
    """Return whether a reply fits the user's intention well enough (GOAL_LINE for scripted users).

    None if the fit is unknown, and if the user was testing the supporter, which calls for
    something else.
    """
    if PUT_TO_THE_TEST in after.why:
        return None
    fit = after.why.get("target_fit")
    if fit is not None:
        return fit in SERVES
    state, after_state = memory_of(before), memory_of(after)
    if isinstance(state, State):
        fits = dynamics.strategy_fits(state.user.intention, state.trust)
        return _is_fit([fits[STRATEGIES.index(strategy)] for strategy in after.strategies], after)
    if isinstance(after_state, SecondState):
        told_count = len(after_state.disclosed.told)
        acts = after_state.past[-1] if after_state.past else ()
        return _is_fit(
            [
                second.value(act, after_state.user.intention, 1.0, told_count)
                for act in sorted(acts)
            ],
            after,
        )
    return None


def _is_fit(fits: Sequence[float], after: UserTurn) -> bool:
    """Return whether the mean fit reaches GOAL_LINE. The mean keeps a reply from hedging."""
    return bool(fits) and not after.flagged and fmean(fits) >= dynamics.GOAL_LINE


def _is_wanted(before: UserTurn, after: UserTurn) -> bool | None:
    """Return whether a reply works on what the user wants worked on: the problem or the feeling."""
    wanted = None if PUT_TO_THE_TEST in after.why else wants_solving(before)
    if wanted is None:
        return None
    solves = not SOLVING.isdisjoint(after.strategies)
    return bool(after.strategies) and not after.flagged and solves == wanted


def wants_solving(turn: UserTurn) -> bool | None:
    """Return whether the user wants work on the problem; None if their intention is unknown, such
    as one of a plug-in's own.
    """
    intention = intention_of(turn)
    return intention not in EMOTIONAL_INTENTIONS if intention in INTENTIONS else None
