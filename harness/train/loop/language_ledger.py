"""The ledger of a language model's run: measurements at evaluations and before updates.

They do not affect the run: weights that are moved are restored exactly, gradients are removed, and
no random numbers are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from harness.config.run import RunConfig
from harness.train.ledger import language_book, walk
from harness.train.ledger.language_book import (
    Entropies,
    LanguageLedger,
    LanguageLedgerStart,
    ProbeTokens,
)
from harness.train.ledger.pace import WalkingModel, dot, gradients, pace
from harness.train.ledger.walk import AdamWalk, flat
from harness.train.metrics.token_metrics import Metrics
from harness.train.objective.entropy_gradient import learning
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.micro_batches import computes_again
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.ranks.work import RankWork


@dataclass(frozen=True, slots=True)
class UpdateMeasurement:
    """The measurements by which an update will be booked, taken before it."""

    walk: AdamWalk
    slope: Tensor
    """The gradient of H with respect to the weights at the walk's point y, shape (weights,)."""


class LedgerKeeper:
    """Updates the ledger of a run from step to step."""

    def __init__(self, config: RunConfig, checkpoint: Path | None) -> None:
        self._config = config
        self.ledger = language_book.load(checkpoint if language_book.is_kept(config) else None)
        """As of the last finished step; empty where none is kept, whatever the checkpoint has."""
        self._after = self.ledger
        self._probed: tuple[ProbeTokens, FloatArray] | None = None
        self._booking: UpdateMeasurement | None = None

    def probed(self, tokens: ProbeTokens, by_token: FloatArray) -> None:
        """Take an evaluation's replies to the probe, and the entropies at their tokens."""
        if language_book.is_kept(self._config):
            self._probed = tokens, by_token

    @property
    def is_due(self) -> bool:
        """Whether the next update is booked, as all updates are from the first evaluation on."""
        return self._probed is not None or self.ledger.opening is not None

    def before_update(
        self, step: int, work: RankWork, optimiser: Any, batch: LossBatch, settings: LossSettings
    ) -> Metrics:
        """Take the measurements by which the update of `step` will be booked.

        Returns ledger/*, if the step was evaluated and is not the first such.
        """
        opening, probed, metrics = self.ledger.opening, self._probed, Metrics()
        algorithm, model, self._probed = self._config.algorithm, work.learner, None
        before = walk.before_update(optimiser, learning(model), algorithm)
        walking = WalkingModel(model, before, self._config.policy.temperature, work.limit)
        model.train(computes_again(model))  # the mode of the update
        with work.precision():
            if probed is not None:
                tokens, by_token = probed
                slope = walking.slope(tokens)
                entropies = Entropies(by_token, walking.delivered(tokens))
                draws = self._config.eval.ledger_draws
                current_pace = pace(walking, tokens, entropies, slope, batch, settings, draws)
                now = LanguageLedgerStart(step, tokens, entropies, current_pace)
                if opening is not None:
                    old_entropies = walking.entropies(opening.tokens)
                    metrics = self.ledger.metrics_at(now, old_entropies, algorithm.adam_beta1)
                self._after = LanguageLedger(now)
            elif opening is not None:
                slope, self._after = walking.slope(opening.tokens), self.ledger
            else:
                return metrics
        self._booking = UpdateMeasurement(before, slope)
        return metrics

    def with_gradient(self, model: Any) -> None:
        """Book the gradient that the optimiser is about to use, from the weights' `grad`."""
        if self._booking is None:
            return
        (step, slope), gradient = (self._booking.walk, self._booking.slope), flat(gradients(model))
        first = step.weight * dot(slope, step.move(gradient))
        self._after = self._after.with_update(first, dot(slope, step.rescaling(gradient)))
        self._booking = None

    def finish(self) -> None:
        """Make the last booked update part of the ledger."""
        self.ledger = self._after
