"""VPO: a set's reward is its best conversation's score, averaged over random weightings of
qualities (arXiv 2605.22817).

The conversations of a group form sets of `slots`. Conversation j of a set has slot j, which the
policy observes. A conversation has a vector r of qualities (harness/train/rollout/qualities.py).
The reward of a set is mean_w max_j w . r_j with w ~ Dirichlet(1, ..., 1), and the advantage of each
of its conversations is the set's reward minus the mean over the group's sets, undivided. A slot
is thus rewarded for being best at something rather than good at everything. With the mean over j
instead of the max nothing would distinguish the slots; with a single w the reward is best-of-m.

With reward=delta a set's reward is lower by the mean first weight times the initial emotion that
all share, so the advantages equal those of reward=terminal.

The accessible part of the paper does not state its group size, slots and number of weights; here
they are keys. `draws` weights are drawn once and used for all sets and steps, so that sets are
compared by the same weights and the objective is one fixed function; new draws would only add
noise. The slot is one more one-hot feature of the policy (policy=tabular). The authors' policy
gives its m answers in one reply.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between
from harness.config.run import MAX_TURNS, RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm, refuse_rewards_by_turn
from harness.train.policy_gradient.rewards import Rewards

SEED = 20_260_522
"""Seed of the weights, the same for all runs."""


@dataclass(frozen=True)
class Vpo(Algorithm):
    """The size of a set, and the number of weightings that its reward is averaged over."""

    needs_qualities: ClassVar[bool] = True
    compares_single: ClassVar[bool] = False
    slots: Annotated[int, Between(2, 64)] = 4
    """Conversations per set, each with its own slot; must divide algorithm.group_size."""
    draws: Annotated[int, Between(1, 10_000)] = 32
    """Number of random weightings of the qualities over which a set's reward is averaged."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        sets = self._sets(rewards)
        set_advantages = group_relative(sets, config.group_size // self.slots, std_floor=None)
        has_reward = np.isfinite(rewards.shared)
        advantages = np.where(has_reward, np.repeat(set_advantages, self.slots), 0.0)
        return np.repeat(advantages[:, None], MAX_TURNS, axis=1)

    def slot_count(self) -> int:
        return self.slots

    def metrics(self, rewards: Rewards) -> dict[str, float | None]:
        sets, vectors = self._sets(rewards), _vectors(rewards)
        single_rewards = vectors @ weighings(self.draws, vectors.shape[1]).mean(axis=0)
        has_reward = np.isfinite(sets)
        if not has_reward.any():
            return {"set/reward": None, "set/width": None}
        mean = float(sets[has_reward].mean())
        return {"set/reward": mean, "set/width": mean - float(np.nanmean(single_rewards))}

    def _sets(self, rewards: Rewards) -> FloatArray:
        """Return the reward of each set, shape (sets,)."""
        vectors = _vectors(rewards)
        return set_rewards(vectors, self.slots, weighings(self.draws, vectors.shape[1]))

    def check(self, config: RunConfig) -> None:
        super().check(config)
        kind, size = f"with algorithm.kind={config.algorithm.kind}", config.algorithm.group_size
        if config.policy.kind != "tabular":
            raise ConfigError(
                f"policy.kind must be tabular {kind}, since a language model is not told its slot, "
                f"got {config.policy.kind}"
            )
        if size % self.slots or size < 2 * self.slots:
            raise ConfigError(
                f"algorithm.group_size must hold two or more sets of {self.slots} "
                f"(algorithm.options.slots) {kind}, and nothing else, got {size}"
            )
        refuse_rewards_by_turn(config, "which rewards whole sets of conversations")


def set_rewards(vectors: FloatArray, slots: int, weights: FloatArray) -> FloatArray:
    """Return mean_w max_j w . r_j of each set, shape (sets,); nan for a set without a reward.

    `vectors`: qualities, shape (conversations, qualities), sets consecutive, nan rows for
    conversations without a reward; `weights`: shape (draws, qualities).
    """
    scores = (vectors @ weights.T).reshape(-1, slots, len(weights))
    best = np.where(np.isfinite(scores), scores, -np.inf).max(axis=1)
    rewards: FloatArray = np.where(np.isfinite(best), best, np.nan).mean(axis=1)
    return rewards


def weighings(draws: int, qualities: int) -> FloatArray:
    """Return weights from Dirichlet(1, ..., 1), shape (draws, qualities), from a fixed seed."""
    return np.random.default_rng([SEED, qualities]).dirichlet(np.ones(qualities), draws)


def _vectors(rewards: Rewards) -> FloatArray:
    """Return the qualities; the reward as the only one if the batch has none."""
    return rewards.shared[:, None] if rewards.qualities is None else rewards.qualities


ALGORITHM = Vpo
