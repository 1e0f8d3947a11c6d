"""The CSV files of an analysis, and the conversion of any table into cells.

A text cell never starts a formula in a spreadsheet; a number remains a number.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.law.group_results import Analysis, GroupDifference
from harness.law.result_parts import CeilingOverForms, Yardsticks
from harness.law.results import BoundedEstimate, Interval, Onset, RunResult
from harness.records.outcomes import OWN
from harness.report.tables import listening, transfer
from harness.report.text import dropped_rows, naming, wording
from harness.utils.safe_text import escape

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Starts of text that spreadsheets read as a formula; the last four are the full-width = + - @."""


def cell(value: Any) -> str:
    """Return a cell. None is empty; text that a spreadsheet would run gets a leading apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(float(value)) if isinstance(value, float) else repr(value)
    text = escape(str(value))
    return f"'{text}" if str(value).lstrip(" ").startswith(FORMULA_STARTS) else text


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a header and a line per row, with an empty cell for each column that a row lacks.

    Raises ValueError for a row with a value that has no column and would be lost.
    """
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


LAW_COLUMNS = (
    "run", "level", "seed", "status", "error", "message", "n_valid", "dropped", "reward",
    "entropy", "n_fitted", "n_eff", "verdict", "reasons", "regime", "a", "a_low", "a_high",
    "a_identified", "b", "b_low", "b_high", "ceiling", "ceiling_low", "ceiling_high",
    "ceiling_identified", "ceiling_over_forms", "ceiling_over_forms_low",
    "ceiling_over_forms_high", "ceiling_beyond_nats", "ceiling_at_bound",
    "whole_run_a", "whole_run_a_low", "whole_run_a_high",
    "whole_run_ceiling", "whole_run_ceiling_low", "whole_run_ceiling_high",
    "cov_ab", "reliability", "out_of_time_skill", "intervened", "ols_a", "ols_b", "ols_r2",
    "onset_kind", "onset", "onset_low", "onset_high", "gain", "gain_low", "gain_high",
    "null_share", "null_share_low", "null_share_high", "noise_driven", "net_fall", "net_fall_low",
    "net_fall_high", "net_gain", "net_gain_low", "net_gain_high", "silent_share",
    "silent_share_low", "silent_share_high", "reward_left", "reward_left_low", "reward_left_high",
    "onset_probe_kind", "onset_probe", "onset_probe_low", "onset_probe_high",
    "reliability_from_se", "same_batch", "against_linear", "forecast", "forecast_low",
    "forecast_high", "forecast_identified", "forecast_truth", "forecast_last_value",
    "unfinished", "ended_by_rule", "checksums", "policy_verdict", "listening", "deaf_reward",
    "listening_share", "deaf_schedule", "attentive_listening",
)  # fmt: skip
LAW_PLAIN = (
    "run", "seed", "status", "n_valid", "reward", "entropy", "n_fitted", "n_eff", "verdict",
    "regime", "cov_ab", "reliability", "out_of_time_skill", "intervened", "noise_driven",
    "reliability_from_se", "same_batch", "against_linear", "ended_by_rule", "checksums",
    "policy_verdict",
)  # fmt: skip
FORECAST = {
    "value": "forecast", "low": "forecast_low", "high": "forecast_high",
    "identified": "forecast_identified", "truth": "forecast_truth",
    "last_value": "forecast_last_value",
}  # fmt: skip
"""Field of RunResult.forecast -> column."""


def law_csv(analysis: Analysis) -> str:
    """Return the runs of law.json as CSV. `dropped` is the number of all rows left out."""
    return table(LAW_COLUMNS, (_law_row(analysis, run) for run in analysis.runs))


def _law_row(analysis: Analysis, run: RunResult) -> dict[str, Any]:
    identified, net, whole_run = run.identified, run.net_of_null, run.whole_run
    return {
        **{name: getattr(run, name) for name in LAW_PLAIN},
        "level": naming.level_of(analysis, run) if run.run in analysis.series else run.level,
        "error": run.error.kind if run.error else None,
        "message": run.error.message if run.error else None,
        "unfinished": dropped_rows.status_and_step(run) if run.unfinished is not None else None,
        "dropped": sum(run.dropped.values()),
        "reasons": " ".join(run.reasons or ()) or None,
        **_interval("a", run.a),
        "a_identified": identified.a if identified else None,
        **_interval("b", run.b),
        **_interval("ceiling", run.ceiling),
        "ceiling_identified": identified.ceiling if identified else None,
        **_over_forms(run.ceiling_over_forms),
        **_interval("whole_run_a", whole_run.a if whole_run else None),
        **_interval("whole_run_ceiling", whole_run.ceiling if whole_run else None),
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
        **_yardsticks((run.yardsticks or {}).get(OWN)),
    }


def _over_forms(ceiling: CeilingOverForms | None) -> dict[str, float | bool | None]:
    if ceiling is None:
        return {}
    interval = Interval(ceiling.value, ceiling.low, ceiling.high)
    return {
        **_interval("ceiling_over_forms", interval),
        "ceiling_beyond_nats": ceiling.beyond_nats,
        "ceiling_at_bound": ceiling.at_bound,
    }


def _yardsticks(end: Yardsticks | None) -> dict[str, float | None]:
    if end is None:
        return {}
    deaf = end.anchors.deaf
    return {
        "listening": end.listening,
        "deaf_reward": end.deaf_reward,
        "listening_share": end.share,
        "deaf_schedule": deaf.value if deaf else None,
        "attentive_listening": end.anchors.attentive_listening,
    }


def listening_csv(analysis: Analysis) -> str | None:
    """Return a row per group and level, with reference policies; None if no run was measured."""
    rows = list(listening.csv_rows(analysis))
    return table(listening.COLUMNS, rows) if rows else None


def _onset(name: str, onset: Onset | None) -> dict[str, Any]:
    if onset is None:
        return {name: None}
    interval = Interval(onset.step, onset.low, onset.high)
    return {f"{name}_kind": onset.kind, **_interval(name, interval)}


def _interval(name: str, interval: Interval | BoundedEstimate | None) -> dict[str, float | None]:
    if interval is None:
        return {name: None}
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


CONTRAST_COLUMNS = (
    "group", "with", "quantity", "primary", "on", "difference", "low", "high", "p", "p_holm",
    "decision", "why", "margin", "p_equivalent", "minimum_detectable", "seeds", "seeds_with",
    "seeds_needed",
    "probe_difference", "probe_low", "probe_high", "failed", "failed_with", "remedy_inactive",
    "net_of_null_difference", "net_of_null_low", "net_of_null_high", "invalid_users",
)  # fmt: skip
CONTRAST_PLAIN = (
    "quantity", "primary", "on", "difference", "low", "high", "p", "p_holm", "decision", "why",
    "margin", "p_equivalent", "minimum_detectable", "seeds_needed",
)  # fmt: skip


def contrasts_csv(analysis: Analysis) -> str:
    """Return all contrasts, one per row."""
    return table(CONTRAST_COLUMNS, _contrast_rows(analysis))


def _contrast_rows(analysis: Analysis) -> Iterator[dict[str, Any]]:
    for group in analysis.groups:
        for c in group.contrasts:
            seeds, rates = c.seeds, c.unlike_failures or (None, None)
            yield {
                **{name: getattr(c, name) for name in CONTRAST_PLAIN},
                "group": wording.group_name(group.key),
                "with": wording.group_name(c.baseline),
                "seeds": seeds[0],
                "seeds_with": seeds[1],
                **_gap("probe", c.on_probe),
                "failed": rates[0],
                "failed_with": rates[1],
                "remedy_inactive": c.remedy_inactive,
                **_gap("net_of_null", c.net_of_null),
                "invalid_users": c.invalid_users,
            }


def _gap(name: str, gap: GroupDifference | None) -> dict[str, float | None]:
    if gap is None:
        return {}
    values = {"difference": gap.difference, "low": gap.low, "high": gap.high}
    return {f"{name}_{end}": value for end, value in values.items()}


def transfer_csv(analysis: Analysis) -> str | None:
    """Return the transfer matrix, or None if no run was evaluated at other levels."""
    rows = transfer.rows(analysis)
    return table(transfer.COLUMNS, rows) if rows else None
