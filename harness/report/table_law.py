"""law.csv: one row a run, every interval in three columns."""

from __future__ import annotations

from typing import Any

from harness.law.results import Analysis, Interval, RunResult
from harness.report import naming, table_csv

COLUMNS = (
    "run", "level", "seed", "status", "error", "message", "n_valid", "dropped", "reward",
    "entropy", "n_eff", "verdict", "reasons", "regime", "a", "a_low", "a_high", "a_identified",
    "b", "b_low", "b_high", "ceiling", "ceiling_low", "ceiling_high", "ceiling_identified",
    "cov_ab", "reliability", "out_of_time_skill", "intervened", "ols_a", "ols_b", "ols_r2",
    "onset_kind", "onset", "onset_low", "onset_high", "gain", "gain_low", "gain_high",
    "null_share", "null_share_low", "null_share_high",
)  # fmt: skip
PLAIN = (
    "run", "seed", "status", "n_valid", "reward", "entropy", "n_eff", "verdict", "regime",
    "cov_ab", "reliability", "out_of_time_skill", "intervened",
)  # fmt: skip


def law_csv(analysis: Analysis) -> str:
    """The runs of law.json as CSV; `dropped` counts all rows left out."""
    return table_csv.table(COLUMNS, (_row(analysis, run) for run in analysis.runs))


def _row(analysis: Analysis, run: RunResult) -> dict[str, Any]:
    known, onset = run.identified or {}, run.onset
    return {
        **{name: getattr(run, name) for name in PLAIN},
        "level": naming.level_of(analysis, run) if run.run in analysis.series else run.level,
        "error": run.error.kind if run.error else None,
        "message": run.error.message if run.error else None,
        "dropped": sum(run.dropped.values()),
        "reasons": " ".join(run.reasons or ()) or None,
        **_interval("a", run.a),
        "a_identified": known.get("a"),
        **_interval("b", run.b),
        **_interval("ceiling", run.ceiling),
        "ceiling_identified": known.get("ceiling"),
        **{f"ols_{name}": value for name, value in (run.ols or {}).items()},
        "onset_kind": onset.kind if onset else None,
        **_interval("onset", Interval(onset.step, onset.low, onset.high) if onset else None),
        **_interval("gain", run.gain),
        **_interval("null_share", run.null_share),
    }


def _interval(name: str, given: Interval | None) -> dict[str, float | None]:
    if given is None:
        return {name: None}
    return {name: given.value, f"{name}_low": given.low, f"{name}_high": given.high}
