"""The ledger's parts on policy=tiny in runs that nothing but planted noise moves.

    python -m benchmarks.ledger_planted [RUNS] [STEPS] [RATE...]

The gradients of the probe's own replies, frozen at the start weights, are summed with random signs:
noise of mean 0 with a known covariance, scaled to the gradient norm that null controls have (NORM).
Adam walks on such sums for STEPS steps. What H on the replies changed by, less the first order and
momentum, is what noise did to second order and above; beside it what the ledger makes of the same
gradients, in groups of eight, at the start and the end of each walk.

Prints a Markdown table: means over runs with 95% t intervals, in nats.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from harness.compose import planner
from harness.config.run import AlgorithmConfig, RunConfig
from harness.train.engines.engine import TransformersEngine
from harness.train.ledger import pace, walk
from harness.train.ledger.language_book import ProbeTokens
from harness.train.ledger.pace import WalkingModel
from harness.train.ledger.walk import AdamWalk
from harness.train.loop import language_evaluation
from harness.train.loop import start as starts
from harness.train.objective import registry
from harness.train.objective.entropy_gradient import moved
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.warm_start import start_model

NORM = 0.23
"""Mean gradient norm of null controls of policy=tiny on medium, 64 conversations a step."""
UNITS = 8


def main() -> None:
    runs, steps, *rates = [float(word) for word in sys.argv[1:]] or [30, 24, 5e-4]
    config = planner.point(["policy=tiny"]).config
    model, tokens = started(config)
    gradients = planted(model, tokens, config)
    print(
        "| rate | runs | total | first order | momentum | the rest | noise by the ledger | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for rate in rates:
        algorithm = replace(config.algorithm, learning_rate=rate)
        made = Planted(model, tokens, gradients, algorithm, config.policy.temperature)
        rows = np.array([made.run(seed, int(steps)) for seed in range(int(runs))])
        cells = " | ".join(interval(column) for column in rows.T)
        ratio = rows[:, 4].mean() / rows[:, 3].mean()
        print(f"| {rate:g} | {len(rows)} | {cells} | {ratio:.2f} |", flush=True)


@dataclass
class Planted:
    """A model at its start weights, and the gradients whose random sums move it."""

    model: object
    tokens: ProbeTokens
    gradients: Tensor
    """Shape (replies, weights)."""
    algorithm: AlgorithmConfig
    temperature: float

    def begin(self) -> AdamWalk:
        nothing = torch.zeros(self.gradients.shape[1])
        return AdamWalk(self.algorithm, 1, nothing, nothing)

    def at(self, step: AdamWalk) -> WalkingModel:
        return WalkingModel(self.model, step, self.temperature, TokenLimit())

    def run(self, seed: int, steps: int) -> tuple[float, float, float, float, float]:
        """Total, first order, momentum, what these leave, and what the ledger says of noise."""
        rng = torch.Generator().manual_seed(seed)
        shape = steps + 1, len(self.gradients)
        signs = (torch.randint(0, 2, shape, generator=rng) * 2 - 1).float()
        config, step = self.algorithm, self.begin()
        place = torch.zeros_like(step.mean)
        before, early = self.at(step).delivered(self.tokens), self.noise(step, place, signs[0])
        first = rescaled = 0.0
        for row in signs[:-1]:
            gradient = step.clip(row @ self.gradients)
            with moved(self.model) as move:
                move(place)
                slope = self.at(step).slope(self.tokens)
            first += step.weight * pace.dot(slope, step.move(gradient))
            rescaled += pace.dot(slope, step.rescaling(gradient))
            place, step = after(step, place, gradient)
        with moved(self.model) as move:
            move(place)
            found = self.at(step).entropies(self.tokens)
        late = self.noise(step, place, signs[-1])
        squares = np.array([walk.weight(n, config.adam_beta1) ** 2 for n in range(1, steps + 1)])
        share = np.arange(steps) / steps
        told = float(squares @ ((1 - share) * early + share * late))
        total, momentum = float(found.by_token.mean()) - before, found.held + rescaled
        return total, first, momentum, total - first - momentum, told

    def noise(self, step: AdamWalk, place: Tensor, signs: Tensor) -> float:
        """What a step of weight 1 does by noise at `place`, as `pace` has it."""
        units = (signs[:, None] * self.gradients).reshape(UNITS, -1, len(place)).sum(dim=1)
        rows = torch.from_numpy(walk.contrasts(UNITS, UNITS)).float()
        with moved(self.model) as move:
            move(place)
            at = self.at(step)
            draws = [step.move(step.clip(draw)) for draw in rows @ units]
            return float(at.bends(self.tokens, at.delivered(self.tokens), draws).mean())


def after(step: AdamWalk, place: Tensor, gradient: Tensor) -> tuple[Tensor, AdamWalk]:
    """Adam's next place and state, by the book."""
    config = step.config
    mean = config.adam_beta1 * step.mean + (1 - config.adam_beta1) * gradient
    square = config.adam_beta2 * step.square + (1 - config.adam_beta2) * gradient.square()
    corrected = mean / (1 - config.adam_beta1**step.step)
    scale = (square / (1 - config.adam_beta2**step.step)).sqrt() + config.adam_epsilon
    moved_to = place - config.learning_rate * corrected / scale
    return moved_to, AdamWalk(config, step.step + 1, mean, square)


def started(config: RunConfig) -> tuple[object, ProbeTokens]:
    """The start model of policy=tiny, and its replies to the probe."""
    start_model.ensure(config.policy)
    made = starts.load(config, "cpu")
    replies: list[ProbeTokens] = []

    def keep(tokens: ProbeTokens, _entropies: FloatArray) -> None:
        replies.append(tokens)

    engine = TransformersEngine(made.learner)
    with engine.awake():
        language_evaluation.probe(
            engine, made.learner, made.chat, config, 64, lambda _: nullcontext(), keep
        )
    return made.learner, replies[0]


def planted(model: object, tokens: ProbeTokens, config: RunConfig) -> Tensor:
    """The gradient of each reply's policy-gradient loss, scaled so that sums have NORM."""
    stack = RemedyStack(registry.algorithm_of(config), config.algorithm, ())
    rows = []
    for ids, own in zip(tokens.ids, tokens.own, strict=True):
        count = sum(own)
        none = np.zeros(count, bool)
        chosen = TokenSelection(np.ones(count), none, none, ())
        settings = LossSettings(stack, chosen, config.policy.temperature, 1.0)
        accumulate_gradient(model, LossBatch([ids], [own], [[1.0] * count], None), settings)
        rows.append(pace.take_gradient(model))
    gradients = torch.stack(rows)
    return gradients * (NORM / gradients.square().sum().sqrt())


def interval(values: Sequence[float] | FloatArray) -> str:
    """Mean and 95% t interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return f"{np.mean(values):+.5f} ± {half:.5f}"


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
