"""Choose the reward column that several runs share, and read each run's law on it.

Each run by itself uses eval/reward if it has enough values. A mean over two different columns
would be meaningless, so several runs need a common one.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.io.clean import FEWEST_POINTS
from harness.law.io.columns import EVALUATION
from harness.law.results import Interval, RunResult

NONE_SHARED = "no mean of a, ceiling and gain: the runs share no reward column ({columns})"


def points_by_column(run: RunResult) -> dict[str, int]:
    """Return reward column with a law -> number of points."""
    headline = {run.reward: run.n_valid or 0} if run.reward is not None else {}
    return headline | {column: law.n_valid for column, law in (run.fits or {}).items()}


def common_column(runs: Sequence[RunResult]) -> str | None:
    """Return the reward column for a mean over runs; None if there is none, or no run.

    It is the runs' own column if all agree. Otherwise it is the shared column with most points,
    counted up to the number needed, with preference for eval/reward.
    """
    headlines = {run.reward for run in runs}
    if len(headlines) == 1:
        return headlines.pop()
    points_by_run = [points_by_column(run) for run in runs]
    shared = (
        [column for column in points_by_run[0] if all(column in points for points in points_by_run)]
        if points_by_run
        else []
    )
    fewest = {
        column: min(FEWEST_POINTS, *(points[column] for points in points_by_run))
        for column in shared
    }
    return max(shared, key=lambda column: (fewest[column], column == EVALUATION), default=None)


def why_no_column(runs: Sequence[RunResult]) -> str | None:
    """Return the sentence that explains why runs share no column; None if they do, or no run."""
    if not runs or common_column(runs) is not None:
        return None
    columns = sorted({run.reward or "" for run in runs})
    return NONE_SHARED.format(columns=" and ".join(columns))


def number_on(run: RunResult, quantity: str, column: str | None) -> Interval | None:
    """Return a, ceiling or gain of a run on `column`; None if it was not fitted there."""
    if column is not None and column == run.reward:
        on_headline: Interval | None = getattr(run, quantity)
        return on_headline
    law = (run.fits or {}).get(column or "")
    on_other: Interval | None = getattr(law, quantity, None)
    return on_other


def verdict_on(run: RunResult, column: str | None) -> str | None:
    """Return the verdict on `column`, or on the run's own column if `column` is None."""
    if column is None or column == run.reward:
        return run.verdict
    law = (run.fits or {}).get(column)
    return law.verdict if law is not None else None


def law_fails(run: RunResult, column: str | None) -> bool:
    """Return whether a run has no single law on `column`, and so no a and no ceiling."""
    if column is not None and column == run.reward:
        return _no_law(run.verdict, run.reasons)
    law = (run.fits or {}).get(column or "")
    return law is not None and _no_law(law.verdict, law.reasons)


def _no_law(verdict: str | None, reasons: Sequence[str] | None) -> bool:
    return verdict == "fails" or "stages" in (reasons or ())
