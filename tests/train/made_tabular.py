"""Tabular conversations, and updates on them."""

import numpy as np

from harness.policy.tabular import TabularPolicy
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey
from harness.train.loop.tabular_batch import ActBatch
from harness.train.loop.tabular_update import UpdateResult
from harness.train.loop.tabular_update import update as treated_update
from harness.train.rollout.conversation import Conversation, rollout
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker
from tests.train.made import LEVELS, stack_of, tabular, unselective


def rolled_out(
    count: int = 64, seed: int = 0, policy: TabularPolicy | None = None, level: str = "medium"
) -> tuple[list[Conversation], Acts]:
    config = tabular(getattr(LEVELS, level))
    rng = np.random.default_rng(seed)
    speaker = TabularSpeaker(policy or TabularPolicy.start("conversation"), 1.0, rng)
    keys = [ConversationKey(seed, 1, n // 8, n % 8) for n in range(count)]
    return rollout(make(config.simulator, config.difficulty), speaker, keys), speaker.acts()


def update(
    policy: TabularPolicy, acts: Acts, advantage: np.ndarray, rate: float, T: float, passes: int
) -> UpdateResult:
    """Plain GRPO's, a mean over acts."""
    plain = stack_of(tabular(algorithm={"learning_rate": rate}).algorithm)
    batch = ActBatch(acts, advantage, unselective(len(advantage)), T, len(advantage))
    return treated_update(policy, batch, plain, passes)
