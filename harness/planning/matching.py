"""Find the requested levels among the runs of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.config.typed_value import typed_value
from harness.errors import ConfigError, DataError
from harness.planning import pilot_runs, reading, settings
from harness.planning.exclusions import SHOWN, ExcludedRun
from harness.planning.pilot import Pilot
from harness.planning.pilot_runs import Candidate, UnusableRun
from harness.planning.settings import EVERY, STEPS, RequestedLevels


def match_pilot(
    path: Path, words: Sequence[str], typed: frozenset[str]
) -> tuple[RequestedLevels, Pilot]:
    """Return the levels that `words` define on top of the pilot's settings, and their pilot.

    Raise ConfigError if the pilot lacks these levels or settings, DataError if it has no finished
    run.
    """
    candidates, others = pilot_runs.find_runs(path)
    if not candidates:
        rule = "a plan needs finished runs with a config and a seed, found none"
        raise DataError(f"{path}: {rule}{_list_unusable(others)}")
    requested = settings.parse_levels(words)  # raise for invalid words before reading the pilot
    template = _nearest(candidates, requested)
    requested = settings.parse_levels(words, settings.words_of(template.config, typed))
    runs_by_level = []
    for name, config in zip(requested.names, requested.flat, strict=True):
        matching = [
            run for run in candidates if not settings.differing_settings(run.config, config)
        ]
        unusable = [
            run
            for run in others
            if run.config and not settings.differing_settings(run.config, config)
        ]
        if unusable and not matching:
            rule = f"a plan needs finished runs of {name}, found none"
            raise DataError(f"{path}: {rule}{_list_unusable(unusable)}")
        if not matching:
            nearest = min(
                candidates, key=lambda run: len(settings.differing_settings(run.config, config))
            )
            key = settings.differing_settings(nearest.config, config)[0]
            raise ConfigError(
                f"--from: must hold finished runs of {name}; the nearest in {path} have "
                f"{key}={typed_value(nearest.config.get(key))} where "
                f"{typed_value(config.get(key))} is asked for"
                f"{_list_unusable([run for run in others if run.config is None and run.ours])}"
            )
        runs_by_level.append(matching)
    _check_sizes(path, runs_by_level, requested)
    pilot = reading.read(str(path), runs_by_level)
    return requested, replace(pilot, left_out=(*pilot.left_out, *_excluded_runs(others, requested)))


def _list_unusable(others: Sequence[UnusableRun]) -> str:
    """Return the first few unusable runs with reasons, for an error message."""
    reasons = "; ".join(f"{run.run}: {run.why}" for run in others[:SHOWN])
    more_text = f"; and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f" ({reasons}{more_text})" if reasons else ""


def _excluded_runs(others: Sequence[UnusableRun], requested: RequestedLevels) -> list[ExcludedRun]:
    """Return the runs that are, or may be, of the requested levels. Settings of the latter cannot
    be read.
    """
    levels = requested.flat
    excluded = []
    for run in others:
        if run.config is None and run.ours:
            excluded.append(ExcludedRun(run.run, run.why, None, run.failed))
        for index, config in enumerate(levels):
            if run.config is not None and not settings.differing_settings(run.config, config):
                excluded.append(ExcludedRun(run.run, run.why, index, run.failed))
    return excluded


def _nearest(candidates: Sequence[Candidate], requested: RequestedLevels) -> Candidate:
    """Return the run whose axes are closest to one of the levels, as a source of other settings."""
    levels = requested.flat

    def distance(candidate: Candidate) -> tuple[int, bool]:
        swept = [
            [candidate.config.get(a) != level.get(a) for a in requested.axes] for level in levels
        ]
        return min(map(sum, swept)), bool(candidate.config["algorithm.null_control"])

    return min(candidates, key=distance)


def _check_sizes(
    path: Path, runs_by_level: Sequence[Sequence[Candidate]], requested: RequestedLevels
) -> None:
    """Raise ConfigError if the pilot's runs differ in size or do not have the typed sizes."""
    runs = [run for level in runs_by_level for run in level]
    for key in settings.SIZES:
        values = {run.config.get(key) for run in runs}
        if len(values) > 1:
            values_text = ", ".join(map(str, sorted(values, key=str)))
            raise ConfigError(
                f"--from: the runs must have one {key}, those of {path} have {values_text}"
            )
    steps, longest = requested.configs[0].trainer.steps, int(runs[0].config[STEPS])
    if STEPS in requested.typed and steps > longest:
        rule = f"must hold runs of {STEPS}={steps} or more, as asked for"
        raise ConfigError(f"--from: {rule}; those of {path} have {longest}")
    eval_every = requested.flat[0].get(EVERY)
    if EVERY in requested.typed and eval_every != runs[0].config.get(EVERY):
        rule = f"must hold runs with {EVERY}={eval_every}, as asked for"
        raise ConfigError(f"--from: {rule}; those of {path} have {runs[0].config.get(EVERY)}")
