"""Read a run's entropy ledger: what changed H on the probe, and the batch size the run needs.

The columns are ledger/* of metrics.jsonl. Each evaluation has one entry for the steps since the
previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from harness.law.estimate.interval import half_width
from harness.law.estimate.null_control import share
from harness.law.results import Floats, Interval

PARTS = ("signal", "noise", "remedy")
COLUMNS = tuple(f"ledger/{part}{suffix}" for part in PARTS for suffix in ("", "_se"))
MOST_NOISE = 0.1
"""Share of the fall of H that noise takes at the critical batch."""


@dataclass(frozen=True, slots=True)
class EntropyLedger:
    """Changes of H on the probe due to a run's updates, between its first and last evaluation, in
    nats. Negative values lowered H.
    """

    signal: Interval
    noise: Interval
    remedy: Interval

    @property
    def noise_share(self) -> Interval | None:
        """Share of noise in the total fall of H; None if the fall is not larger than its error."""
        parts = self.signal, self.noise, self.remedy
        total = _sum(map(_negative, parts))
        return share(_negative(self.noise), total, half_width(self.noise) ** 2)

    def critical_batch(self, conversations: int) -> Interval | None:
        """Return the conversations per step at which noise causes a tenth of the fall of H.

        `conversations` is the number per step in the run. None if it is not certain that H would
        fall without noise.
        """
        ratio = share(_negative(self.noise), _sum([_negative(self.signal), _negative(self.remedy)]))
        return None if ratio is None else critical_batch(ratio, conversations)


def critical_batch(ratio: Interval, conversations: int) -> Interval:
    """Return the conversations per step at which noise causes a tenth of the fall of H.

    It is 0 if noise does not lower H. `ratio` is noise / (signal + remedy) at `conversations` per
    step. With the same number of steps, learning rate and group size, noise is proportional to
    1 / conversations and the rest is constant. So the result is ratio * conversations * (1 - s) / s
    with s = 0.1.
    """
    scale = conversations * (1 - MOST_NOISE) / MOST_NOISE
    return Interval(*(max(0.0, scale * x) for x in (ratio.value, ratio.low, ratio.high)))


def read(columns: Mapping[str, Floats]) -> EntropyLedger | None:
    """Sum the ledger over the run. `columns` holds COLUMNS, with NaN in steps without an entry.

    Entries cover different steps with independent batches, so their variances add. None if a
    column is missing or there is no entry.
    """
    if not all(name in columns for name in COLUMNS):
        return None
    measured = np.all([np.isfinite(columns[name]) for name in COLUMNS], axis=0)
    if not measured.any():
        return None
    sums = {part: float(columns[f"ledger/{part}"][measured].sum()) for part in PARTS}
    errors = {part: np.linalg.norm(columns[f"ledger/{part}_se"][measured]) for part in PARTS}
    return EntropyLedger(*(_interval(sums[part], 1.96 * float(errors[part])) for part in PARTS))


def _sum(parts: Iterable[Interval]) -> Interval:
    intervals = list(parts)
    half = float(np.linalg.norm([(part.high - part.low) / 2 for part in intervals]))
    return _interval(sum(part.value for part in intervals), half)


def _negative(part: Interval) -> Interval:
    return Interval(-part.value, -part.high, -part.low)


def _interval(value: float, half: float) -> Interval:
    return Interval(value, value - half, value + half)
