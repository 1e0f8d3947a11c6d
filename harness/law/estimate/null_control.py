"""Compare runs with their null controls: how much of the fall of H needs no reward signal.

A null control permutes the advantages inside each group, so its updates are as large but carry no
signal. Only the numbers of this module make a run's row depend on another run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.law.estimate import interval, regime, spikes
from harness.law.estimate.interval import half_width
from harness.law.io import columns
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.io.identity import FolderIdentity
from harness.law.results import Floats, Interval, NetOfNull, RunResult, RunSeries

NOISE_DRIVEN = 0.5
"""A run is noise-driven if its null control explains more than this share of its fall of H: the
interval of the share must lie above it."""


@dataclass(frozen=True)
class NullComparison:
    """A run compared with its null controls, over the steps that all ran."""

    null_share: Interval | None
    """Fall of H of the null control / of the run; None if the run's fall is within its error."""
    fall: Interval | None
    """Fall of H of the run minus that of the null control, nats."""
    gain: Interval | None
    """Gain of R of the run minus that of the null control; None if their reward columns differ."""


def add_null_comparison(
    results: Sequence[RunResult],
    nulls: Mapping[str, Sequence[RunResult]],
    series: Mapping[str, RunSeries],
) -> tuple[RunResult, ...]:
    """Fill in the comparison with null controls for each run in `nulls` (see `null_controls`).

    The fields are null_share, noise_driven and net_of_null; `noise_driven` is also added to the
    reasons.
    """
    return tuple(
        _fill_in(run, net_of_null(run, nulls[run.run], series)) if run.run in nulls else run
        for run in results
    )


def null_controls(
    results: Sequence[RunResult],
    identities: Mapping[str, FolderIdentity],
    pool_unlike: bool,
    unfinished: Collection[str] = (),
) -> dict[str, tuple[RunResult, ...]]:
    """Map each run to its null controls: those of its seed, or else those of all other seeds.

    Config and, unless `pool_unlike`, measurement card must be equal. An `unfinished` null control
    is used only for unfinished runs.
    """
    fitted = [r for r in results if r.status == "ok" and identities[r.run].config is not None]
    nulls: dict[str, list[RunResult]] = {}
    for run in fitted:
        if identities[run.run].null_control:
            nulls.setdefault(_signal_free_key(identities[run.run], pool_unlike), []).append(run)
    by_run = {}
    for run in fitted:
        candidates = nulls.get(_signal_free_key(identities[run.run], pool_unlike), [])
        usable = [
            null for null in candidates if null.run not in unfinished or run.run in unfinished
        ]
        same_seed = [
            null for null in usable if identities[null.run].seed == identities[run.run].seed
        ]
        if usable and not identities[run.run].null_control:
            by_run[run.run] = tuple(same_seed or usable)
    return by_run


def nulls_of_own_seed(
    nulls: Mapping[str, Sequence[RunResult]], identities: Mapping[str, FolderIdentity]
) -> dict[str, tuple[str, ...]]:
    """Map each run to its null controls of the same seed, possibly none.

    A null control of another seed may be used for several runs. Their differences from it share
    its noise, so they are no replicates.
    """
    return {
        run: tuple(
            null.run
            for null in controls
            if identities[null.run].seed == identities[run].seed is not None
        )
        for run, controls in nulls.items()
    }


def net_of_null(
    run: RunResult, nulls: Sequence[RunResult], series: Mapping[str, RunSeries]
) -> NullComparison:
    """Subtract the mean of the null controls (at least one) from the run.

    The intervals cover the errors of both measurements. They do not cover the spread of null
    controls over seeds, which shows in the spread of these numbers over the runs of a group.
    """
    until = min(float(series[r.run].course_steps[-1]) for r in (run, *nulls))
    run_fall, *null_falls = (_fall_until(series[r.run], until) for r in (run, *nulls))
    mean_null_fall = _mean(null_falls)
    points, *null_points = (_points(series[r.run]) for r in (run, *nulls))
    exact = columns.is_evaluation(run.reward or "")
    same_column = all(null.reward == run.reward for null in nulls)
    return NullComparison(
        null_share=share(mean_null_fall, run_fall) if run_fall and mean_null_fall else None,
        fall=minus_nulls(run_fall, null_falls),
        gain=gain_minus_nulls(points, null_points, until, exact) if same_column else None,
    )


def gain_minus_nulls(
    run: Points, nulls: Sequence[Points], until: float, exact_start: bool = False
) -> Interval | None:
    """Return the gain of R of a run minus the mean gain of its null controls, up to `until`."""
    inside = [points.where(points.steps <= until) for points in (run, *nulls)]
    gain, *null_gains = (regime.gain(points, exact_start) for points in inside)
    return minus_nulls(gain, null_gains)


def minus_nulls(
    run_value: Interval | None, null_values: Sequence[Interval | None]
) -> Interval | None:
    """Return a number of a run minus the mean of its null controls; None if any is None."""
    null_mean = _mean(null_values)
    return _minus(run_value, null_mean) if run_value and null_mean else None


def _fall_until(series: RunSeries, until: float) -> Interval | None:
    return fall(series.course_entropy[series.course_steps <= until])


def fall(entropy: Floats, exact_start: bool = False) -> Interval | None:
    """Return the mean of the first 2% of H minus that of the last 10%, in nats.

    `entropy` has shape (steps,). Each mean uses at least three values, and spikes are clipped. The
    95% interval estimates the noise at either end from the nearest fifth of the run. None below 16
    steps. `exact_start`: use the first value alone as the start, without noise.
    """
    h = spikes.without_spikes(entropy)
    n = len(h)
    if n < FEWEST_POINTS:
        return None
    edge, last = max(FEWEST_POINTS, n // 5), max(3, n // 10)
    first = 1 if exact_start else max(3, n // 50)
    start_half = 0.0 if exact_start else interval.measure_noise(h[:edge], 1).half_width(first)
    half = float(np.hypot(start_half, interval.measure_noise(h[-edge:], 1).half_width(last)))
    return _interval(float(h[:first].mean() - h[-last:].mean()), half)


def _points(series: RunSeries) -> Points:
    return Points(series.steps, series.entropy, series.reward)


def _mean(values: Sequence[Interval | None]) -> Interval | None:
    """Return the mean of the values; None if one of them is None."""
    measured = [value for value in values if value is not None]
    if len(measured) < len(values):
        return None
    halves = np.array([half_width(value) for value in measured])
    return _interval(
        float(np.mean([value.value for value in measured])),
        float(np.linalg.norm(halves)) / len(measured),
    )


def _minus(first: Interval, second: Interval) -> Interval:
    half = float(np.hypot(half_width(first), half_width(second)))
    return _interval(first.value - second.value, half)


def share(part: Interval, whole: Interval, common: float = 0.0) -> Interval | None:
    """Return part / whole with an interval by Fieller (1954); None if the interval of `whole`
    reaches 0.

    `common`: their covariance, in units of squared half-widths; 0 if they are independent.
    """
    if whole.low <= 0:
        return None
    ratio, scale = part.value / whole.value, 1 - (half_width(whole) / whole.value) ** 2
    shift = common / whole.value**2
    square = half_width(part) ** 2 * scale + (ratio * half_width(whole)) ** 2
    square += common * (shift - 2 * ratio)
    half = np.sqrt(max(0.0, square)) / whole.value
    return Interval(ratio, float(ratio - shift - half) / scale, float(ratio - shift + half) / scale)


def is_noise_driven(null_share: Interval) -> bool:
    """Return whether the whole interval of the share lies above NOISE_DRIVEN."""
    return null_share.low > NOISE_DRIVEN


def _interval(value: float, half: float) -> Interval:
    return Interval(value, value - half, value + half)


def _fill_in(run: RunResult, comparison: NullComparison) -> RunResult:
    is_driven = None if comparison.null_share is None else is_noise_driven(comparison.null_share)
    reasons = [*(run.reasons or ()), *(["noise_driven"] if is_driven else [])]
    net = NetOfNull(comparison.fall, comparison.gain)
    return replace(
        run,
        null_share=comparison.null_share,
        noise_driven=is_driven,
        net_of_null=net,
        reasons=reasons,
    )


def _signal_free_key(identity: FolderIdentity, pool_unlike: bool) -> str:
    """Return a key that a run and its null controls share: the config without seed and
    null_control, and the measurement card unless `pool_unlike`.
    """
    config = {key: value for key, value in (identity.full_config or {}).items() if key != "seed"}
    algorithm = config.get("algorithm")
    if isinstance(algorithm, dict):
        config["algorithm"] = {
            name: setting for name, setting in algorithm.items() if name != "null_control"
        }
    card = {} if pool_unlike else identity.measurement
    return json.dumps([config, card], sort_keys=True)
