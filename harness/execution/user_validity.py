"""Checks whether the users that a run would train on are valid, and refuses the run if not.

The validity of a level is part of its difficulty card. For a level without a card it is measured
when the run is planned, which takes some seconds, and cached. For a served user it is measured by
`harness calibrate simulator=served`, and cached too.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.calibration import users
from harness.calibration.users import Reader
from harness.calibration.validity import requirements
from harness.config import curriculum
from harness.config.run import DifficultyConfig, RunConfig, SimulatorConfig
from harness.config.simulator import KINDS
from harness.errors import ConfigError, FolderError, StorageError
from harness.execution import difficulty_cards
from harness.records import atomic, plain_file, user_folders
from harness.records import validity as records
from harness.records.validity import LevelValidity, Validity
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.utils import safe_text

NOT_ASKED = ("name", "turn_cap", "reward_noise", "reward_flips")
"""Keys of a level that do not affect a served user."""
ADMISSION = "admission 2"
"""The admission test with its version, increased whenever the same answers measure otherwise."""


def check(configs: Iterable[RunConfig]) -> list[str]:
    """Raise ConfigError for the first run that would train on a user who is not valid.

    Returns a sentence for each level that is used nevertheless, because difficulty.unchecked is
    set or the model that plays its user has not been measured.
    """
    notes = dict[str, str]()
    for config in configs:
        unchecked = config.difficulty.unchecked
        for level, validity in of_run(config).items():
            refuse(level, validity, unchecked=unchecked)
            is_known = bool(validity.measured)
            if validity.problems and (unchecked or not is_known):
                state = "unchecked" if is_known else "not admitted"
                problems = "; ".join(validity.problems)
                notes[level] = f"difficulty={level}: {state}, and every verdict says so: {problems}"
    return list(notes.values())


def tell(notes: Iterable[str]) -> None:
    """Print what `check` returned."""
    for sentence in notes:
        safe_text.say(sentence)


def refuse(level: str, validity: LevelValidity, *, unchecked: bool) -> None:
    """Raise ConfigError if the user was measured and is not valid, unless `unchecked`."""
    if validity.measured and validity.problems and not unchecked:
        raise ConfigError(
            f"difficulty={level}: its user must be shown to prefer kindness to cruelty and to hear "
            f"at least {requirements.LEAST_HEARD:.0%} of it, unless difficulty.unchecked=true; "
            f"measured by {validity.reader}: {'; '.join(validity.problems)}"
        )


def of_run(config: RunConfig) -> Validity:
    """Return the validity of each level that the run trains on; empty for users of a plug-in."""
    if config.simulator.kind not in KINDS:
        return {}
    levels = curriculum.trained_levels(config.curriculum, config.difficulty, config.levels)
    if config.simulator.kind == "served":
        return {level.name: _served_validity(config.simulator, level) for level in levels}
    return {level.name: _level_validity(level, config) for level in levels}


def record(config: RunConfig) -> dict[str, Any]:
    """Return `of_run` in the form of run.json."""
    return records.to_json(of_run(config))


def _level_validity(level: DifficultyConfig, config: RunConfig) -> LevelValidity:
    knobs, medium = json.dumps(level.knobs()), json.dumps(config.levels.medium.knobs())
    return _scripted_validity(knobs, medium, users.reader_of(config.simulator))


@functools.cache
def _scripted_validity(knobs: str, medium: str, reader: Reader) -> LevelValidity:
    """Return the validity of the scripted user of a level, from its card if there is one."""
    level = json.loads(knobs)
    group_size = RunConfig().algorithm.group_size  # the shipped cards were measured with it
    key = difficulty_cards.scripted_key(level, json.loads(medium), group_size, reader)
    card = difficulty_cards.read(difficulty_cards.SHIPPED / difficulty_cards.file_name(key))
    section = _cached_validity(level, reader) if card is None else card["validity_held_out"]
    return records.of_card(reader.name, section, tuple(requirements.problems(section)))


def _cached_validity(level: Mapping[str, Any], reader: Reader) -> Any:
    """Return the cached validity of a level's users, else measure and cache it."""
    name = f"validity-{difficulty_cards.digest('validity', reader.name, level)}.json"
    make = functools.partial(_measure, DifficultyConfig(**level), reader)
    try:
        return difficulty_cards.read_or_make(name, make, records.is_measured)
    except StorageError:  # cannot be cached; it is measured again next time
        return make()


def _measure(level: DifficultyConfig, reader: Reader) -> Mapping[str, Any]:
    from harness.calibration.validity import measure  # takes half a second to import

    if reader not in (LEXICAL, users.SECOND):
        safe_text.say(f"difficulty={level.name}: measures its users with {reader.name}: a minute")

    return asdict(measure.measure(level, "held_out", reader))


def keep_admission(
    simulator: SimulatorConfig, level: DifficultyConfig, validity: LevelValidity
) -> None:
    """Cache the validity that the admission of a served user measured.

    Raises FolderError, StorageError.
    """
    path = user_folders.cache() / _admission_file(simulator, level)
    with atomic.storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_json(path, asdict(validity))


def _served_validity(simulator: SimulatorConfig, level: DifficultyConfig) -> LevelValidity:
    """Return a served user's cached validity, or one without measures if there is none."""
    with contextlib.suppress(FolderError):
        path = user_folders.cache() / _admission_file(simulator, level)
        cached = records.from_json({level.name: difficulty_cards.read(path)})
        if cached:
            return cached[level.name]
    advice = "run `harness calibrate simulator=served` with the same keys"
    return LevelValidity(
        simulator.model, {}, (f"{simulator.model} has not been measured: {advice}",)
    )


def _admission_file(simulator: SimulatorConfig, level: DifficultyConfig) -> str:
    knobs = {key: value for key, value in level.knobs().items() if key not in NOT_ASKED}
    model = [simulator.base_url, simulator.model, simulator.temperature, simulator.max_tokens]
    text = plain_file.text(Path(simulator.profiles)) if simulator.profiles else ""
    return f"admission-{difficulty_cards.digest(ADMISSION, model, text, knobs)}.json"
