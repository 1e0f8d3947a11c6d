"""Lists the runs and sweeps at or below a folder, one entry each.

Unreadable contents do not raise: the entry says that it is damaged. config.yaml is searched by
regular expressions: parsing it would take ten times as long as everything else.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.config.typed_value import typed_value
from harness.errors import DataError
from harness.records import (
    events,
    metric_rows,
    plain_file,
    run_state,
    soundness,
    study_file,
    sweep_file,
)
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep

DEEPEST = 4
"""Levels of folders searched below the given one, since a home folder has very many."""
NEVER_ENTERED = (
    "checkpoints", "conversations", "simulator", "trackers", "node_modules", "tests",
)  # fmt: skip
"""Folders that contain no runs of the user; tests of a checkout contain runs of old versions."""
RUN, SWEEP, STUDY = "run", "sweep", "study"
CONFIG_BYTES = 65_536
NAMED = re.compile(r"^(\w+):\n  name: (\S+)$", re.MULTILINE)
SEED = re.compile(r"^seed: (-?\d+)$", re.MULTILINE)
STEPS = re.compile(r"^trainer:\n(?:  .*\n)*?  steps: (\d+)$", re.MULTILINE)
NULL_CONTROL = re.compile(r"^  null_control: true$", re.MULTILINE)
USUAL = {
    "simulator": "scripted", "algorithm": "grpo", "reward": "terminal", "curriculum": "none",
    "remedy": "none",
}  # fmt: skip
"""Default options, which an entry leaves out."""
Range = tuple[float, float]


@dataclass(frozen=True)
class OverviewEntry:
    """One run, sweep or study."""

    kind: str
    path: Path
    status: str
    """For a sweep the most urgent status of its runs, by `run_state.MOST_URGENT_FIRST`."""
    reason: str | None = None
    began_unix_s: float | None = None
    """Time of the first event; before there is one, the time when it was planned."""
    what: str = ""
    """The chosen options, or the swept axes."""
    step: int = 0
    steps: int | None = None
    """Planned steps of a run; None for a sweep, or if the config does not say."""
    entropy: Range | None = None
    """Lowest and highest H of the runs' last rows; equal for a single run."""
    reward: Range | None = None
    runs: Mapping[str, int] = field(default_factory=dict)
    """For a sweep: status -> number of runs."""
    name: str | None = None
    note: str | None = None


def list_entries(path: Path) -> list[OverviewEntry]:
    """Return all entries at or below `path`; if `path` is a sweep, its runs.

    Raises DataError if `path` is not a folder that can be listed.
    """
    try:
        with os.scandir(path):
            pass
    except OSError as error:
        raise DataError(f"{path}: must be a folder that can be listed: {error.strerror}") from error
    if (path / sweep_file.FILE).is_file():
        with contextlib.suppress(DataError):
            return list(of_runs(sweep_file.read(path), path))
    return list(_entries_below(path, 0))


def of_runs(sweep: Sweep, root: Path) -> Iterator[OverviewEntry]:
    """Yield the entries of a sweep's runs, in the order of sweep.json."""
    for row in sweep.runs:
        yield _row_entry(row, root)


def _row_entry(row: LedgerRow, root: Path) -> OverviewEntry:
    run, options = RunFolder(root / row.name), " ".join(row.overrides)
    if run.is_run():
        return of_run(run.path, options)
    state = run_state.of_row(row, run)
    return OverviewEntry(RUN, run.path, state.status, state.reason, what=options)


def _entries_below(folder: Path, depth: int) -> Iterator[OverviewEntry]:
    names = _names(folder)
    if sweep_file.FILE in names:
        entry = of_sweep(folder)
        yield entry
        if entry.status != run_state.DAMAGED or entry.runs:
            return
    elif RunFolder(folder).status.name in names:
        yield of_run(folder)
        return
    elif {"config.yaml", "metrics.jsonl"} <= names.keys():
        reason = f"{folder}: run.json is missing, but other files of a run are there"
        yield OverviewEntry(
            RUN, folder, run_state.DAMAGED, reason, _began_unix_s(folder), _outline(folder)[0]
        )
        return
    if depth < DEEPEST:
        for name in sorted(name for name, is_folder in names.items() if is_folder):
            if not name.startswith(".") and name not in NEVER_ENTERED:
                yield from _entries_below(folder / name, depth + 1)


def _names(folder: Path) -> dict[str, bool]:
    """Return name -> whether it is a folder (a link is not); empty if `folder` cannot be listed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    return {}


def of_run(path: Path, options: str | None = None) -> OverviewEntry:
    """Return the entry of a folder with run.json. `options`: its chosen options, if known."""
    run = RunFolder(path)
    state, row = run_state.of(run), soundness.last_row(run)
    outline, steps = _outline(path)
    step = row.get("step")
    return OverviewEntry(
        RUN,
        path,
        state.status,
        state.reason,
        _began_unix_s(path),
        outline if options is None else options,
        step if type(step) is int else 0,
        steps,
        _range([metric_rows.number(row, "entropy")]),
        _range([metric_rows.number(row, "reward")]),
    )


def of_sweep(root: Path) -> OverviewEntry:
    """Return the entry of a folder with sweep.json."""
    kind, study = SWEEP, None
    if (root / study_file.FILE).is_file():
        kind = STUDY
        with contextlib.suppress(DataError):
            study = study_file.read(root).study
    try:
        sweep = sweep_file.read(root)
    except DataError as error:
        return OverviewEntry(
            kind, root, run_state.DAMAGED, str(error), _modified_unix_s(root), study or ""
        )
    runs = list(of_runs(sweep, root))
    counts = Counter(run.status for run in runs)
    return OverviewEntry(
        kind,
        root,
        min(counts, key=_urgency, default="planned"),
        next((run.reason for run in runs if run.reason and run.status == run_state.DAMAGED), None),
        _first_began(runs, default=_modified_unix_s(root)),
        study or _describe_axes(sweep),
        entropy=_range([value for run in runs for value in run.entropy or ()]),
        reward=_range([value for run in runs for value in run.reward or ()]),
        runs=dict(sorted(counts.items(), key=lambda pair: _urgency(pair[0]))),
        name=sweep.name,
        note=sweep.note,
    )


def _first_began(runs: Sequence[OverviewEntry], default: float | None) -> float | None:
    """Return the earliest start of the runs with a step, or of all runs if none has a step."""
    with_steps = [run for run in runs if run.step] or runs
    times = [run.began_unix_s for run in with_steps if run.began_unix_s is not None]
    return min(times, default=default)


def _urgency(status: str) -> int:
    return run_state.MOST_URGENT_FIRST.index(status)


def _describe_axes(sweep: Sweep) -> str:
    """Return `difficulty=easy,hard seed=1..5`, or the overrides of a sweep's only run."""
    if not sweep.axes:
        count = f"{len(sweep.runs)} named runs" if sweep.runs else ""
        return " ".join(sweep.runs[0].overrides) if len(sweep.runs) == 1 else count
    return " ".join(f"{key}={_values(values)}" for key, values in sweep.axes.items())


def _values(values: Sequence[Any]) -> str:
    integers = [value for value in values if type(value) is int]
    if len(integers) == len(values) > 2 and integers == list(
        range(integers[0], integers[0] + len(integers))
    ):
        return f"{integers[0]}..{integers[-1]}"
    return ",".join(map(typed_value, values))


def _outline(path: Path) -> tuple[str, int | None]:
    """Return `hard tabular seed 3` with the options that are not defaults, and trainer.steps."""
    try:
        text = plain_file.text(RunFolder(path).config, CONFIG_BYTES)
    except DataError:
        return "", None
    option_names = {key: name.strip("'\"") for key, name in NAMED.findall(text)}
    words = [option_names[key] for key in ("difficulty", "policy") if key in option_names]
    words += [
        f"{group}={option_names[group]}"
        for group, usual in USUAL.items()
        if option_names.get(group, usual) != usual
    ]
    words += ["null control"] if NULL_CONTROL.search(text) else []
    words += [f"seed {match[1]}"] if (match := SEED.search(text)) else []
    steps = STEPS.search(text)
    return " ".join(words), int(steps[1][:9]) if steps else None


def _began_unix_s(path: Path) -> float | None:
    run = RunFolder(path)
    began = events.began_unix_s(run.events)
    return _modified_unix_s(run.config) if began is None else began


def _modified_unix_s(path: Path) -> float | None:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return None


def _range(values: Sequence[float | None]) -> Range | None:
    present = [value for value in values if value is not None]
    return (min(present), max(present)) if present else None
