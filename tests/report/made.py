"""Analyses made by hand, so that what is drawn and printed does not hang on an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.law.group_results import Analysis, GroupResult, SeedMean
from harness.law.population_results import (
    LawOverSeeds,
    LawShare,
    OnsetOverSeeds,
    OverSeeds,
    ParametricOnset,
    PooledRun,
    Population,
    RunOnset,
    StepShare,
)
from harness.law.result_parts import ReadProblem, SkippedPath
from harness.law.results import (
    BoundedEstimate,
    Identifiability,
    Interval,
    LeastSquares,
    Onset,
    RunResult,
    RunSeries,
)


def around(value: float, half: float) -> Interval:
    return Interval(value, value - half, value + half)


def fitted(
    run: str,
    level: str = "easy",
    seed: int | None = 1,
    a: float = 0.3,
    ceiling: float = 0.8,
    identified: bool = True,
    onset: Onset | None = None,
    n: int = 60,
    **more: Any,
) -> tuple[RunResult, RunSeries]:
    """A run that follows its law but for a ripple, from H = 1 down to 0.1."""
    entropy = np.linspace(1.0, 0.1, n)
    reward = ceiling + a - a * np.exp(entropy) + 0.01 * np.sin(np.arange(n))
    half = 0.01 if identified else 0.4
    values: dict[str, Any] = {
        "reward": "reward",
        "entropy": "entropy",
        "n_fitted": n,
        "n_eff": n / 2,
        "verdict": "holds" if identified else "undetermined",
        "reasons": [] if identified else ["identification_range"],
        "regime": "learning" if identified else "drifting",
        "a": around(a, half),
        "b": around(ceiling + a, 1.5 * half),
        "ceiling": around(ceiling, half),
        "identified": Identifiability(a=identified, ceiling=identified),
        "reliability": 0.9,
        "ols": LeastSquares(0.9 * a, ceiling + a, 0.8),
        "onset": onset,
        "level": level,
        "seed": seed,
        "gain": around(0.3, 0.05),
        "config": {"policy": {"kind": "tabular"}},
    }
    result = RunResult(run, "ok", None, n, {}, **{**values, **more})
    steps = np.arange(1.0, n + 1)
    series = RunSeries(run, run, level, seed, steps, entropy, reward, steps, entropy)
    return result, series


def unread(run: str, message: str, kind: str = "empty_input") -> RunResult:
    return RunResult(run, "error", ReadProblem(kind, message), 0, {})


def analysis(
    runs: Sequence[tuple[RunResult, RunSeries]],
    failed: Sequence[RunResult] = (),
    groups: Sequence[GroupResult] = (),
    skipped: Sequence[SkippedPath] = (),
) -> Analysis:
    return Analysis(
        runs=(*(result for result, _ in runs), *failed),
        groups=tuple(groups),
        skipped=tuple(skipped),
        series={result.run: series for result, series in runs},
    )


def group(key: Mapping[str, Any], runs: Sequence[str], ceiling: SeedMean) -> GroupResult:
    nothing = SeedMean(None, None, None, 0, len(runs))
    return GroupResult(key, runs, SeedMean(0.3, 0.28, 0.32, 3, 0), ceiling, nothing, nothing)


def population(runs: Sequence[str]) -> Population:
    """Of seeds that all follow the law and collapse, two steps apart, but for the last one."""
    onsets = [
        RunOnset(run, seed, 40.0 + 2 * seed, collapsed=run != runs[-1])
        for seed, run in enumerate(runs)
    ]
    share, seen = Interval(1.0, 0.5, 1.0), len(runs) - 1
    points = [
        StepShare(0.0, 0.0, 0.0, 0.6, len(runs)),
        *(StepShare(run.step, 0.4, 0.1, 0.9, 1) for run in onsets),
    ]
    number = OverSeeds(
        BoundedEstimate(0.8, 0.7, 0.9),
        Interval(0.02, 0.0, 0.1),
        [
            PooledRun(run, seed, around(0.8, 0.1), around(0.8, 0.05))
            for seed, run in enumerate(runs)
        ],
        None,
    )
    fit = ParametricOnset("log_normal", BoundedEstimate(42.0, 35.0, None), 0.1, None)
    return Population(
        LawOverSeeds(number, number, 0),
        LawShare(share, share, len(runs), 0, 0, None),
        OnsetOverSeeds(seen, 1, 0, 0, onsets, 60.0, share, points, fit),
    )


def ladder(levels: int = 3, seeds: int = 3) -> Analysis:
    """easy holds, medium falls at step 40, hard is not identified."""
    fall = Onset("terminal_fall", 40, 35, 45)
    kinds: list[dict[str, Any]] = [
        {"level": "easy"},
        {"level": "medium", "onset": fall, "verdict": "holds_until_onset", "regime": "collapsed"},
        {"level": "hard", "identified": False, "ceiling": 0.4, "a": 0.02},
    ]
    runs = [
        fitted(f"runs/{3 * i + seed}-{kind['level']}-seed{seed}", seed=seed, **kind)
        for i, kind in enumerate(kinds[:levels])
        for seed in range(1, seeds + 1)
    ]
    return analysis(runs)
