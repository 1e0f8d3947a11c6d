"""Turn band: an entropy bonus keeps each turn's H near its mean over earlier steps.

H_k, the mean entropy of the tokens of turn k, is compared with its mean over all earlier steps.
Below `low` times this history, coefficient * H is subtracted from the loss at the turn's tokens;
above `high` times, it is added; in between, nothing. This is EPO's idea (arXiv 2509.22576), a band
of 0.8 to 1.2 of a history, but with a gradient. EPO's published code adds a constant 0.1 to the
loss of each token outside the band (verl/workers/actor/dp_actor.py, generate_entropy_penalty),
which has no gradient; only its plain bonus of 0.001, here entropy_bonus, has an effect. The
gradient, the history by turns and the mean over all earlier steps are therefore choices made here;
EPO weights its penalty by the step. H is exact. Turn band also acts with one update per batch. In
the first step there is no history. While H falls slowly, the history falls with it, and the remedy
has no effect.
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
    """Multiple of a turn's earlier mean entropy above which its entropy is lowered."""
    coefficient: Annotated[float, Between(0, 1e6)] = 0.005
    """Coefficient of H in the loss of a turn outside the band."""

    def observed(self, state: State, step: StepTokens) -> State:
        """Return the history of earlier steps with this step's means added as `now_TURN`."""
        means = {f"now_{turn}": mean for turn, mean in _turn_means(step).items()}
        return {**_update_history(state), **means}

    def coefficients(self, step: StepTokens) -> FloatArray:
        assert step.turn is not None
        coefficients = np.zeros(len(step.turn))
        for turn, mean in _turn_means(step).items():
            history = step.state.get(f"mean_{turn}")
            if history is None or self.low * history <= mean <= self.high * history:
                continue
            coefficients[step.turn == turn] = (
                self.coefficient if mean < history else -self.coefficient
            )
        return coefficients


def _turn_means(step: StepTokens) -> dict[int, float]:
    """Return the mean entropy of each turn's tokens, in nats."""
    assert step.turn is not None
    assert step.entropy_nats is not None
    turns = np.unique(step.turn).tolist()
    return {turn: float(step.entropy_nats[step.turn == turn].mean()) for turn in turns}


def _update_history(state: State) -> dict[str, float]:
    """Return the history, `mean_TURN` over `count_TURN` steps, updated with the last step's means
    `now_TURN`.
    """
    history = {name: value for name, value in state.items() if not name.startswith("now_")}
    for name, value in state.items():
        if name.startswith("now_"):
            turn = name.removeprefix("now_")
            count = history.get(f"count_{turn}", 0.0) + 1
            mean = history.get(f"mean_{turn}", value)
            history[f"mean_{turn}"] = mean + (value - mean) / count
            history[f"count_{turn}"] = count
    return history


REMEDY = TurnBand
