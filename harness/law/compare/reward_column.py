"""Which reward the runs of a group are pooled on, and their numbers on it.

Each run takes eval/reward where it has enough of it. A mean over runs of two columns would be of
neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.law.io.clean import FEWEST_POINTS
from harness.law.io.column_choice import EVALUATION
from harness.law.results import Interval, RunResult

NONE_SHARED = "no mean of a, ceiling and gain: the runs have no reward column in common ({columns})"


def points(run: RunResult) -> dict[str, int]:
    """Column that the law was fitted on -> how many points."""
    own = {run.reward: run.n_valid or 0} if run.reward is not None else {}
    return own | {column: law["n_valid"] for column, law in (run.fits or {}).items()}


def common(runs: Sequence[RunResult]) -> str | None:
    """The column of all runs; where they differ the one with points enough in each of them, of two
    such the evaluation. None where there is none, or no run.
    """
    headlines = {run.reward for run in runs}
    if len(headlines) == 1:
        return headlines.pop()
    held = [points(run) for run in runs]
    shared = [c for c in held[0] if all(c in one for one in held)] if held else []
    fewest = {c: min(FEWEST_POINTS, *(one[c] for one in held)) for c in shared}
    return max(shared, key=lambda c: (fewest[c], c == EVALUATION), default=None)


def why_none(runs: Sequence[RunResult]) -> str | None:
    """The sentence where runs share no column; None where they do, or there are none."""
    if not runs or common(runs) is not None:
        return None
    columns = sorted({run.reward or "" for run in runs})
    return NONE_SHARED.format(columns=" and ".join(columns))


def number(run: RunResult, quantity: str, column: str | None) -> Interval | None:
    """a, ceiling or gain of a run on `column`; None where it was not fitted there."""
    if column is not None and column == run.reward:
        own: Interval | None = getattr(run, quantity)
        return own
    law: Mapping[str, Mapping[str, float] | None] = (run.fits or {}).get(column or "", {})
    given = law.get(quantity)
    return Interval(**given) if given else None
