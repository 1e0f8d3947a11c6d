"""Find stages of a curriculum: parts of a run in which it trained with the same mix of users.

When users become harder, R drops while H continues to fall, so one line through all stages has the
wrong slope or even the wrong sign (Simpson 1951). The law can still hold within each stage.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.config.run import LEVELS
from harness.law.estimate import interval, numbers
from harness.law.io.clean import FEWEST_POINTS
from harness.law.results import Floats

COLUMNS = (*(f"curriculum/level_share/{name}" for name in LEVELS), "curriculum/replies_before")
"""Columns that describe the users of a row: shares of levels among its conversations, and a number
of replies."""
SAME = 0.05
"""Largest difference of a column within one stage."""
LEAP = 0.2
"""Smallest difference between neighbouring stages, which excludes a slow drift."""
COVERED = 0.8
"""Share of the rows that must lie in stages."""
WINDOW = 5
"""Window of the running median that removes single deviating rows."""
RUN_DF = 7.0
"""Degrees of freedom of the error of one stage: a jackknife over eight time blocks."""
ONE_LAW_P = 0.01
SAME_A_P = 0.05


@dataclass(frozen=True)
class Stage:
    """A part of a run with the same mix of users, from its first to its last step inclusive."""

    first: float
    last: float
    users: Mapping[str, float]
    """Column of COLUMNS -> its mean over the stage."""


@dataclass(frozen=True)
class UserStages:
    """How the users of a run changed while it trained."""

    stages: tuple[Stage, ...] = ()
    """Empty, or at least two stages."""
    mixed: bool = False
    """Whether the users changed without distinct stages."""


CONSTANT = UserStages()


def find_stages(steps: Floats, columns: Mapping[str, Floats]) -> UserStages:
    """Find the stages in COLUMNS. Missing values are NaN; `steps` ascend; shapes (rows,)."""
    measured = {name: values for name, values in columns.items() if np.isfinite(values).any()}
    values = np.array(list(measured.values())).reshape(len(measured), len(steps))
    complete = np.isfinite(values).all(axis=0)
    steps, values = steps[complete], values[:, complete]
    if not measured or len(steps) < 2 * FEWEST_POINTS or not np.ptp(values, axis=1).any():
        return CONSTANT
    calm = np.array([_without_lone_rows(column) for column in values])
    if np.ptp(calm, axis=1).max() <= SAME:
        return CONSTANT
    stretches = [part for part in _stretches(calm) if part[1] - part[0] >= FEWEST_POINTS]
    merged = _merge(stretches, calm)
    covered = sum(end - start for start, end in merged)
    leaps = [_distance(calm, before, after) >= LEAP for before, after in itertools.pairwise(merged)]
    if covered < COVERED * len(steps) or not all(leaps):
        return UserStages(mixed=True)
    if len(merged) < 2:
        return CONSTANT
    means = [numbers.row_means(values[:, start:end])[:, 0].tolist() for start, end in merged]
    return UserStages(
        tuple(
            Stage(
                float(steps[start]), float(steps[end - 1]), dict(zip(measured, mean, strict=True))
            )
            for (start, end), mean in zip(merged, means, strict=True)
        )
    )


def is_one_law(residuals: Sequence[Floats]) -> bool:
    """Return whether the residuals of one law have the same mean in all stages.

    The test is a chi-square of the stage means with AR(1) errors, at the level ONE_LAW_P. It is
    conservative, because the fitted line absorbs part of the differences. Each stage needs at
    least five residuals.
    """
    q = 0.0
    for stage_residuals in residuals:
        noise = interval.measure_noise(stage_residuals)
        error = noise.half_width(len(stage_residuals)) / noise.t
        q += (numbers.mean(stage_residuals) / error) ** 2 if error > 0 else 0.0
    return bool(special.chdtrc(len(residuals) - 1, q) >= ONE_LAW_P)


def p_of_one_number(values: Floats, errors: Floats) -> float | None:
    """Return the p of the hypothesis that all values estimate one number.

    Welch's (1951) F: Cochran's Q, corrected because the errors are estimates too. None below two
    values, or if an error is 0.
    """
    k = len(values)
    if k < 2 or not (errors > 0).all():
        return None
    weights = errors**-2.0
    shares = weights / weights.sum()
    q = float(weights @ (values - shares @ values) ** 2)
    estimated = float(((1 - shares) ** 2).sum()) / RUN_DF
    f = q / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * estimated)
    return float(special.fdtrc(k - 1, (k**2 - 1) / (3 * estimated), f))


def _without_lone_rows(values: Floats) -> Floats:
    half = WINDOW // 2
    padded = np.concatenate((values[:1].repeat(half), values, values[-1:].repeat(half)))
    return numbers.running_median(padded, WINDOW)


def _stretches(calm: Floats) -> list[tuple[int, int]]:
    """Split into stretches (first row, row after the last) that stay close to their first row."""
    rows = calm.T.tolist()
    starts, first = [0], rows[0]
    for index, row in enumerate(rows):
        if any(
            abs(value - first_value) > SAME for value, first_value in zip(row, first, strict=True)
        ):
            starts.append(index)
            first = row
    return list(itertools.pairwise((*starts, len(rows))))


def _merge(stretches: Sequence[tuple[int, int]], calm: Floats) -> list[tuple[int, int]]:
    """Merge neighbouring stretches with the same users, including the rows between them."""
    merged: list[tuple[int, int]] = []
    for stretch in stretches:
        if merged and _distance(calm, merged[-1], stretch) <= SAME / 2:
            merged[-1] = (merged[-1][0], stretch[1])
        else:
            merged.append(stretch)
    return merged


def _distance(calm: Floats, stretch: tuple[int, int], other: tuple[int, int]) -> float:
    """Return the largest difference of two stretches' means over the columns."""
    first, second = (numbers.row_means(calm[:, start:end]) for start, end in (stretch, other))
    return float(np.abs(first - second).max())
