"""Sentences on the rivals of the law and on its forecasts."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from harness.law.estimate.forecast import END
from harness.law.estimate.rivals import TELLS_APART
from harness.law.group_results import Analysis
from harness.law.result_parts import Forecast
from harness.law.results import RunResult
from harness.report.text import wording
from harness.report.text.wording import number, plural

RIVALS = {
    "linear_in_h": "linear in H",
    "log_1_plus_h": "log(1 + H)",
    "saturating": "saturating in step",
    "sigmoid": "sigmoid in step",
    "last_value": "last value",
}
AGAINST_LINEAR = {
    "law_better": "law fits better than linear in H",
    "linear_better": "linear in H fits better than the law",
    "not_distinguishable": "not distinguishable from linear in H",
    "wrong_sign": "exp(H) with the wrong sign fits better than linear in H",
}
MOST_LINES = 24
"""If more runs have forecasts, only the total is given."""


def rivals(run: RunResult) -> str:
    """Return each rival's AICc above the law's and the conclusion; empty if no rival was fitted."""
    if not run.rivals:
        return ""
    rivals_text = ", ".join(
        f"{words} {run.rivals[name].delta_aicc:+.1f} / "
        f"{number(run.rivals[name].out_of_time_rmse, 0.001)}"
        for name, words in RIVALS.items()
        if name in run.rivals
    )
    law_error = number(run.rivals["law"].out_of_time_rmse, 0.001)
    return (
        f"Rival curves, AICc minus the law's (a difference under {TELLS_APART:g} shows nothing) / "
        f"error over the last third (law {law_error}): {rivals_text}. {_conclusion(run)}."
    )


def _conclusion(run: RunResult) -> str:
    sentence = AGAINST_LINEAR.get(_against_linear(run) or "", "not compared with linear in H")
    better = _better_rival(run)
    rival = f"; {better} fits better than the law" if better else ""
    return f"{sentence[0].upper()}{sentence[1:]}{rival}"


def _against_linear(run: RunResult) -> str | None:
    """Return the comparison with the line in H. A better curve with a < 0 is not the law."""
    is_wrong_sign = run.against_linear == "law_better" and "wrong_sign" in (run.reasons or ())
    return "wrong_sign" if is_wrong_sign else run.against_linear


def _better_rival(run: RunResult) -> str | None:
    """Return the best rival other than linear in H, or None if the law is about as good."""
    others = {name: r.delta_aicc for name, r in (run.rivals or {}).items() if name in RIVALS}
    others.pop("linear_in_h", None)
    best = min(others, key=lambda name: others[name], default=None)
    return RIVALS[best] if best is not None and others[best] <= -TELLS_APART else None


def against_linear(runs: Sequence[RunResult]) -> str:
    """Return `not distinguishable from linear in H in 2, law fits better than linear in H in 1`."""
    counts = Counter(word for word in map(_against_linear, runs) if word is not None)
    if not counts:
        return ""
    if len(runs) == 1:
        return AGAINST_LINEAR[next(iter(counts))]
    return ", ".join(
        f"{AGAINST_LINEAR[word]} {wording.in_runs(counts[word], len(runs))}"
        for word in AGAINST_LINEAR
        if counts[word]
    )


NO_INTERVAL = "no interval: H has moved so much that it may end anywhere"
"""For an identified forecast that lacks an interval; this is the only reason for that."""


def forecast(run: RunResult) -> str:
    """Compare the forecast with the measured reward. Empty if no forecast was requested."""
    prediction = run.forecast
    if prediction is None:
        return ""
    start = f"Forecast from step {prediction.from_step:.0f}"
    if not prediction.identified or prediction.value is None:
        return f"{start}: none, since a is not identified by that step."
    expected, actual = _prediction_text(prediction), _actual_reward(prediction)
    return f"{start}, if the law continues: {expected}; {actual}."


def _prediction_text(prediction: Forecast) -> str:
    value = _estimate(prediction)
    return f"R over the last {END:.0%} of steps is {value}{_interval_note(prediction)}"


def _interval_note(prediction: Forecast) -> str:
    """Say what the interval allows for; empty if there is no interval."""
    return "" if prediction.why else "; the interval allows for a spent H, or one that rises again"


def _estimate(prediction: Forecast) -> str:
    assert prediction.value is not None
    if prediction.low is None or prediction.high is None:
        return f"{number(prediction.value)} ({NO_INTERVAL})"
    return wording.estimate(prediction.value, prediction.low, prediction.high)


def _actual_reward(prediction: Forecast) -> str:
    if prediction.truth is None or prediction.error is None or prediction.last_value_error is None:
        return "the actual R was not measured"
    truth, error = number(prediction.truth), number(abs(prediction.error))
    last_error = number(abs(prediction.last_value_error))
    return f"the actual R was {truth} (error {error}; error of the last value {last_error})"


def forecasts(analysis: Analysis, run_names: Mapping[str, str]) -> list[str]:
    """Return the errors of all forecasts, then a line per run; empty if none was requested."""
    requested = [run for run in analysis.runs if run.forecast is not None]
    identified = [run for run in requested if run.forecast and run.forecast.identified]
    lines = [
        f"  {run_names[run.run]}: {_brief(run.forecast)}" for run in identified if run.forecast
    ]
    total = [_summarise(identified, len(requested))] if requested else []
    return [*total, *(lines if len(identified) <= MOST_LINES else [])]


def _brief(prediction: Forecast) -> str:
    """Return `0.82 [0.68, 0.87] from step 217; the actual R was 0.76 (error 0.06; ...)`."""
    value = _estimate(prediction)
    return f"{value} from step {prediction.from_step:.0f}; {_actual_reward(prediction)}"


def _summarise(identified: Sequence[RunResult], requested: int) -> str:
    measured = [
        run.forecast for run in identified if run.forecast and run.forecast.error is not None
    ]
    if not measured:
        return (
            f"No forecast for {plural(requested, 'run')}: a is not identified from the first part."
        )
    error = statistics.median(abs(f.error or 0.0) for f in measured)
    last_error = statistics.median(abs(f.last_value_error or 0.0) for f in measured)
    unmeasured = requested - len(measured)
    return (
        f"Forecasts of {plural(len(measured), 'run')}, if the law continues: median error "
        f"{number(error)}, that of the last value {number(last_error)}; {_coverage(measured)}"
        + (f"; no forecast for {unmeasured}, since a is not identified." if unmeasured else ".")
    )


def _coverage(measured: Sequence[Forecast]) -> str:
    """Return `2 of 3 intervals contain the actual R`."""
    intervals = [prediction for prediction in measured if prediction.why is None]
    if not intervals:
        return "no intervals, since H has moved so much that it may end anywhere"
    return (
        f"{sum(map(_contains_truth, intervals))} of {len(intervals)} intervals contain the actual R"
    )


def _contains_truth(prediction: Forecast) -> bool:
    """Return whether the interval contains the measured reward."""
    if prediction.low is None or prediction.high is None or prediction.truth is None:
        return False
    return prediction.low <= prediction.truth <= prediction.high
