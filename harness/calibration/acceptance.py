"""How often a reply helps: the chance that emotion rises, exact in each context.

RLVER's strategy acceptance rate (arXiv 2507.03112, appendix D.2) is the share of such replies with
a rise; here its expectation is taken, so that only the choice of contexts is chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.calibration import replies
from harness.calibration.contexts import Contexts, users_of
from harness.calibration.interval import Floats, Interval, clustered, mean, share
from harness.calibration.replies import FreeReply
from harness.config.run import INTENTIONS, DifficultyConfig
from harness.simulator.protocol import SupporterReply
from harness.simulator.scripted.recognise import recognise
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.state import State

INTENTION_EVERY = 8


@dataclass(frozen=True)
class Accepted:
    """P(rise) of every fixed reply in every context, and of every free-wording reply."""

    fixed: Floats
    """Shape (contexts, replies)."""
    contexts: Contexts
    intentions: Floats
    """Shape (contexts, intentions): mean over the fixed replies, had the user come for each.

    NaN but in every INTENTION_EVERY-th context.
    """
    free: Floats
    """By reply, over the intentions and temperaments a user may have."""

    @property
    def by_context(self) -> Floats:
        return np.asarray(self.fixed.mean(axis=1))

    def all(self) -> Interval | None:
        return clustered(self.by_context, self.contexts.conversations)

    def held_out(self) -> Interval | None:
        """Over the half of the replies that nothing was tuned on."""
        held = np.array([reply.held_out for reply in replies.fixed()])
        return clustered(self.fixed[:, held].mean(axis=1), self.contexts.conversations)

    def by_intention(self) -> dict[str, Interval | None]:
        talks = self.contexts.conversations
        return {i: clustered(self.intentions[:, n], talks) for n, i in enumerate(INTENTIONS)}

    def free_wording(self) -> Interval | None:
        return mean(_by_person(self.free, lambda reply: True))

    def free_wording_held_out(self) -> Interval | None:
        return mean(_by_person(self.free, lambda reply: reply.held_out))


def measure(level: DifficultyConfig, contexts: Contexts) -> Accepted:
    """P(rise) of both reply sets for the users of `level`."""
    simulator = ScriptedSimulator(level)
    states = [turn.state for turn in contexts.turns]
    fixed = [_rises(simulator, s) for s in states]
    free = [
        np.mean([simulator.rise_probability(s, SupporterReply(r.text)) for s in users_of(r)])
        for r in replies.free()
    ]
    return Accepted(np.array(fixed), contexts, _by_intention(simulator, states), np.array(free))


def _by_intention(simulator: ScriptedSimulator, states: Sequence[State]) -> Floats:
    found = np.full((len(states), len(INTENTIONS)), np.nan)
    for number in range(0, len(states), INTENTION_EVERY):
        for column, intention in enumerate(INTENTIONS):
            user = replace(states[number].user, intention=intention)
            found[number, column] = np.mean(_rises(simulator, replace(states[number], user=user)))
    return found


def _rises(simulator: ScriptedSimulator, state: State) -> list[float]:
    said = (SupporterReply(reply.to(state)) for reply in replies.fixed())
    return [simulator.rise_probability(state, reply) for reply in said]


def agreement(held_out: bool) -> Interval | None:
    """Share of free-wording replies whose strategy is among those recognised in them."""
    chosen = [reply for reply in replies.free() if reply.held_out == held_out]
    return share([reply.strategy in recognise(reply.text) for reply in chosen])


def _by_person(values: Floats, chosen: Callable[[FreeReply], bool]) -> Floats:
    """Mean of each persona's replies: those of one persona were written together."""
    found = [(reply.person, v) for reply, v in zip(replies.free(), values, strict=True) if
             chosen(reply)]  # fmt: skip
    people = sorted({person for person, _ in found})
    return np.array([np.mean([v for p, v in found if p == person]) for person in people])
