"""The ledger of a tabular run, updated after each step and read out at evaluations."""

from __future__ import annotations

from harness.config.run import RunConfig
from harness.train.ledger import moves
from harness.train.ledger.book import Ledger, LedgerStart, ObservationBatch
from harness.train.ledger.expansion import increment
from harness.train.loop.tabular_evaluation import probe
from harness.train.loop.tabular_update import UpdateResult
from harness.train.metrics.token_metrics import Metrics
from harness.train.rollout.tabular_speaker import Acts


def update_ledger(
    ledger: Ledger,
    evaluated: bool,
    is_booked: bool,
    result: UpdateResult,
    acts: Acts,
    config: RunConfig,
) -> tuple[Ledger, Metrics]:
    """Return the ledger after a step, and the ledger/* metrics if the step was `evaluated`.

    `is_booked`: see `TrainState.is_booked`; if False nothing is booked or returned.
    """
    size, temperature = config.algorithm.group_size, config.policy.temperature
    if not (is_booked and is_kept(config)):
        return ledger, {}
    before, values = result.passes[0].policy, Metrics()
    observations = probe(before.observation, config.eval.prefixes, before.slots)
    if evaluated:
        batch = ObservationBatch(acts.seen, acts.conversation // size)
        now = LedgerStart(before.entropy_nats(observations, temperature), batch)
        values, ledger = ledger.metrics_at(before, now, temperature), Ledger(now)
    if ledger.opening is None:
        return ledger, values
    unit = moves.units(config.trainer.conversations, size)
    rate = config.algorithm.learning_rate
    logit_changes = moves.of_batch(result.passes, acts, unit, observations, temperature, rate)
    change = increment(
        before.log_probabilities(observations, temperature),
        logit_changes.taken,
        logit_changes.plain,
    )
    return ledger.with_update(change), values


def is_kept(config: RunConfig) -> bool:
    """Return whether a run has a ledger: it needs a probe, and two groups to estimate noise."""
    groups = config.trainer.conversations // config.algorithm.group_size
    return config.eval.ledger and bool(config.eval.prefixes) and groups > 1
