"""Rounds of a language model: the start weights refitted to all kept conversations.

Within a round TRL's optimiser finds no gradient and leaves the weights alone. At its end the
trainable weights are set to those of the start, Adam's moments are dropped, and each pass is one
step of the optimiser on the mean loss of the own tokens of all kept conversations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness.config.run import RunConfig
from harness.train.loop import kept_conversations
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.objective import registry
from harness.train.objective.entropy_gradient import learning
from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import IntArray
from harness.train.policy_gradient.algorithm import Refit
from harness.train.policy_gradient.losses import BoolArray
from harness.train.ranks.team import Team

UNIT = "tokens"
EMPTY = {"ids": np.zeros(0, np.int64), "own": np.zeros(0, bool)}
"""Names and types of what a checkpoint holds of a conversation's tokens."""


@dataclass(frozen=True, slots=True)
class KeptTokens:
    """A conversation in tokens."""

    ids: IntArray
    """Token ids, shape (tokens,)."""
    own: BoolArray
    """True at the policy's own tokens, shape (tokens,)."""

    @property
    def content(self) -> bytes:
        """The ids, and which are the policy's."""
        return self.ids.tobytes() + self.own.tobytes()

    @property
    def sequence(self) -> bytes:
        """The policy's own tokens."""
        return self.ids[self.own].tobytes()


class Rounds:
    """The conversations that a run has kept, and the refits of its start weights to them."""

    def __init__(self, refit: Refit, learner: Any, checkpoint: Path | None) -> None:
        """Copy the trainable weights of `learner`, which are the start's, to the CPU.

        Raises DataError if the checkpoint's file is missing or damaged.
        """
        self._refit, self.kept = refit, load(checkpoint)
        self._start = [p.detach().to("cpu", copy=True) for p in learning(learner)]

    def keep(self, batch: LossBatch) -> None:
        """Keep the conversations of `batch` with a positive advantage."""
        self.kept = self.kept.with_new(
            KeptTokens(np.array(ids, np.int64), np.array(own, bool))
            for ids, own, advantage in zip(batch.ids, batch.own, batch.advantage, strict=True)
            if max(advantage) > 0
        )

    def is_due(self, step: int) -> bool:
        """Return whether `step` ends a round with something to fit to."""
        return step % self._refit.steps == 0 and bool(self.kept.conversations)

    def passes(
        self, team: Team, optimiser: Any, settings: LossSettings
    ) -> Iterator[tuple[LossResult, float]]:
        """Refit the start weights; yield each pass's loss and gradient norm before its update.

        `optimiser`: TRL's, of the learner's weights; `settings`: of any batch of the run.
        """
        max_norm = settings.stack.config.max_grad_norm or math.inf
        learner = team.own.learner
        batch, mean_settings = loss_inputs(self.kept, settings)
        with torch.no_grad():
            for parameter, start in zip(learning(learner), self._start, strict=True):
                parameter.copy_(start)
        optimiser.state.clear()
        for _ in range(self._refit.passes):
            team.share_weights()
            result = team.learn(batch, mean_settings)
            norm = torch.nn.utils.clip_grad_norm_(learning(learner), max_norm)
            yield result, float(norm)
            optimiser.step()
            optimiser.zero_grad()


def begin(config: RunConfig, learner: Any, checkpoint: Path | None) -> Rounds | None:
    """Return a run's rounds as saved in `checkpoint`; None if its algorithm has none.

    `learner`: with the weights of the start. Raises DataError.
    """
    refit = registry.algorithm_of(config).refit()
    return None if refit is None else Rounds(refit, learner, checkpoint)


def loss_inputs(
    kept: KeptConversations[KeptTokens], settings: LossSettings
) -> tuple[LossBatch, LossSettings]:
    """Return all kept conversations as a batch whose own tokens weigh the same, and the settings
    of its mean loss. There must be at least one conversation.
    """
    conversations = kept.conversations
    counts = [int(c.own.sum()) for c in conversations]
    batch = LossBatch(
        [c.ids.tolist() for c in conversations],
        [c.own.tolist() for c in conversations],
        [[1.0] * count for count in counts],
        old_logp=None,
    )
    tokens = sum(counts)
    none = np.zeros(tokens, bool)
    selection = TokenSelection(np.ones(tokens), none, none, ())
    return batch, LossSettings(settings.stack, selection, settings.temperature, tokens)


def save(kept: KeptConversations[KeptTokens], folder: Path) -> None:
    """Write the file that `load` reads. Raises OSError."""
    arrays = [(conversation.ids, conversation.own) for conversation in kept.conversations]
    kept_conversations.write(folder, UNIT, EMPTY, arrays)


def load(folder: Path | None) -> KeptConversations[KeptTokens]:
    """Return the conversations saved in a checkpoint; none if `folder` is None.

    Raises DataError if the file is missing or damaged.
    """
    saved = kept_conversations.read(folder, UNIT, EMPTY)
    return KeptConversations[KeptTokens]().with_new(KeptTokens(*arrays) for arrays in saved)
