"""State that both loops carry from step to step besides the weights.

It is the curriculum's level, the remedies' numbers and the critic. State of one loop only, such as
a ledger or slow weights, is part of that loop's own state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.config.run import RunConfig
from harness.train.objective import remedy_state
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.critic import Critic
from harness.train.rollout import curriculum
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.curriculum import CurriculumState
from harness.train.rollout.learning_signal import CriticBatch


@dataclass(frozen=True, slots=True)
class CarriedState:
    """The carried state after the last finished step."""

    curriculum: CurriculumState
    stack: RemedyStack
    critic: Critic | None
    """None if the algorithm has no critic."""

    @property
    def config(self) -> RunConfig:
        """The run's config."""
        return self.curriculum.config

    def after_step(
        self,
        conversations: Sequence[Conversation],
        entropy_nats: float,
        selection: TokenSelection,
        critic_batch: CriticBatch | None,
        where: str,
    ) -> CarriedState:
        """Return the state that the next step begins with.

        `conversations`: the step's, before any refinement; `entropy_nats`: policy entropy H before
        its updates. Raises DivergedError, with a message that begins with `where`, if the critic is
        not finite.
        """
        return CarriedState(
            curriculum.advance(self.curriculum, conversations),
            remedy_state.advance(self.stack, entropy_nats, selection),
            self.critic if critic_batch is None else critic_batch.fitted_critic(where),
        )

    def save(self, folder: Path) -> None:
        """Write the files that `begin` reads."""
        curriculum.save(self.curriculum, folder)
        remedy_state.save(self.stack, folder)
        if self.critic is not None:
            self.critic.save(folder)


def begin(config: RunConfig, checkpoint: Path | None) -> CarriedState:
    """Return the state at the start of a run, or as saved in `checkpoint`. Raises DataError if the
    checkpoint lacks a part.
    """
    stack = remedy_state.begin(config, checkpoint)
    critic = stack.critic(checkpoint)
    return CarriedState(curriculum.begin(config, checkpoint), stack, critic)
