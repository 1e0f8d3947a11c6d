"""The ledger of a tabular run: the effect of its updates since the last evaluation on H."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.errors import DataError
from harness.policy.tabular import Observations, TabularPolicy
from harness.records import atomic, plain_file
from harness.train.ledger.expansion import NOTHING, EntropyComponent, EntropyIncrement
from harness.train.metrics.token_metrics import Metrics, ratio_mean
from harness.train.policy_gradient.advantages import FloatArray, IntArray

FILE = "ledger.npz"
PARTS = ("signal", "noise", "remedy")


@dataclass(frozen=True, slots=True)
class ObservationBatch:
    """The observations that a batch visited, one per act."""

    seen: Observations
    group: IntArray
    """The group of each act, shape (acts,)."""


@dataclass(frozen=True, slots=True)
class LedgerStart:
    """The state at an evaluation, which the next one is compared with."""

    by_prefix: FloatArray
    """H at each prefix of the probe, shape (prefixes,)."""
    batch: ObservationBatch
    """The batch of the evaluated step."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The account since the last evaluation."""

    opening: LedgerStart | None = None
    """None before the first evaluation, while nothing is booked."""
    made: EntropyIncrement = NOTHING
    """The effect of the updates since `opening` on H on the probe."""

    def with_update(self, increment: EntropyIncrement) -> Ledger:
        """Return the ledger after one more batch."""
        return replace(self, made=self.made + increment)

    def metrics_at(self, policy: TabularPolicy, now: LedgerStart, temperature: float) -> Metrics:
        """Return the ledger/* metrics at an evaluation of `policy` with the state `now`.

        Empty at the first evaluation.
        """
        if self.opening is None:
            return {}
        change = now.by_prefix - self.opening.by_prefix
        total = EntropyComponent.of_mean(change)
        after, before = (
            _entropy(policy, batch, temperature) for batch in (now.batch, self.opening.batch)
        )
        states = EntropyComponent(after.value - before.value, after.variance + before.variance)
        components = [getattr(self.made, name) for name in PARTS]
        parts = {**dict(zip(PARTS, components, strict=True)), "states": states, "total": total}
        values = {f"ledger/{name}": part.value for name, part in parts.items()}
        errors = {f"ledger/{name}_se": math.sqrt(part.variance) for name, part in parts.items()}
        closure = total.value - sum(part.value for part in components)
        return {**values, **errors, "ledger/closure": closure}

    def save(self, folder: Path) -> None:
        """Write the ledger to `folder` for `load`; nothing before the first evaluation."""
        if self.opening is None:
            return
        file, batch = io.BytesIO(), self.opening.batch
        components = [getattr(self.made, name) for name in PARTS]
        arrays = {name: getattr(batch.seen, name) for name in Observations.__slots__}
        arrays["group"], arrays["by_prefix"] = batch.group, self.opening.by_prefix
        arrays["made"] = np.array([(part.value, part.variance) for part in components])
        np.savez_compressed(file, **arrays)
        atomic.write_bytes(folder / FILE, file.getbuffer(), durable=False)


def load(folder: Path | None) -> Ledger:
    """Return the ledger saved in a checkpoint; an empty one if there is none, as before the first
    evaluation. Raises DataError for a damaged file.
    """
    if folder is None or not (folder / FILE).is_file():
        return Ledger()
    try:
        with np.load(folder / FILE, allow_pickle=False) as file:
            components = [
                EntropyComponent(float(value), float(variance)) for value, variance in file["made"]
            ]
            observations = Observations(*(file[name] for name in Observations.__slots__))
            opening = LedgerStart(file["by_prefix"], ObservationBatch(observations, file["group"]))
        return Ledger(opening, EntropyIncrement(*components))
    except plain_file.ARCHIVE_ERRORS as error:
        raise DataError(f"{folder / FILE}: must hold a ledger, but does not: {error}") from error


def _entropy(
    policy: TabularPolicy, batch: ObservationBatch, temperature: float
) -> EntropyComponent:
    """Return the mean entropy over the batch's acts, with a variance clustered by group."""
    mean, error = ratio_mean(policy.entropy_nats(batch.seen, temperature), batch.group)
    return EntropyComponent(
        math.nan if mean is None else mean, math.nan if error is None else error**2
    )
