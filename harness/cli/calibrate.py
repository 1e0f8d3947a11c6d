"""The calibrate command: measure the levels, write the cards, print them."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.calibration import levels, users
from harness.calibration.users import SecondReader
from harness.calibration.validity import esconv
from harness.calibration.validity.replies import pairs
from harness.cli import options, untrained
from harness.compose import planner
from harness.compose.plan import Plan
from harness.config.difficulty import SHIPPED_LEVELS
from harness.config.run import LEVELS, DifficultyConfig, RunConfig
from harness.config.simulator import IN_PROCESS
from harness.errors import ConfigError, DataError
from harness.execution import gpu_lease
from harness.records import plain_file
from harness.report import formats, write
from harness.report.tables import levels as table_levels
from harness.simulator import factory
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader
from harness.utils import safe_text

GROUP = "difficulty"
TAKEN = (GROUP, "simulator", "algorithm.group_size")
"""Keys, and groups of keys, that a card depends on: the last is the number of conversations in the
groups whose spread of reward it tells."""
OUT = Path("calibration")
SENTENCES, BATCH = 22_000, 64
"""Sentences that are read to measure a level, and those by which a reader's speed is told."""
READER = "simulator.reader"
"""Beginning of the keys that say what the scripted user hears with."""


def calibrate(
    overrides: Sequence[str], named_out: Path | None, words: Sequence[str] = (), *, as_json: bool
) -> int:
    """Measure the levels and write the results to the folder `named_out`, else to OUT.

    `words` are those of --format. Returns 0, or 3 for a served user who is not admitted.
    Raises ConfigError for a sweep over anything but the difficulty and for a key that changes
    nothing here, ConfigError or StorageError for a folder that cannot be written to.
    """
    pictures = formats.pictures(words)
    untrained.refuse_others(overrides, "calibrate", TAKEN)
    plan = planner.plan(_with_levels(overrides))
    _refuse_other_axes(plan)
    configs = easiest_first([point.config for point in plan.points])
    if configs[0].simulator.kind == "served":
        _refuse_format(words, "the admission test of a served user")
        from harness.cli import admission

        out = options.results_folder(named_out, OUT)
        return admission.admit(configs, overrides, out, as_json=as_json)
    _refuse_others(configs[0])
    out = options.results_folder(named_out, OUT)
    named_levels = {config.difficulty.name: config.difficulty for config in configs}
    knobs = {name: level.knobs() for name, level in named_levels.items()}
    reader = users.reader_of(configs[0].simulator)
    _refuse_another(out, knobs, reader.name)
    if reader != LEXICAL and not isinstance(reader, SecondReader):
        _tell_cost(reader)
    calibration = levels.calibrate(
        named_levels,
        _medium(configs[0]),
        configs[0].algorithm.group_size,
        gpu_lease.cores(),
        reader,
        safe_text.say,
    )
    value = {**calibration.to_json(), "knobs": knobs}
    if as_json:
        print(json.dumps(value, indent=1, allow_nan=False), flush=True)
    else:
        table_levels.print_calibration(value, Console())
    write.write_calibration(value, out, pictures)
    print(f"harness: results in {out}", file=sys.stderr)
    return 0


def hearing(
    file: Path,
    overrides: Sequence[str],
    named_out: Path | None,
    words: Sequence[str] = (),
    *,
    as_json: bool,
) -> None:
    """Measure how the reader classifies the strategies in a file of ESConv; write esconv.json.

    Raises ConfigError for an override that does not choose the reader, since nothing else matters
    here, and DataError for a file of another format.
    """
    _refuse_format(words, "--esconv")
    for word in overrides:
        if not word.lstrip("+").startswith(READER):
            rule = f"recognition is the same at every level, so only {READER}* may be given with it"
            raise ConfigError(f"--esconv: {rule}, got {word}")
    reader = factory.reader_of(planner.point(overrides).config.simulator)
    out = options.results_folder(named_out, OUT)
    recognition = esconv.measure(esconv.utterances(file), reader).to_json()
    if as_json:
        print(json.dumps(recognition, indent=1, allow_nan=False), flush=True)
    else:
        table_levels.print_hearing(recognition, Console())
    print(
        f"harness: results in {write.write_measured(recognition, out, 'esconv.json')}",
        file=sys.stderr,
    )


def _refuse_format(words: Sequence[str], subject: str) -> None:
    if words:
        raise ConfigError(f"--format: {subject} has no picture, got {','.join(words)}")


def _tell_cost(reader: SentenceReader) -> None:
    """Print an estimate of the time per level, from the time that one batch takes."""
    batch = [pair.kind for pair in pairs()[:BATCH]]
    began = time.monotonic()
    reader.hear(batch)
    rate = BATCH / (time.monotonic() - began)
    safe_text.say(
        f"{reader.name} reads {rate:.0f} new sentences a second, and a level takes some "
        f"{SENTENCES:,}: about {SENTENCES / rate / 60:.0f} minutes"
    )


def _refuse_another(out: Path, knobs: Mapping[str, Any], reader: str) -> None:
    """Raise ConfigError if `out` holds a calibration of other levels or of another reader: a
    calibration takes minutes, so it is not overwritten.
    """
    previous_file = out / "calibration.json"
    if not previous_file.exists():
        return
    previous: Any = None
    with contextlib.suppress(DataError, ValueError, RecursionError):
        previous = json.loads(plain_file.text(previous_file))
    if (
        not isinstance(previous, dict)
        or previous.get("knobs") != knobs
        or {card.get("reader", LEXICAL.name) for card in previous.get("levels", {}).values()}
        - {reader}
    ):
        rule = "has a calibration of other levels, settings or readers, which would be overwritten"
        raise ConfigError(f"--out: {str(out)!r} {rule}; name another folder")


def _refuse_others(config: RunConfig) -> None:
    kind = config.simulator.kind
    if kind not in IN_PROCESS:
        rule = "calibrate measures scripted, second and served users"
        raise ConfigError(f"simulator.kind: {rule}, got {kind}")
    if config.simulator.profiles:
        raise ConfigError(
            "simulator.profiles: calibrate measures a level with the users it draws itself, "
            f"got {config.simulator.profiles}"
        )


def _with_levels(overrides: Sequence[str]) -> list[str]:
    """Add all named levels to the overrides, unless these choose levels."""
    chosen = any(word.lstrip("+").startswith(f"{GROUP}=") for word in overrides)
    return [*overrides] if chosen else [f"{GROUP}={','.join(LEVELS)}", *overrides]


def easiest_first(configs: Sequence[RunConfig]) -> list[RunConfig]:
    """Return the configs with harness's own levels from easy to hard, in the places they have.

    Each level is tested against the next, so that in another order a good level would be refused.
    """
    known = SHIPPED_LEVELS["scripted"]
    own = [config for config in configs if config.difficulty.name in known]
    ordered = iter(sorted(own, key=lambda config: known.index(config.difficulty.name)))
    return [next(ordered) if config in own else config for config in configs]


def _medium(config: RunConfig) -> DifficultyConfig:
    """Return the level whose conversations are replayed at every level."""
    return config.levels.medium


def _refuse_other_axes(plan: Plan) -> None:
    other_axes = [axis for axis in plan.axes if axis != GROUP]
    if other_axes:
        rule = "calibrate measures one variant of each level; give one value"
        raise ConfigError(f"{other_axes[0]}: {rule}, got {len(plan.axes[other_axes[0]])}")
