"""The levels asked for, found among the runs of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import ConfigError, DataError
from harness.planning import reading, settings
from harness.planning.pilot import Pilot
from harness.planning.settings import EVERY, STEPS, Asked


def from_pilot(path: Path, words: Sequence[str], typed: frozenset[str]) -> tuple[Asked, Pilot]:
    """The levels that `words` make of the pilot's settings, and the pilot of these levels.

    Raises ConfigError where the pilot has other levels or settings than those typed, DataError
    where it has no finished run.
    """
    every = reading.candidates(path)
    if not every:
        raise DataError(f"{path}: a plan needs finished runs with a config and a seed, found none")
    asked = settings.asked(words)  # what cannot be asked is refused before the pilot is looked at
    like = _nearest(every, asked)
    asked = settings.asked(words, settings.words_of(like.config, typed))
    chosen = []
    for name, config in zip(asked.names, asked.flat, strict=True):
        mine = [one for one in every if not settings.unlike(one.config, config)]
        if not mine:
            nearest = min(every, key=lambda one: len(settings.unlike(one.config, config)))
            key = settings.unlike(nearest.config, config)[0]
            raise ConfigError(
                f"--from: must hold finished runs of {name}; the nearest in {path} have "
                f"{key}={nearest.config.get(key)} where {config.get(key)} is asked for"
            )
        chosen.append(mine)
    _check_sizes(path, chosen, asked)
    return asked, reading.read(str(path), chosen)


def _nearest(every: Sequence[reading.Candidate], asked: Asked) -> reading.Candidate:
    """The run whose axes are those of some level, so that its other settings can be taken over."""
    levels = asked.flat

    def apart(one: reading.Candidate) -> tuple[int, bool]:
        swept = [[one.config.get(a) != level.get(a) for a in asked.axes] for level in levels]
        return min(map(sum, swept)), bool(one.config["algorithm.null_control"])

    return min(every, key=apart)


def _check_sizes(path: Path, chosen: Sequence[Sequence[reading.Candidate]], asked: Asked) -> None:
    """Raise ConfigError where the pilot's runs are of several sizes, or shorter than asked for."""
    runs = [one for level in chosen for one in level]
    for key in settings.SIZES:
        held = {one.config.get(key) for one in runs}
        if len(held) > 1:
            told = ", ".join(map(str, sorted(held, key=str)))
            raise ConfigError(f"--from: must hold runs of one {key}, {path} has {told}")
    steps, longest = asked.configs[0].trainer.steps, int(runs[0].config[STEPS])
    if STEPS in asked.typed and steps > longest:
        rule = f"must hold runs of {STEPS}={steps} or more, as asked for"
        raise ConfigError(f"--from: {rule}; those of {path} have {longest}")
    every = asked.flat[0].get(EVERY)
    if EVERY in asked.typed and every != runs[0].config.get(EVERY):
        rule = f"must hold runs with {EVERY}={every}, as asked for"
        raise ConfigError(f"--from: {rule}; those of {path} have {runs[0].config.get(EVERY)}")
