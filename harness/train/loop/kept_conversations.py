"""Conversations kept by expert iteration in all rounds, and the refit of the start policy to them.

A round is `Refit.steps` steps without updates. The conversations kept in them are added to those of
earlier rounds, without duplicates. At the end of the round, `Refit.passes` gradient steps on the
mean loss of all kept replies, starting from the start policy, give the policy of the next round.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from harness.config.run import RunConfig
from harness.errors import DataError
from harness.policy.tabular import Observations, TabularPolicy
from harness.records import atomic, plain_file
from harness.records.checkpoints import KEPT
from harness.train.loop.tabular_batch import ActBatch
from harness.train.loop.tabular_update import UpdateResult, update
from harness.train.metrics.token_metrics import Metrics
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.rollout.tabular_speaker import Acts

NO_ROUNDS: Metrics = {"kept/conversations": None, "kept/sequences": None}


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """The policy's side of one conversation."""

    features: FloatArray
    """The observation's features before each reply, shape (replies, features)."""
    act: IntArray
    """The strategy of each reply, shape (replies,)."""

    @property
    def key(self) -> bytes:
        """A hash that is equal for conversations with equal features and strategies."""
        return blake2b(self.features.tobytes() + self.act.tobytes(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class KeptConversations:
    """The distinct conversations kept in all rounds so far, in the order they were kept in."""

    conversations: tuple[KeptConversation, ...] = ()
    keys: frozenset[bytes] = frozenset()

    def with_batch(self, batch: ActBatch) -> KeptConversations:
        """Return these and the conversations of `batch` with a reply of positive advantage."""
        acts, kept, keys = batch.acts, list(self.conversations), set(self.keys)
        for number in np.unique(acts.conversation[batch.advantage > 0]):
            mine = acts.conversation == number
            new = KeptConversation(acts.seen.features[mine], acts.act[mine])
            if new.key not in keys:
                keys.add(new.key)
                kept.append(new)
        return KeptConversations(tuple(kept), frozenset(keys))

    def to_batch(self, temperature: float) -> ActBatch:
        """Return all kept replies as a batch with equal weights. There must be at least one."""
        sizes = [len(c.act) for c in self.conversations]
        replies = sum(sizes)
        acts = Acts(
            Observations(np.concatenate([c.features for c in self.conversations])),
            np.concatenate([c.act for c in self.conversations]),
            np.repeat(np.arange(len(sizes)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
        )
        none = np.zeros(replies, bool)
        selection = TokenSelection(np.ones(replies), none, none, ())
        return ActBatch(acts, np.ones(replies), selection, temperature, replies)

    def metrics(self) -> Metrics:
        """Return kept/*."""
        sequences = {c.act.tobytes() for c in self.conversations}
        counts = len(self.conversations), len(sequences)
        return dict(zip(NO_ROUNDS, map(float, counts), strict=True))

    def save(self, folder: Path) -> None:
        """Write the file that `load` reads."""
        file, kept = io.BytesIO(), self.conversations
        arrays: dict[str, Any] = {
            "replies": np.array([len(c.act) for c in kept], dtype=np.int64),
            "features": np.concatenate([c.features for c in kept]) if kept else np.zeros((0, 0)),
            "act": np.concatenate([c.act for c in kept]) if kept else np.zeros(0, dtype=np.int64),
        }
        np.savez_compressed(file, **arrays)
        atomic.write_bytes(folder / KEPT, file.getbuffer(), durable=False)


def load(folder: Path | None) -> KeptConversations:
    """Return the conversations saved in a checkpoint; none if `folder` is None.

    Raises DataError if the file is missing or damaged.
    """
    if folder is None:
        return KeptConversations()
    path = folder / KEPT
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            replies, features, act = file["replies"], file["features"], file["act"]
    except plain_file.ARCHIVE_ERRORS as error:
        raise DataError(f"{path}: must hold the kept conversations, got {error!r}") from error
    kinds = [column.dtype.kind for column in (replies, features, act)]
    shapes = [column.shape for column in (replies, features, act)]
    if [*map(len, shapes)] != [1, 2, 1] or kinds != ["i", "f", "i"] or (replies < 1).any():
        raise DataError(
            f"{path}: must hold whole numbers of replies, their features and strategies, got "
            f"arrays of shapes {shapes}"
        )
    if not replies.sum() == len(features) == len(act):
        raise DataError(
            f"{path}: must hold features and a strategy for each of {replies.sum()} replies, got "
            f"{len(features)} and {len(act)}"
        )
    ends = np.cumsum(replies)
    kept = [
        KeptConversation(features[end - count : end], act[end - count : end])
        for end, count in zip(ends, replies, strict=True)
    ]
    return KeptConversations(tuple(kept), frozenset(c.key for c in kept))


def learn(
    kept: KeptConversations | None,
    start: TabularPolicy,
    policy: TabularPolicy,
    batch: ActBatch,
    stack: RemedyStack,
    config: RunConfig,
    step: int,
) -> tuple[KeptConversations | None, UpdateResult]:
    """Return the conversations kept after step `step`, and its update.

    Without rounds the update is on the step's batch. With rounds there is an update only at the end
    of a round, on all kept conversations from the start policy.
    """
    refit = stack.algorithm.refit()
    if refit is None or kept is None:
        return kept, update(policy, batch, stack, config.trainer.updates_per_batch)
    kept = kept.with_batch(batch)
    if step % refit.steps or not kept.conversations:
        return kept, UpdateResult(policy, 0.0, 0.0, 0.0, (), ())
    return kept, update(start, kept.to_batch(batch.temperature), stack, refit.passes)
