"""Where H goes from here: five guesses, none of which knows, so that their spread is shown.

Time runs from 0 at the first step to 1 at the last that is known; H is never below 0 nor above
the highest that a row may hold.
"""

from __future__ import annotations

import numpy as np

from harness.law.estimate import rival_forms
from harness.law.io.clean import HIGHEST_ENTROPY_NATS
from harness.law.results import Floats

LAST = 0.1
"""Share of the bins whose median is the last value."""
LOG_LINEAR = "log_linear"
"""The guess that a forecast is centred on."""


def guesses(time: Floats, log_h: Floats, at: float) -> dict[str, float]:
    """H at time `at` by each way to go on; `time` and `log_h` of shape (K,), K >= 8."""
    h, half, last = np.exp(log_h), len(time) // 2, max(1, round(LAST * len(time)))
    found = {
        "last_value": float(np.median(h[-last:])),
        LOG_LINEAR: _exp(_line(time, log_h, at)),
        "log_linear_second_half": _exp(_line(time[half:], log_h[half:], at)),
        "saturating": _saturating(time, h, at, floored=False),
        "saturating_floored": _saturating(time, h, at, floored=True),
    }
    return {name: float(np.clip(v, 0.0, HIGHEST_ENTROPY_NATS)) for name, v in found.items()}


def _exp(log_h: float) -> float:
    return float(np.exp(min(log_h, np.log(HIGHEST_ENTROPY_NATS))))


def _line(time: Floats, values: Floats, at: float) -> float:
    centred = time - time.mean()
    return float(values.mean() + (at - time.mean()) * (centred @ values) / (centred @ centred))


def _saturating(time: Floats, h: Floats, at: float, floored: bool) -> float:
    """By c + d exp(-t/tau), with c at 0 or above where it is floored."""
    both = np.append(time, at)
    form = rival_forms.saturating(both, np.append(h, h[-1]), len(time))
    seen = form[:-1] - form[:-1].mean()
    size = float(seen @ h) / max(float(seen @ seen), 1e-300)
    level = float(h.mean() - size * form[:-1].mean())
    if floored and level + size < 0:
        return _decaying_to_nothing(time, h, at)
    return level + size * float(form[-1])


def _decaying_to_nothing(time: Floats, h: Floats, at: float) -> float:
    """By d exp(-t/tau)."""
    durations = rival_forms.DURATIONS
    columns = np.exp(-time / durations[:, None])
    along, power = columns @ h, np.einsum("ck,ck->c", columns, columns)
    best = int(np.argmax(along**2 / power))
    return float(along[best] / power[best] * np.exp(-at / durations[best]))
