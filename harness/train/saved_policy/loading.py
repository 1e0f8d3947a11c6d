"""Loading a run's policy of any kind, and the saved tabular policy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.config.run import RunConfig
from harness.policy.tabular import TabularPolicy
from harness.train.loop import tabular_state
from harness.train.metrics.evaluate import HeldOutUsers
from harness.train.metrics.held_out import Meeting, TableDraws, slots_of
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker
from harness.train.saved_policy.policy import Divergence, HeldOutConversation, SavedPolicy


def load(config: RunConfig, weights: Path | None, start_sum: str | None) -> SavedPolicy:
    """Load a run's policy with the weights of a checkpoint, or of the start for None.

    `weights`: a language model's saved folder, or a tabular policy's checkpoint. `start_sum`: the
    sha256 of the run's start model; None if it is not recorded.

    Raises ConfigError if the start model is unavailable or different, or cannot take the saved
    weights, and DataError for a tabular checkpoint of another policy.
    """
    if config.policy.kind == "tabular":
        return SavedTabular.of(config, weights)
    from harness.train.saved_policy.language import SavedModel  # torch

    return SavedModel.of(config, weights, start_sum)


@dataclass(frozen=True)
class SavedTabular:
    """A tabular policy with fixed weights, which speaks through the phrase grammar."""

    config: RunConfig
    policy: TabularPolicy
    start: TabularPolicy

    @classmethod
    def of(cls, config: RunConfig, checkpoint: Path | None) -> SavedTabular:
        """Load the table. Raises DataError for a checkpoint of another policy."""
        start = tabular_state.start_policy(config)
        policy = start if checkpoint is None else tabular_state.load(checkpoint, start)
        return cls(config, policy, start)

    @property
    def words(self) -> None:
        return None

    def speaking(self) -> AbstractContextManager[object]:
        return nullcontext()

    def rollout(self, users: HeldOutUsers, batch: Sequence[Meeting]) -> list[HeldOutConversation]:
        temperature, slot = self.config.policy.temperature, slots_of(batch, self.policy.slots)
        speaker = TabularSpeaker(self.policy, temperature, TableDraws(batch), slot=slot)
        conversations = users.meet(batch, speaker)
        divergences = self._divergences(speaker.acts(), len(batch))
        return [
            HeldOutConversation(*parts)
            for parts in zip(batch, conversations, divergences, strict=True)
        ]

    def _divergences(self, acts: Acts, count: int) -> list[Divergence]:
        temperature = self.config.policy.temperature
        log_p = self.policy.log_probabilities(acts.seen, temperature)
        log_start = self.start.log_probabilities(acts.seen, temperature)
        nats = (np.exp(log_p) * (log_p - log_start)).sum(axis=1)
        sums = np.bincount(acts.conversation, nats, count).tolist()
        units = np.bincount(acts.conversation, minlength=count).tolist()
        return [Divergence(*parts) for parts in zip(sums, units, strict=True)]
