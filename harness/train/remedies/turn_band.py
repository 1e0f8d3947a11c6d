"""Turn band: a bonus for entropy holds each turn's H near what it has been in that turn.

H_k, the mean entropy of the tokens of turn k, against its mean over all steps before: below `low`
times that, coefficient * H is subtracted from the loss at the turn's tokens; above `high` times, it
is added; within, nothing. This is EPO's idea (arXiv 2509.22576), bands of 0.8 to 1.2 of a history,
with a slope. EPO's published code adds a constant 0.1 to the loss of each token outside the band
(verl/workers/actor/dp_actor.py, generate_entropy_penalty), and a constant has no gradient: what
trains there is its plain bonus of 0.001, our entropy_bonus. So the slope is ours, and so are the
history by turns and the mean over all earlier steps; EPO weighs its penalty by the step. H is
exact. It can act with one update a batch. In the first step there is no history, and while H falls
slowly the history falls with it and nothing happens.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.remedy_roles import Adaptive, State, StepTokens, TokenBonus


@dataclass(frozen=True)
class TurnBand(Adaptive, TokenBonus):
    """The band, and the bonus outside of it."""

    low: Annotated[float, Between(0, 1)] = 0.8
    """Share of a turn's earlier mean entropy below which its entropy is raised."""
    high: Annotated[float, Between(1, 1000)] = 1.2
    """Share of it above which the turn's entropy is lowered."""
    coefficient: Annotated[float, Between(0, 1e6)] = 0.005
    """Factor of H in the loss of a turn outside the band."""

    def observed(self, state: State, step: StepTokens) -> State:
        """With this step's means beside those of the steps before; see `_taken_in`."""
        now = {f"now_{turn}": mean for turn, mean in _turn_means(step).items()}
        return {**_taken_in(state), **now}

    def coefficients(self, step: StepTokens) -> FloatArray:
        assert step.turn is not None
        given = np.zeros(len(step.turn))
        for turn, mean in _turn_means(step).items():
            before = step.state.get(f"mean_{turn}")
            if before is None or self.low * before <= mean <= self.high * before:
                continue
            given[step.turn == turn] = self.coefficient if mean < before else -self.coefficient
        return given


def _turn_means(step: StepTokens) -> dict[int, float]:
    """Mean entropy of each turn's tokens, in nats."""
    assert step.turn is not None
    assert step.entropy_nats is not None
    turns = np.unique(step.turn).tolist()
    return {turn: float(step.entropy_nats[step.turn == turn].mean()) for turn in turns}


def _taken_in(state: State) -> dict[str, float]:
    """The history with the means of the step before, `now_TURN`, taken into it: `mean_TURN` over
    `count_TURN` steps.
    """
    taken = {name: value for name, value in state.items() if not name.startswith("now_")}
    for name, value in state.items():
        if name.startswith("now_"):
            turn = name.removeprefix("now_")
            count = taken.get(f"count_{turn}", 0.0) + 1
            before = taken.get(f"mean_{turn}", value)
            taken[f"mean_{turn}"] = before + (value - before) / count
            taken[f"count_{turn}"] = count
    return taken


REMEDY = TurnBand
