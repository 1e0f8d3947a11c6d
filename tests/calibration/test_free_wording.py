"""The user is not deaf: what helps in the grammar's words helps in anybody's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from harness.calibration import contexts
from harness.calibration.contexts import FreeReply, users_of
from harness.config.run import STRATEGIES, DifficultyConfig
from harness.policy.grammar import speak
from harness.simulator.personas import EVERYONE
from harness.simulator.protocol import SupporterReply
from harness.simulator.scripted.dynamics import GOAL_LINE, strategy_fits
from harness.simulator.scripted.user import ScriptedSimulator

MEDIUM = Path(__file__).parents[2] / "conf" / "difficulty" / "medium.yaml"
TWINS = 6
LEAST_SHARE = 0.8


def twins(reply: FreeReply) -> list[str]:
    """The grammar's sentences of the same strategy, to the same user at the same point."""
    persona = EVERYONE[reply.persona_index]
    felt = (f"I feel {feeling}." for feeling in sorted(reply.disclosed.feelings))
    opening = [f"It is about {persona.topic}.", *persona.facts[: len(reply.disclosed.told)], *felt]
    draws = np.random.default_rng(3)
    return [speak(reply.strategy, [" ".join(opening)], draws.random) for _ in range(TWINS)]


def raised(held_out: bool) -> tuple[float, float]:
    """P(both the reply and its twin raise) and P(the twin raises), by the same draw, summed.

    Over the users whom the strategy serves: the replies of somebody who listens.
    """
    simulator = ScriptedSimulator(DifficultyConfig(**yaml.safe_load(MEDIUM.read_text())))
    both = twin = 0.0
    for reply in (r for r in contexts.free_replies() if r.held_out == held_out):
        heard, grammars = SupporterReply(reply.text), list(map(SupporterReply, twins(reply)))
        place = STRATEGIES.index(reply.strategy)
        for state in users_of(reply, simulator.difficulty):
            if strategy_fits(state.user.intention, state.trust)[place] >= GOAL_LINE:
                free = simulator.rise_probability(state, heard)
                chances = [simulator.rise_probability(state, g) for g in grammars]
                both += sum(min(free, chance) for chance in chances)
                twin += sum(chances)
    return both, twin


@pytest.mark.parametrize("held_out", [True, False])
def test_four_in_five_raise_where_their_twin_in_the_grammars_words_does(held_out: bool) -> None:
    both, twin = raised(held_out)
    assert both / twin >= LEAST_SHARE
