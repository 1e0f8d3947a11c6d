"""Steps at which a run's budget, and its H, come to stay below a share of what they were."""

from __future__ import annotations

import numpy as np

from harness.law.onset import Course, settles

SHARES_PERCENT = (50, 20, 10, 5)


def landmarks(run: Course | None, law_break: float | None) -> dict[str, float | None]:
    """headroom_P and entropy_P: the step from which no more than P% is left; None if none is.

    Headroom is exp(H) - 1, the reward still to be won under the law; law_break is the step at
    which the law ends, if it does.
    """
    marks: dict[str, float | None] = {}
    for percent in SHARES_PERCENT:
        share = percent / 100
        marks[f"headroom_{percent}"] = settles(run.steps, run.headroom, share) if run else None
    for percent in SHARES_PERCENT:
        marks[f"entropy_{percent}"] = _entropy_below(run, percent / 100) if run else None
    return {**marks, "law_break": law_break}


def _entropy_below(run: Course, share: float) -> float | None:
    return settles(run.steps, run.log_h, run.log_start + float(np.log(share)))
