"""A run's entropy ledger from its rows: what became of H on the probe, and the batch it needs.

The columns are ledger/* of metrics.jsonl: one entry an evaluation, of the steps since the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from harness.law.estimate.interval import half_width
from harness.law.estimate.null_control import share
from harness.law.results import Floats, Interval

PARTS = ("signal", "noise", "remedy")
COLUMNS = tuple(f"ledger/{part}{of}" for part in PARTS for of in ("", "_se"))
MOST_NOISE = 0.1
"""Share of the fall of H that noise takes at the critical batch."""


@dataclass(frozen=True, slots=True)
class EntropyLedger:
    """What a run's updates did to H on the probe, from its first evaluation to its last; nats,
    below 0 where they lowered it.
    """

    signal: Interval
    noise: Interval
    remedy: Interval

    @property
    def noise_share(self) -> Interval | None:
        """Noise / all, of which it is a part; None where the fall is not beyond its error."""
        parts = self.signal, self.noise, self.remedy
        whole = _sum(map(_negative, parts))
        return share(_negative(self.noise), whole, half_width(self.noise) ** 2)

    def critical_batch(self, conversations: int) -> Interval | None:
        """Conversations a step at which noise takes a tenth of the fall of H; `conversations`: as
        there were. None where it is not sure that H would fall without noise.
        """
        ratio = share(_negative(self.noise), _sum([_negative(self.signal), _negative(self.remedy)]))
        return None if ratio is None else critical_batch(ratio, conversations)


def critical_batch(ratio: Interval, conversations: int) -> Interval:
    """Conversations a step at which noise takes a tenth of the fall of H; 0 where noise does not
    lower H. `ratio`: noise / (signal + remedy) with `conversations` a step.

    With steps, rate and group size as they were, noise goes as 1 / conversations and the rest
    stays: (1 - s) / s of the ratio times the conversations that there were, s being a tenth.
    """
    scale = conversations * (1 - MOST_NOISE) / MOST_NOISE
    return Interval(*(max(0.0, scale * x) for x in (ratio.value, ratio.low, ratio.high)))


def read(columns: Mapping[str, Floats]) -> EntropyLedger | None:
    """The ledger of COLUMNS, NaN where nothing was measured; None where nothing ever was.

    Entries are of different steps, whose batches are independent: errors add up in squares.
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
    every = list(parts)
    half = float(np.linalg.norm([(part.high - part.low) / 2 for part in every]))
    return _interval(sum(part.value for part in every), half)


def _negative(part: Interval) -> Interval:
    return Interval(-part.value, -part.high, -part.low)


def _interval(value: float, half: float) -> Interval:
    return Interval(value, value - half, value + half)
