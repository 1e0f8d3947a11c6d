"""Find the requested levels among the runs of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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
    every, others = pilot_runs.find_runs(path)
    if not every:
        rule = "a plan needs finished runs with a config and a seed, found none"
        raise DataError(f"{path}: {rule}{_list_unusable(others)}")
    asked = settings.parse_levels(words)  # raise for invalid words before reading the pilot
    like = _nearest(every, asked)
    asked = settings.parse_levels(words, settings.words_of(like.config, typed))
    chosen = []
    for name, config in zip(asked.names, asked.flat, strict=True):
        mine = [one for one in every if not settings.differing_settings(one.config, config)]
        lost = [
            one
            for one in others
            if one.config and not settings.differing_settings(one.config, config)
        ]
        if lost and not mine:
            rule = f"a plan needs finished runs of {name}, found none"
            raise DataError(f"{path}: {rule}{_list_unusable(lost)}")
        if not mine:
            nearest = min(
                every, key=lambda one: len(settings.differing_settings(one.config, config))
            )
            key = settings.differing_settings(nearest.config, config)[0]
            raise ConfigError(
                f"--from: must hold finished runs of {name}; the nearest in {path} have "
                f"{key}={nearest.config.get(key)} where {config.get(key)} is asked for"
                f"{_list_unusable([one for one in others if one.config is None and one.ours])}"
            )
        chosen.append(mine)
    _check_sizes(path, chosen, asked)
    found = reading.read(str(path), chosen)
    return asked, replace(found, left_out=(*found.left_out, *_unusable(others, asked)))


def _list_unusable(others: Sequence[UnusableRun]) -> str:
    """Return the first few unusable runs with reasons, for an error message."""
    told = "; ".join(f"{one.run}: {one.why}" for one in others[:SHOWN])
    more = f"; and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f" ({told}{more})" if told else ""


def _unusable(others: Sequence[UnusableRun], asked: RequestedLevels) -> list[ExcludedRun]:
    """Return the runs that are, or may be, of the requested levels. Settings of the latter cannot
    be read.
    """
    levels = asked.flat
    left = []
    for one in others:
        if one.config is None and one.ours:
            left.append(ExcludedRun(one.run, one.why, None, one.failed))
        for at, config in enumerate(levels):
            if one.config is not None and not settings.differing_settings(one.config, config):
                left.append(ExcludedRun(one.run, one.why, at, one.failed))
    return left


def _nearest(every: Sequence[Candidate], asked: RequestedLevels) -> Candidate:
    """Return the run whose axes are closest to one of the levels, as a source of other settings."""
    levels = asked.flat

    def apart(one: Candidate) -> tuple[int, bool]:
        swept = [[one.config.get(a) != level.get(a) for a in asked.axes] for level in levels]
        return min(map(sum, swept)), bool(one.config["algorithm.null_control"])

    return min(every, key=apart)


def _check_sizes(path: Path, chosen: Sequence[Sequence[Candidate]], asked: RequestedLevels) -> None:
    """Raise ConfigError if the pilot's runs differ in size or do not have the typed sizes."""
    runs = [one for level in chosen for one in level]
    for key in settings.SIZES:
        held = {one.config.get(key) for one in runs}
        if len(held) > 1:
            told = ", ".join(map(str, sorted(held, key=str)))
            raise ConfigError(f"--from: the runs must have one {key}, those of {path} have {told}")
    steps, longest = asked.configs[0].trainer.steps, int(runs[0].config[STEPS])
    if STEPS in asked.typed and steps > longest:
        rule = f"must hold runs of {STEPS}={steps} or more, as asked for"
        raise ConfigError(f"--from: {rule}; those of {path} have {longest}")
    every = asked.flat[0].get(EVERY)
    if EVERY in asked.typed and every != runs[0].config.get(EVERY):
        rule = f"must hold runs with {EVERY}={every}, as asked for"
        raise ConfigError(f"--from: {rule}; those of {path} have {runs[0].config.get(EVERY)}")
