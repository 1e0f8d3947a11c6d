"""What expert iteration has kept in all rounds, and the start policy fitted anew to it.

A round is `Refit.steps` steps in which the policy only talks. What is kept in them joins what
earlier rounds kept, each conversation once; at the round's end the start policy takes
`Refit.passes` gradient steps on the mean loss of every kept reply, and talks in the next round.
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
    """What it went by before each reply, shape (replies, features)."""
    act: IntArray
    """Its strategies, shape (replies,)."""

    @property
    def key(self) -> bytes:
        """The same for two conversations that teach the same."""
        return blake2b(self.features.tobytes() + self.act.tobytes(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class KeptConversations:
    """Those of all rounds so far, each once, in the order in which they were kept."""

    conversations: tuple[KeptConversation, ...] = ()
    keys: frozenset[bytes] = frozenset()

    def with_batch(self, batch: ActBatch) -> KeptConversations:
        """These and the conversations of a batch whose replies have a positive advantage."""
        acts, kept, keys = batch.acts, list(self.conversations), set(self.keys)
        for number in np.unique(acts.conversation[batch.advantage > 0]):
            mine = acts.conversation == number
            new = KeptConversation(acts.seen.features[mine], acts.act[mine])
            if new.key not in keys:
                keys.add(new.key)
                kept.append(new)
        return KeptConversations(tuple(kept), frozenset(keys))

    def to_batch(self, temperature: float) -> ActBatch:
        """All their replies, of equal weight. There must be one."""
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
        """kept/*."""
        sequences = {c.act.tobytes() for c in self.conversations}
        counts = len(self.conversations), len(sequences)
        return dict(zip(NO_ROUNDS, map(float, counts), strict=True))

    def save(self, folder: Path) -> None:
        """Write what `load` reads."""
        file, kept = io.BytesIO(), self.conversations
        arrays: dict[str, Any] = {
            "replies": np.array([len(c.act) for c in kept], dtype=np.int64),
            "features": np.concatenate([c.features for c in kept]) if kept else np.zeros((0, 0)),
            "act": np.concatenate([c.act for c in kept]) if kept else np.zeros(0, dtype=np.int64),
        }
        np.savez_compressed(file, **arrays)
        atomic.write_bytes(folder / KEPT, file.getbuffer(), durable=False)


def load(folder: Path | None) -> KeptConversations:
    """Those of a checkpoint; none at the start. Raises DataError for what holds none."""
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
    """What step `step` has kept, and made of the policy: by its batch alone without rounds."""
    refit = stack.algorithm.refit()
    if refit is None or kept is None:
        return kept, update(policy, batch, stack, config.trainer.updates_per_batch)
    kept = kept.with_batch(batch)
    if step % refit.steps or not kept.conversations:
        return kept, UpdateResult(policy, 0.0, 0.0, 0.0, (), ())
    return kept, update(start, kept.to_batch(batch.temperature), stack, refit.passes)
