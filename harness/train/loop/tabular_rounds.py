"""Rounds of the tabular policy: the start policy refitted to all kept conversations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.config.run import RunConfig
from harness.policy.tabular import Observations, TabularPolicy
from harness.train.loop import kept_conversations
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.loop.tabular_batch import ActBatch
from harness.train.loop.tabular_update import UpdateResult, update
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.rollout.tabular_speaker import Acts

UNIT = "replies"
EMPTY = {"features": np.zeros((0, 0)), "act": np.zeros(0, np.int64)}
"""Names and types of what a checkpoint holds of a conversation's replies."""


@dataclass(frozen=True, slots=True)
class KeptActs:
    """The policy's side of one conversation."""

    features: FloatArray
    """The observation's features before each reply, shape (replies, features)."""
    act: IntArray
    """The strategy of each reply, shape (replies,)."""

    @property
    def content(self) -> bytes:
        """The features and strategies."""
        return self.features.tobytes() + self.act.tobytes()

    @property
    def sequence(self) -> bytes:
        """The strategies."""
        return self.act.tobytes()


def kept_in(batch: ActBatch) -> list[KeptActs]:
    """Return the conversations of `batch` with a reply of positive advantage."""
    acts = batch.acts
    masks = [acts.conversation == n for n in np.unique(acts.conversation[batch.advantage > 0])]
    return [KeptActs(acts.seen.features[mask], acts.act[mask]) for mask in masks]


def batch_of(kept: KeptConversations[KeptActs], temperature: float) -> ActBatch:
    """Return all kept replies as a batch with equal weights. There must be at least one."""
    sizes = [len(c.act) for c in kept.conversations]
    replies = sum(sizes)
    acts = Acts(
        Observations(np.concatenate([c.features for c in kept.conversations])),
        np.concatenate([c.act for c in kept.conversations]),
        np.repeat(np.arange(len(sizes)), sizes),
        np.concatenate([np.arange(size) for size in sizes]),
    )
    none = np.zeros(replies, bool)
    selection = TokenSelection(np.ones(replies), none, none, ())
    return ActBatch(acts, np.ones(replies), selection, temperature, replies)


def save(kept: KeptConversations[KeptActs], folder: Path) -> None:
    """Write the file that `load` reads. Raises OSError."""
    arrays = [(conversation.features, conversation.act) for conversation in kept.conversations]
    kept_conversations.write(folder, UNIT, EMPTY, arrays)


def load(folder: Path | None) -> KeptConversations[KeptActs]:
    """Return the conversations saved in a checkpoint; none if `folder` is None.

    Raises DataError if the file is missing or damaged.
    """
    saved = kept_conversations.read(folder, UNIT, EMPTY)
    return KeptConversations[KeptActs]().with_new(KeptActs(*arrays) for arrays in saved)


def learn(
    kept: KeptConversations[KeptActs] | None,
    start: TabularPolicy,
    policy: TabularPolicy,
    batch: ActBatch,
    stack: RemedyStack,
    config: RunConfig,
    step: int,
) -> tuple[KeptConversations[KeptActs] | None, UpdateResult]:
    """Return the conversations kept after step `step`, and its update.

    Without rounds the update is on the step's batch. With rounds there is an update only at the end
    of a round, on all kept conversations from the start policy.
    """
    refit = stack.algorithm.refit()
    if refit is None or kept is None:
        return kept, update(policy, batch, stack, config.trainer.updates_per_batch)
    kept = kept.with_new(kept_in(batch))
    if step % refit.steps or not kept.conversations:
        return kept, UpdateResult(policy, 0.0, 0.0, 0.0, (), ())
    return kept, update(start, batch_of(kept, batch.temperature), stack, refit.passes)
