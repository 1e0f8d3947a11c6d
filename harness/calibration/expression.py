"""How much shows of what the user needs, after RLVER's three aspects (arXiv 2507.03112, D.3).

Of each turn that answers a fixed reply: attitude, the reaction says how the reply was taken;
thought, a fact is told where one was left to tell; need, a line bears on what they came for. A
language model scored these in the paper; here they are read off the user's words.
"""

from __future__ import annotations

import numpy as np

from harness.calibration.contexts import Contexts, rotated
from harness.calibration.interval import Floats
from harness.calibration.replies import fixed
from harness.config.run import STRATEGIES, DifficultyConfig
from harness.simulator.protocol import SupporterReply, UserTurn
from harness.simulator.scripted import voice
from harness.simulator.scripted.user import ScriptedSimulator


def measure(level: DifficultyConfig, contexts: Contexts) -> Floats:
    """Share of the items that show, by context: shape (contexts,)."""
    simulator = ScriptedSimulator(level)
    by_strategy = [[r for r in fixed() if r.strategy == s] for s in STRATEGIES]
    found = []
    for number, turn in enumerate(contexts.turns):
        said = [SupporterReply(rotated(rs, number).to(turn.state)) for rs in by_strategy]
        answers = simulator.answer([turn] * len(said), said)
        items = [_items(turn, answer) for answer in answers if answer.ended is None]
        found.append(np.nanmean(items) if items else np.nan)
    return np.array(found)


def _items(before: UserTurn, after: UserTurn) -> tuple[float, float, float]:
    """Attitude, thought, need: 1 shown, 0 not, NaN where there was nothing to show."""
    attitude = float(voice.shows_attitude(after.text))
    told, facts = after.state.told.facts, len(after.state.user.persona.facts)
    left = before.state.told.facts < facts
    thought = float(told > before.state.told.facts) if left else float("nan")
    need = float(voice.speaks_of_need(after.text))
    return attitude, thought, need
