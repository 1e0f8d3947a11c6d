"""Reptile over temperaments: learns weights that adapt to one temperament in a few steps (arXiv
1803.02999, algorithm 1).

A task is a temperament. `inner_steps` GRPO steps on users of this temperament lead from the slow
weights to fast ones, each step drawing with the weights that the previous step left. Then
slow <- slow + outer_rate (fast - slow), and the next task starts at the slow weights. Each round of
tasks has every temperament of the level once, in a new random order. Evaluations and probes use the
slow weights.

With one inner step the expected outer step is that of GRPO on all temperaments at outer_rate times
the rate (section 5.1 of the paper), so at least two are required. The paper lets the outer rate
fall to 0; here it is constant. The inner steps are plain gradient steps, like the paper's with SGD.
The closest work on empathy is arXiv 2506.19652: MAML over three user types for a small policy.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between, Unit
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.algorithms.grpo import Grpo
from harness.train.policy_gradient.algorithm import InnerStep

TASK_STREAM = 5
"""Random stream for the order of tasks, keyed by seed and round."""


@dataclass(frozen=True)
class Reptile(Grpo):
    """The length of a task, and how far the slow weights follow the fast ones."""

    inner_steps: Annotated[int, Between(2, 1000), Unit("steps")] = 4
    """Consecutive steps on users of one temperament; must divide trainer.steps."""
    outer_rate: Annotated[float, Between(0.001, 1)] = 0.5
    """Share of the distance to the fast weights that the slow weights move after each task."""

    def inner_step(self, step: int, config: RunConfig) -> InnerStep:
        task, step_in_task = divmod(step - 1, self.inner_steps)
        temperaments = config.difficulty.temperaments
        round_number, index = divmod(task, len(temperaments))
        order = np.random.default_rng([config.seed, round_number, TASK_STREAM]).permutation(
            len(temperaments)
        )
        last = step_in_task == self.inner_steps - 1
        return InnerStep(temperaments[order[index]], self.outer_rate if last else 0.0)

    def check(self, config: RunConfig) -> None:
        super().check(config)
        kind = f"with algorithm.kind={config.algorithm.kind}"
        if config.policy.kind != "tabular":
            raise ConfigError(
                f"policy.kind must be tabular {kind}, since slow weights of a language model are "
                f"not implemented, got {config.policy.kind}"
            )
        if len(config.difficulty.temperaments) < 2:
            raise ConfigError(
                f"difficulty.temperaments must name two or more {kind}, which are its tasks, got "
                f"{', '.join(config.difficulty.temperaments)}"
            )
        if config.curriculum.kind == "reverse":
            raise ConfigError(
                f"curriculum.kind must not be reverse {kind}, which needs users of one temperament "
                "at a time, got reverse"
            )
        if config.trainer.steps % self.inner_steps:
            raise ConfigError(
                "trainer.steps must be a multiple of algorithm.options.inner_steps "
                f"({self.inner_steps}) {kind}, since an incomplete task has no update, got "
                f"{config.trainer.steps}"
            )


ALGORITHM = Reptile
