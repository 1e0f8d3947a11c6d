"""law.csv: one row a run, every interval in three columns."""

from __future__ import annotations

from typing import Any

from harness.law.group_results import Analysis
from harness.law.results import Bounded, Interval, Onset, RunResult
from harness.report.tables import csv_cells, dropped_rows
from harness.report.text import naming

COLUMNS = (
    "run", "level", "seed", "status", "error", "message", "n_valid", "dropped", "reward",
    "entropy", "n_eff", "verdict", "reasons", "regime", "a", "a_low", "a_high", "a_identified",
    "b", "b_low", "b_high", "ceiling", "ceiling_low", "ceiling_high", "ceiling_identified",
    "cov_ab", "reliability", "out_of_time_skill", "intervened", "ols_a", "ols_b", "ols_r2",
    "onset_kind", "onset", "onset_low", "onset_high", "gain", "gain_low", "gain_high",
    "null_share", "null_share_low", "null_share_high", "noise_driven", "net_fall", "net_fall_low",
    "net_fall_high", "net_gain", "net_gain_low", "net_gain_high", "silent_share",
    "silent_share_low", "silent_share_high", "reward_left", "reward_left_low", "reward_left_high",
    "onset_probe_kind", "onset_probe", "onset_probe_low", "onset_probe_high",
    "reliability_from_se", "same_batch", "against_linear", "forecast", "forecast_low",
    "forecast_high", "forecast_identified", "forecast_truth", "forecast_last_value",
    "unfinished", "checksums",
)  # fmt: skip
PLAIN = (
    "run", "seed", "status", "n_valid", "reward", "entropy", "n_eff", "verdict", "regime",
    "cov_ab", "reliability", "out_of_time_skill", "intervened", "noise_driven",
    "reliability_from_se", "same_batch", "against_linear", "checksums",
)  # fmt: skip
FORECAST = {
    "value": "forecast", "low": "forecast_low", "high": "forecast_high",
    "identified": "forecast_identified", "truth": "forecast_truth",
    "last_value": "forecast_last_value",
}  # fmt: skip
"""Field of RunResult.forecast -> column."""


def law_csv(analysis: Analysis) -> str:
    """The runs of law.json as CSV; `dropped` counts all rows left out."""
    return csv_cells.table(COLUMNS, (_row(analysis, run) for run in analysis.runs))


def _row(analysis: Analysis, run: RunResult) -> dict[str, Any]:
    known, net = run.identified, run.net_of_null
    return {
        **{name: getattr(run, name) for name in PLAIN},
        "level": naming.level_of(analysis, run) if run.run in analysis.series else run.level,
        "error": run.error.kind if run.error else None,
        "message": run.error.message if run.error else None,
        "unfinished": dropped_rows.standing(run) if run.unfinished is not None else None,
        "dropped": sum(run.dropped.values()),
        "reasons": " ".join(run.reasons or ()) or None,
        **_interval("a", run.a),
        "a_identified": known.a if known else None,
        **_interval("b", run.b),
        **_interval("ceiling", run.ceiling),
        "ceiling_identified": known.ceiling if known else None,
        **{f"ols_{name}": getattr(run.ols, name, None) for name in ("a", "b", "r2")},
        **_onset("onset", run.onset),
        **_onset("onset_probe", run.onset_probe),
        **_interval("gain", run.gain),
        **_interval("null_share", run.null_share),
        **{column: getattr(run.forecast, key, None) for key, column in FORECAST.items()},
        **_interval("net_fall", net.fall if net else None),
        **_interval("net_gain", net.gain if net else None),
        **_interval("silent_share", run.silent_share),
        **_interval("reward_left", run.at_onset.reward_left if run.at_onset else None),
    }


def _onset(name: str, given: Onset | None) -> dict[str, Any]:
    if given is None:
        return {name: None}
    where = Interval(given.step, given.low, given.high)
    return {f"{name}_kind": given.kind, **_interval(name, where)}


def _interval(name: str, given: Interval | Bounded | None) -> dict[str, float | None]:
    if given is None:
        return {name: None}
    return {name: given.value, f"{name}_low": given.low, f"{name}_high": given.high}
