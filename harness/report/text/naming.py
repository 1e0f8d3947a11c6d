"""Names and order of runs and levels in tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from harness.config.run import LEVELS
from harness.law.group_results import Analysis
from harness.law.results import RunResult

UNREADABLE = "not read"
UNFINISHED = ", unfinished"


def level_of(analysis: Analysis, run: RunResult) -> str:
    """Return the panel that a run belongs to."""
    series = analysis.series.get(run.run)
    return series.level if series is not None else UNREADABLE


def by_level(analysis: Analysis, runs: Iterable[RunResult]) -> dict[str, list[RunResult]]:
    """Return the runs of each level, in the order of the panels.

    First easy, medium and hard; then these with each remedy; then all of these as null controls;
    then the others.
    """
    levels: dict[str, list[RunResult]] = {}
    for run in runs:
        levels.setdefault(level_of(analysis, run), []).append(run)
    return {level: levels[level] for level in sorted(levels, key=_level_rank)}


def _level_rank(panel: str) -> tuple[bool, bool, str, int, str]:
    level, *variants = panel.split(", ")
    is_named, null_control = level in LEVELS, variants[-1:] == ["null control"]
    remedies = ", ".join(variants[:-1] if null_control else variants)
    return not is_named, null_control, remedies, LEVELS.index(level) if is_named else 0, panel


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the shortest endings of the paths that differ from each other.

    All have the same number of parts: `0-easy-seed1`, or `pilot/0-easy-seed1` if another sweep has
    a run of that name.
    """
    parts = [PurePath(path).parts or (path,) for path in paths]
    deepest = max(map(len, parts), default=1)
    tails = ([str(PurePath(*part[-depth:])) for part in parts] for depth in range(1, deepest + 1))
    unique = next((names for names in tails if len(set(names)) == len(set(paths))), paths)
    return dict(zip(paths, unique, strict=True))


def names(analysis: Analysis) -> dict[str, str]:
    """Return run path -> the run's name in tables."""
    return short_names([run.run for run in analysis.runs])


def legends(analysis: Analysis, runs: Sequence[RunResult]) -> dict[str, str]:
    """Return run path -> legend entry: the seed if level and seed identify all runs, else the name.

    Runs with the same seed then share an entry and a colour across levels.
    """
    seeds = {r.run: analysis.series[r.run].seed for r in runs}
    points = Counter((level_of(analysis, r), seeds[r.run]) for r in runs)
    marks = {r.run: UNFINISHED if r.unfinished is not None else "" for r in runs}
    if None not in seeds.values() and max(points.values(), default=0) <= 1:
        return {run: f"seed {seed}{marks[run]}" for run, seed in seeds.items()}
    run_names = names(analysis)
    return {r.run: f"{run_names[r.run]}{marks[r.run]}" for r in runs}
