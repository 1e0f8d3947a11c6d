"""Load and save the constants of the rule, which are estimated on finished runs."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.stopping.curve import Floats

FILE = Path(__file__).with_name("calibration.json")


@dataclass(frozen=True)
class StopRuleCalibration:
    """Weights of the forecast and its spread, and the calibration of its probabilities."""

    made: str
    """The command that made it, and its runs."""
    room: float
    """Expected gain per unit of room x log of the steps left, if no entropy is left."""
    room_entropy: float
    """Increase of `room` if all of the starting entropy is left."""
    level: float
    """Expected gain per unit of (level - newest reward)."""
    noise: float
    """Noise of an evaluation in the calibration runs, as a share of the reward's range."""
    spread_noise: float
    spread_room: float
    spread_fallen: float
    most_risk: float
    """The advice is to stop only if the normal forecast of a big loss has at most this
    probability."""
    quantiles: tuple[float, float]
    """5% and 95% quantiles of the forecast's residuals divided by their spread."""
    predicted: Floats
    """Probabilities of the normal forecast, ascending. The next three fields are at these."""
    observed: Floats
    """Share of the forecasts that came true."""
    low: Floats
    """Lower end of the 95% interval of that share, with runs as replicates."""
    high: Floats

    def came_true(self, predicted: float) -> tuple[float, float, float]:
        """Return the share of forecasts of this probability that came true, with its interval."""
        value, low, high = (
            float(np.interp(predicted, self.predicted, column))
            for column in (self.observed, self.low, self.high)
        )
        return value, min(low, value), max(high, value)


@functools.cache
def load_shipped() -> StopRuleCalibration:
    """Return the calibration shipped with the package."""
    return from_json(FILE.read_text(encoding="utf-8"))


def from_json(text: str) -> StopRuleCalibration:
    """Parse the text of a file like `calibration.json`."""
    values = json.loads(text)
    values |= {name: np.array(values[name]) for name in ("predicted", "observed", "low", "high")}
    low, high = values.pop("quantiles")
    return StopRuleCalibration(**values, quantiles=(low, high))


def to_json(calibration: StopRuleCalibration) -> str:
    """Return the text of a file like `calibration.json`."""
    values = {
        name: value.round(4).tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(calibration).items()
    }
    return json.dumps(values, indent=1) + "\n"
