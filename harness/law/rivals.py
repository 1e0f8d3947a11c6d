"""Other curves through the same points: is exp(H) better than H, log H, or nothing at all?"""

from __future__ import annotations

import numpy as np

from harness.law import binning, estimate
from harness.law.clean import Points
from harness.law.results import Floats

FEWEST_BINS = 8
LOWEST_ENTROPY_NATS = 1e-4
"""H is floored here before its logarithm is taken."""


def compare(points: Points) -> dict[str, dict[str, float]] | None:
    """Model -> aicc, delta_aicc (its AICc minus the law's), rmse out of time (last third).

    AICc on time-binned means at their effective number; None where points are too few.
    """
    n = len(points)
    bins = binning.fit_bins(n)
    if n < 2 * FEWEST_BINS or bins < FEWEST_BINS:
        return None
    label = binning.labels(n, bins)
    h, r = binning.means(points.entropy, label), binning.means(points.reward, label)
    forms = {
        "law": np.exp(h),
        "linear_in_h": h,
        "log_h": np.log(np.maximum(h, LOWEST_ENTROPY_NATS)),
        "last_value": np.zeros_like(h),
    }
    tau = _tau(forms["law"], r)
    scores = {name: _aicc(form, r, len(r) / tau) for name, form in forms.items()}
    return {
        name: {
            "aicc": score,
            "delta_aicc": score - scores["law"],
            "out_of_time_rmse": _out_of_time(forms[name], r),
        }
        for name, score in scores.items()
    }


def _line(form: Floats, reward: Floats) -> tuple[float, float]:
    found = estimate.least_squares(form, reward)
    return (0.0, float(reward.mean())) if found is None else (found.a, found.b)


def _tau(form: Floats, reward: Floats) -> float:
    a, b = _line(form, reward)
    rho = min(estimate.lag1(reward - (b - a * form)), 0.8)
    return (1 + rho) / (1 - rho)


def _aicc(form: Floats, reward: Floats, n_eff: float) -> float:
    a, b = _line(form, reward)
    left = reward - (b - a * form)
    parameters = 3 if np.ptp(form) > 0 else 2
    worth = max(n_eff, parameters + 2.0)
    variance = max(float(left @ left) / len(left), 1e-12)
    penalty = 2 * parameters * worth / (worth - parameters - 1)
    return worth * float(np.log(variance)) + penalty


def _out_of_time(form: Floats, reward: Floats) -> float:
    """RMSE over the last third of the bins of the curve fitted on those before, told their H."""
    cut = 2 * len(reward) // 3
    a, b = _line(form[:cut], reward[:cut]) if np.ptp(form) > 0 else (0.0, float(reward[cut - 1]))
    left = reward[cut:] - (b - a * form[cut:])
    return float(np.sqrt(np.mean(left**2)))
