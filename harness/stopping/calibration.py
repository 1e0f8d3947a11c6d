"""The constants of the rule: measured on finished runs, and kept beside it with how they were."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.stopping.curve import Floats

FILE = Path(__file__).with_name("calibration.json")


@dataclass(frozen=True)
class Calibration:
    """Weights of the forecast, its spread, and how its probabilities came true."""

    made: str
    """The command that made it, and the runs it was given."""
    room: float
    """Expected gain per unit of room x log of the steps left, where no entropy is left."""
    room_entropy: float
    """What all of the starting entropy adds to it."""
    level: float
    """Expected gain per unit of the level above the newest reward."""
    noise: float
    """Of an evaluation of the runs it was given, as a share of the reward's range."""
    spread_noise: float
    spread_room: float
    spread_fallen: float
    most_risk: float
    """The advice is to stop only where the normal forecast has less than this probability of a
    big loss."""
    quantiles: tuple[float, float]
    """Residuals over their spread below which 5% and 95% of the forecasts ended."""
    predicted: Floats
    """Probabilities of the normal forecast, ascending; the next three are at these."""
    observed: Floats
    """Share of the forecasts that came true."""
    low: Floats
    """95% interval of that share, runs being the replicates."""
    high: Floats

    def came_true(self, predicted: float) -> tuple[float, float, float]:
        """The share of forecasts of this probability that came true, with its interval."""
        value, low, high = (
            float(np.interp(predicted, self.predicted, column))
            for column in (self.observed, self.low, self.high)
        )
        return value, min(low, value), max(high, value)


@functools.cache
def shipped() -> Calibration:
    """The calibration that is part of the package."""
    return from_json(FILE.read_text(encoding="utf-8"))


def from_json(text: str) -> Calibration:
    """The calibration in a file like `calibration.json`."""
    values = json.loads(text)
    values |= {name: np.array(values[name]) for name in ("predicted", "observed", "low", "high")}
    low, high = values.pop("quantiles")
    return Calibration(**values, quantiles=(low, high))


def to_json(calibration: Calibration) -> str:
    """The text of such a file."""
    values = {
        name: value.round(4).tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(calibration).items()
    }
    return json.dumps(values, indent=1) + "\n"
