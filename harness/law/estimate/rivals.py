"""Compare the law with rival curves: is exp(H) better than H, than the step, than a constant?"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from harness.law.estimate import bins, estimate, numbers
from harness.law.estimate.bins import Bins
from harness.law.estimate.rival_forms import STEP_FORMS
from harness.law.io.clean import Points
from harness.law.result_parts import Rival
from harness.law.results import Floats

FEWEST_BINS = 8
PARAMETERS = {
    "law": 3, "linear_in_h": 3, "log_1_plus_h": 3, "saturating": 4, "sigmoid": 5, "last_value": 2
}  # fmt: skip
"""Number of parameters of each model, including the residual variance, in the order of law.json."""
LEAST_WORTH = max(PARAMETERS.values()) + 2.0
"""Lower limit of the effective number of bins, below which the AICc penalty of the largest model is
undefined."""
TELLS_APART = 6.0
"""Difference in AICc below which neither of two models counts as better. The customary 2 prefers
the wrong one in up to a fifth of short runs (benchmarks/coverage.md)."""
EARLIEST = 1e-6
"""Smallest time of a bin as a share of the run, because curves in the step take its logarithm."""
LARGEST_LAG1 = 0.8
"""Upper limit of the lag-1 correlation of binned residuals, whose estimate is noisy."""


def compare(points: Points) -> dict[str, Rival] | None:
    """Score the law and every rival on the same points: model -> scores.

    AICc (Hurvich and Tsai 1989) is computed on time-binned means with their effective number. That
    comes from the residuals of the best model, so that a poor law does not hide its rivals. None
    if there are too few points.
    """
    n = len(points)
    if n < 2 * FEWEST_BINS:
        return None
    binned = bins.for_fit(n)
    count, time, reward = len(binned), _time(points, binned), binned.means(points.reward)
    by_entropy = _entropy_forms(binned.means(points.entropy))
    residuals = _model_residuals(by_entropy, time, reward, count)
    late_residuals = _model_residuals(by_entropy, time, reward, 2 * count // 3)
    tau = _tau(
        min((residuals[name] for name in PARAMETERS), key=lambda values: float(values @ values))
    )
    n_eff = max(count / tau, LEAST_WORTH)
    scores = {name: _aicc(residuals[name], PARAMETERS[name], n_eff) for name in PARAMETERS}
    return {
        name: Rival(
            aicc=score,
            delta_aicc=score - scores["law"],
            out_of_time_rmse=math.sqrt(numbers.mean(late_residuals[name][2 * count // 3 :] ** 2)),
        )
        for name, score in scores.items()
    }


def against_linear(rival_scores: Mapping[str, Rival] | None) -> str | None:
    """Return law_better, linear_better or not_distinguishable; None if `rival_scores` is None."""
    if rival_scores is None:
        return None
    linear_delta = rival_scores["linear_in_h"].delta_aicc
    if abs(linear_delta) < TELLS_APART:
        return "not_distinguishable"
    return "law_better" if linear_delta > 0 else "linear_better"


def _time(points: Points, binned: Bins) -> Floats:
    """Return the mean step of each bin as a share of the run, in (0, 1]. Shape (bins,)."""
    first, last = points.steps[0], points.steps[-1]
    share = binned.means((points.steps - first) / (last - first))
    return np.maximum(share, EARLIEST)


def _entropy_forms(h: Floats) -> dict[str, Floats]:
    return {
        "law": np.exp(h),
        "linear_in_h": h,
        "log_1_plus_h": np.log1p(h),
    }


def _model_residuals(
    by_entropy: Mapping[str, Floats], time: Floats, reward: Floats, fitted: int
) -> dict[str, Floats]:
    """Return model -> residuals of all bins, shape (bins,), fitted to the first `fitted` bins.

    The model `last_value` is the mean if all bins are fitted, else the last fitted bin.
    """
    by_step = {name: form(time, reward, fitted) for name, form in STEP_FORMS.items()}
    forms = {**by_entropy, **by_step}
    residuals = dict(
        zip(forms, _residuals(np.stack(list(forms.values())), reward, fitted), strict=True)
    )
    level = numbers.mean(reward) if fitted == len(reward) else reward[fitted - 1]
    return {**residuals, "last_value": reward - level}


def _residuals(forms: Floats, reward: Floats, fitted: int) -> Floats:
    """Return the residuals of least squares of the reward on each form. Shape (forms, bins)."""
    level, form_means = numbers.mean(reward[:fitted]), numbers.row_means(forms[:, :fitted])
    centred = forms - form_means
    fitted_part = centred[:, :fitted]
    power = np.einsum("fk,fk->f", fitted_part, fitted_part)
    varies = power > 1e-12 * fitted * np.maximum(form_means[:, 0] ** 2, 1.0)
    slope = np.where(
        varies, fitted_part @ (reward[:fitted] - level) / np.where(varies, power, 1.0), 0.0
    )
    residuals: Floats = reward - level - slope[:, None] * centred
    return residuals


def _tau(residuals: Floats) -> float:
    rho = min(estimate.lag1(residuals), LARGEST_LAG1)
    return (1 + rho) / (1 - rho)


def _aicc(residuals: Floats, parameters: int, n_eff: float) -> float:
    variance = max(float(residuals @ residuals) / len(residuals), 1e-12)
    penalty = 2 * parameters * n_eff / (n_eff - parameters - 1)
    return n_eff * float(np.log(variance)) + penalty
