"""What a run carries from step to step beside its weights, the same in both loops.

The level that the curriculum has reached, the remedies' numbers and the critic. What only one loop
has, such as a ledger or slow weights, is beside it in that loop's own state.
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
class Carried:
    """As of the last finished step."""

    curriculum: CurriculumState
    stack: RemedyStack
    critic: Critic | None
    """None where the algorithm has none."""

    @property
    def config(self) -> RunConfig:
        """The run's."""
        return self.curriculum.config

    def after(
        self,
        conversations: Sequence[Conversation],
        entropy_nats: float,
        selection: TokenSelection,
        critic_batch: CriticBatch | None,
        where: str,
    ) -> Carried:
        """What the next step begins with.

        `conversations`: the step's, as the policy drew them by itself; `entropy_nats`: H before its
        updates. Raises DivergedError, which begins with `where`, for a critic that is not finite.
        """
        return Carried(
            curriculum.advanced(self.curriculum, conversations),
            remedy_state.advanced(self.stack, entropy_nats, selection),
            self.critic if critic_batch is None else critic_batch.fitted_critic(where),
        )

    def save(self, folder: Path) -> None:
        """Write what `begin` reads."""
        curriculum.save(self.curriculum, folder)
        remedy_state.save(self.stack, folder)
        if self.critic is not None:
            self.critic.save(folder)


def begin(config: RunConfig, checkpoint: Path | None) -> Carried:
    """What the first step begins with, or the one after `checkpoint`. Raises DataError where the
    checkpoint lacks some of it.
    """
    stack = remedy_state.begin(config, checkpoint)
    critic = stack.critic(checkpoint)
    return Carried(curriculum.begin(config, checkpoint), stack, critic)
