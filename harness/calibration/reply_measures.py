"""Acceptance and need expression of a level, measured on fixed replies in fixed contexts.

Acceptance is the probability that the emotion rises, exact in each context. RLVER's strategy
acceptance rate (arXiv 2507.03112, appendix D.2) is the share of such replies with a rise; this is
its expectation, so that only the choice of contexts is random. Need expression follows RLVER's
three aspects (D.3) in each turn that answers a fixed reply. Attitude: the reaction shows how the
user took the reply. Thought: a new sentence is told, if any was left. Need: a line is about the
user's intention. In the paper a language model scored these; here the user's words show them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.calibration.contexts import (
    FreeReply,
    ReplyContexts,
    fixed_replies,
    free_replies,
    reply_in_rotation,
    users_of,
)
from harness.calibration.interval import ConfidenceInterval, Floats, clustered_mean, mean, share
from harness.calibration.users import (
    MeasuredUsers,
    Reader,
    prepare,
    shows_attitude,
    simulated,
    strategies,
)
from harness.config.run import INTENTIONS, STRATEGIES, DifficultyConfig
from harness.simulator.protocol import SupporterReply, UserTurn
from harness.simulator.scripted.lines import speaks_of_need
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.simulator.state import State

INTENTION_EVERY = 8
"""Acceptance by intention is measured in one of this many contexts."""


@dataclass(frozen=True)
class AcceptanceResult:
    """P(rise) of every fixed reply in every context, and of every free-wording reply."""

    fixed: Floats
    """P(rise), shape (contexts, replies)."""
    contexts: ReplyContexts
    intentions: Floats
    """Mean P(rise) over the fixed replies if the user had each intention, shape (contexts,
    intentions). NaN except in every INTENTION_EVERY-th context.
    """
    free: Floats
    """Mean P(rise) over intentions and temperaments, shape (free-wording replies,)."""

    @property
    def by_context(self) -> Floats:
        """Mean over the fixed replies, shape (contexts,)."""
        return np.asarray(self.fixed.mean(axis=1))

    def all(self) -> ConfidenceInterval | None:
        """Return the mean over all fixed replies, clustered by conversation."""
        return clustered_mean(self.by_context, self.contexts.conversations)

    def held_out(self) -> ConfidenceInterval | None:
        """Return the mean over the held-out half of the fixed replies."""
        is_held_out = np.array([reply.held_out for reply in fixed_replies()])
        return clustered_mean(self.fixed[:, is_held_out].mean(axis=1), self.contexts.conversations)

    def by_intention(self) -> dict[str, ConfidenceInterval | None]:
        """Return the mean by intention, clustered by conversation."""
        clusters = self.contexts.conversations
        return {
            intention: clustered_mean(self.intentions[:, index], clusters)
            for index, intention in enumerate(INTENTIONS)
        }

    def free_wording(self) -> ConfidenceInterval | None:
        """Return the mean over personas for the free-wording replies."""
        return mean(_by_persona(self.free, lambda reply: True))

    def free_wording_held_out(self) -> ConfidenceInterval | None:
        """Return the mean over held-out personas for the free-wording replies."""
        return mean(_by_persona(self.free, lambda reply: reply.held_out))


def measure_acceptance(
    level: DifficultyConfig, contexts: ReplyContexts, reader: Reader = LEXICAL
) -> AcceptanceResult:
    """Return P(rise) of both reply sets for the users of `level`."""
    simulator = simulated(level, reader)
    states = [turn.state for turn in contexts.at(level).turns]
    fixed = [_rises(simulator, state) for state in states]
    prepare([reply.text for reply in free_replies()], reader)
    free = [
        np.mean(_chances(simulator, users_of(reply, level), reply.text)) for reply in free_replies()
    ]
    return AcceptanceResult(
        np.array(fixed), contexts, _by_intention(simulator, states), np.array(free)
    )


def _by_intention(simulator: MeasuredUsers, states: Sequence[State]) -> Floats:
    values = np.full((len(states), len(INTENTIONS)), np.nan)
    for number in range(0, len(states), INTENTION_EVERY):
        for column, intention in enumerate(INTENTIONS):
            user = replace(states[number].user, intention=intention)
            values[number, column] = np.mean(_rises(simulator, replace(states[number], user=user)))
    return values


def _rises(simulator: MeasuredUsers, state: State) -> list[float]:
    replies = [SupporterReply(reply.to(state)) for reply in fixed_replies()]
    return simulator.rise_probabilities([state] * len(replies), replies)


def _chances(simulator: MeasuredUsers, states: Sequence[State], text: str) -> list[float]:
    return simulator.rise_probabilities(states, [SupporterReply(text)] * len(states))


def strategy_agreement(held_out: bool, reader: Reader = LEXICAL) -> ConfidenceInterval | None:
    """Return the share of free-wording replies in which the intended strategy is recognised."""
    selected = [reply for reply in free_replies() if reply.held_out == held_out]
    return share([reply.strategy in strategies(reply.text, reader) for reply in selected])


def _by_persona(values: Floats, is_chosen: Callable[[FreeReply], bool]) -> Floats:
    """Return the mean over each persona's replies, which were written together."""
    pairs = [
        (reply.persona_index, value)
        for reply, value in zip(free_replies(), values, strict=True)
        if is_chosen(reply)
    ]
    personas = sorted({index for index, _ in pairs})
    return np.array(
        [np.mean([value for index, value in pairs if index == persona]) for persona in personas]
    )


def measure_need_expression(
    level: DifficultyConfig, contexts: ReplyContexts, reader: Reader = LEXICAL
) -> Floats:
    """Return the share of the three aspects that show, shape (contexts,)."""
    simulator = simulated(level, reader)
    by_strategy = [
        [reply for reply in fixed_replies() if reply.strategy == strategy]
        for strategy in STRATEGIES
    ]
    shares = []
    for number, turn in enumerate(contexts.at(level).turns):
        replies = [
            SupporterReply(reply_in_rotation(candidates, number).to(turn.state))
            for candidates in by_strategy
        ]
        answers = simulator.answer([turn] * len(replies), replies)
        aspects = [_aspects(turn, answer, reader) for answer in answers if answer.ended is None]
        shares.append(np.nanmean(aspects) if aspects else np.nan)
    return np.array(shares)


def _aspects(before: UserTurn, after: UserTurn, reader: Reader) -> tuple[float, float, float]:
    """Return (attitude, thought, need): 1 if shown, else 0; NaN if nothing was left to tell."""
    attitude = float(shows_attitude(after.text, reader))
    told_before, told_after = len(before.state.disclosed.told), len(after.state.disclosed.told)
    has_more = told_before < len(after.state.user.persona.tellable)
    thought = float(told_after > told_before) if has_more else float("nan")
    need = float(speaks_of_need(after.text))
    return attitude, thought, need
