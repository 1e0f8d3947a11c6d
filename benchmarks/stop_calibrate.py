"""The constants of harness/stopping from runs: `benchmarks.stop_advice calibrate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, nnls

from benchmarks.stop_outcome import BIG_LOSS, MOST_BIG, MOST_LOSS, Floats, Outcome, Run
from harness.stopping import curve as curves
from harness.stopping import rule
from harness.stopping.calibration import StopRuleCalibration
from harness.stopping.curve import RewardRange

FOLDS, RESAMPLES = 8, 400
REFITS, LEAST_SPREAD = 3, 0.01
RISKS = np.arange(0.2, 0.005, -0.005).round(4)
MARGINS = (0.01, 0.02, 0.05)
PREDICTED = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0])


@dataclass(frozen=True)
class Points:
    """Every evaluation with advice of many runs, but for the last of each."""

    run: NDArray[np.intp]
    count: NDArray[np.intp]
    means: Floats
    """What the expected gain is linear in. Shape (points, 3)."""
    spreads: Floats
    """What the squared spread is linear in, before squaring. Shape (points, 3)."""
    gain: Floats
    rising: NDArray[np.bool_]


def points(runs: Sequence[Run], noise: float) -> Points:
    rows = []
    for index, run in enumerate(runs):
        for count in range(curves.FEWEST_EVALUATIONS, run.evaluations):
            reading = run.reading(count)
            means, spreads = rule.terms(reading, noise)
            rising = rule.still_rises(reading, RewardRange())
            rows.append((index, count, *means, *spreads, run.gain(count), rising))
    table = np.array(rows)
    return Points(
        table[:, 0].astype(np.intp), table[:, 1].astype(np.intp),
        table[:, 2:5], table[:, 5:8], table[:, 8], table[:, 9].astype(bool),
    )  # fmt: skip


def calibrated(runs: Sequence[Run], made: str) -> StopRuleCalibration:
    """Weights by least squares, and how forecasts came true whose weights did not see the seed."""
    last = [run.reading(run.evaluations) for run in runs]
    noise = round(float(np.sqrt(np.mean([reading.noise**2 for reading in last]))), 4)
    held = points(runs, noise)
    weights = _weights(held, np.ones(len(held.gain), bool))
    gain, spread = crossed(runs, held)
    low, high = np.quantile((held.gain - gain) / np.maximum(spread, 1e-9), (0.05, 0.95))
    observed, interval = _came_true(held, gain, spread)
    risk = _most_risk(runs, held, gain, spread)
    room, room_entropy, level = np.round(weights[0], 4).tolist()
    by_noise, by_room, fallen = np.round(weights[1], 4).tolist()
    return StopRuleCalibration(
        made, room, room_entropy, level, noise, by_noise, by_room, fallen, risk,
        (round(low, 3), round(high, 3)), PREDICTED, observed, *interval,
    )  # fmt: skip


def crossed(runs: Sequence[Run], held: Points) -> tuple[Floats, Floats]:
    """Expected gain and spread of every point by weights that did not see its seed."""
    _, seed = np.unique([run.seed for run in runs], return_inverse=True)
    fold = np.random.default_rng(0).permutation(seed.max() + 1)[seed][held.run] % FOLDS
    gain, spread = np.zeros(len(fold)), np.zeros(len(fold))
    for part in range(FOLDS):
        mean, sd = _weights(held, fold != part)
        gain[fold == part] = held.means[fold == part] @ mean
        spread[fold == part] = np.sqrt(held.spreads[fold == part] ** 2 @ sd**2)
    return gain, spread


def _weights(held: Points, rows: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Of the mean and of the spread; the mean is fitted again in units of the spread."""
    spread = np.ones(int(rows.sum()))
    for _ in range(REFITS):
        scaled = held.means[rows] / spread[:, None], held.gain[rows] / spread
        mean = np.asarray(np.linalg.lstsq(*scaled, rcond=None)[0], np.float64)
        off = held.gain[rows] - held.means[rows] @ mean
        by = held.spreads[rows] ** 2
        squared, _ = nnls(by / spread[:, None] ** 2, (off / spread) ** 2)
        spread = np.maximum(np.sqrt(by @ squared), LEAST_SPREAD)
    return mean, np.asarray(np.sqrt(squared), np.float64)


def _most_risk(runs: Sequence[Run], held: Points, gain: Floats, spread: Floats) -> float:
    """The largest that surely keeps what is promised on runs like these."""
    for most in RISKS:
        found = Outcome.of(runs, stops_at(runs, held, gain, spread, float(most)))
        if found.keeps() and found.most_big(len(runs)) <= MOST_BIG:
            return float(most)
    raise SystemExit("no risk keeps what is promised")


def stops_at(
    runs: Sequence[Run], held: Points, gain: Floats, spread: Floats, most: float
) -> list[int]:
    """The evaluation at which each run stops by a constant for the risk."""
    risk = [rule.exceeds(BIG_LOSS, g, s) for g, s in zip(gain, spread, strict=True)]
    return _first(runs, held, (gain < MOST_LOSS) & (np.array(risk) <= most) & ~held.rising)


def _first(runs: Sequence[Run], held: Points, stops: NDArray[np.bool_]) -> list[int]:
    """The evaluation at which each run stops: the first that says so, or its last."""
    found = [run.evaluations for run in runs]
    for index, count in zip(held.run[stops], held.count[stops], strict=True):
        found[index] = min(found[index], int(count))
    return found


def _came_true(held: Points, gain: Floats, spread: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
    """Share of the forecasts of each probability that came true, and its interval over runs."""
    predicted = np.concatenate(
        [[rule.exceeds(m, g, s) for g, s in zip(gain, spread, strict=True)] for m in MARGINS]
    )
    true = np.concatenate([held.gain > margin for margin in MARGINS]).astype(float)
    run = np.tile(held.run, len(MARGINS))
    rng, draws = np.random.default_rng(1), []
    for _ in range(RESAMPLES):
        weight = np.bincount(rng.integers(0, run.max() + 1, run.max() + 1), minlength=run.max() + 1)
        draws.append(_shares(predicted, true, weight[run].astype(float)))
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    return _shares(predicted, true, np.ones(len(true))), (low, high)


def _shares(predicted: Floats, true: Floats, weight: Floats) -> Floats:
    """The share that came true at each of PREDICTED, by isotonic regression."""
    used = np.flatnonzero(weight)
    order = used[np.argsort(predicted[used], kind="stable")]
    fitted = isotonic_regression(true[order], weights=weight[order]).x
    edges = (PREDICTED[1:] + PREDICTED[:-1]) / 2
    place = np.searchsorted(edges, predicted[order])
    total = np.bincount(place, weight[order], len(PREDICTED))
    share = np.bincount(place, weight[order] * fitted, len(PREDICTED)) / np.maximum(total, 1e-9)
    known = total > 0
    return np.asarray(np.interp(PREDICTED, PREDICTED[known], share[known]), np.float64)
