"""Runs and sweeps at or below a folder, one entry each, for whoever wants to know what is there.

Nothing here raises for what a folder holds: what cannot be read is an entry that says so.
config.yaml is not parsed, which takes ten times as long as all else, but searched for lines of its
form.
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
"""Folders that are entered below the one that is named: a home folder has very many."""
NEVER_ENTERED = (
    "checkpoints", "conversations", "simulator", "trackers", "node_modules", "tests",
)  # fmt: skip
"""Folders without runs of the user: in a checkout, tests keep runs of earlier versions."""
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
"""Options that an entry leaves out: what remains tells runs apart."""
Range = tuple[float, float]


@dataclass(frozen=True)
class Entry:
    """One run, sweep or study."""

    kind: str
    path: Path
    status: str
    """Of a sweep: running where a run of it is, else that of the runs that need a look most."""
    reason: str | None = None
    began_unix_s: float | None = None
    """When its first step was begun, else when it was planned."""
    what: str = ""
    """What was chosen, or swept."""
    step: int = 0
    steps: int | None = None
    """Steps that a run is to make; None of a sweep, and where the config does not tell."""
    entropy: Range | None = None
    """Lowest and highest H of the last rows; of a run the two are one."""
    reward: Range | None = None
    runs: Mapping[str, int] = field(default_factory=dict)
    """Of a sweep: status -> how many of its runs."""
    name: str | None = None
    note: str | None = None


def look(path: Path) -> list[Entry]:
    """Every entry at or below `path`; of a sweep that is named itself, its runs.

    Raises DataError where `path` is no folder that can be listed.
    """
    try:
        with os.scandir(path):
            pass
    except OSError as error:
        raise DataError(f"{path}: must be a folder that can be listed: {error.strerror}") from error
    if (path / sweep_file.FILE).is_file():
        with contextlib.suppress(DataError):
            return list(of_runs(sweep_file.read(path), path))
    return list(_below(path, 0))


def of_runs(sweep: Sweep, root: Path) -> Iterator[Entry]:
    """The runs of a sweep, in its order."""
    for row in sweep.runs:
        yield _of_row(row, root)


def _of_row(row: LedgerRow, root: Path) -> Entry:
    run, what = RunFolder(root / row.name), " ".join(row.overrides)
    if run.is_run():
        return of_run(run.path, what)
    state = run_state.of_row(row, run)
    return Entry(RUN, run.path, state.status, state.reason, what=what)


def _below(folder: Path, depth: int) -> Iterator[Entry]:
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
        reason = f"{folder}: run.json is missing, and the files of a run are there"
        yield Entry(RUN, folder, run_state.DAMAGED, reason, _began(folder), _outline(folder)[0])
        return
    if depth < DEEPEST:
        for name in sorted(name for name, is_folder in names.items() if is_folder):
            if not name.startswith(".") and name not in NEVER_ENTERED:
                yield from _below(folder / name, depth + 1)


def _names(folder: Path) -> dict[str, bool]:
    """Name -> whether it is a folder, links to one left out; none where it cannot be listed."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        return {entry.name: entry.is_dir(follow_symlinks=False) for entry in found}
    return {}


def of_run(path: Path, what: str | None = None) -> Entry:
    """The entry of a folder with run.json; `what`: what was chosen, where the caller knows it."""
    run = RunFolder(path)
    state, row = run_state.of(run), soundness.last_row(run)
    outline, steps = _outline(path)
    step = row.get("step")
    return Entry(
        RUN,
        path,
        state.status,
        state.reason,
        _began(path),
        outline if what is None else what,
        step if type(step) is int else 0,
        steps,
        _range([metric_rows.number(row, "entropy")]),
        _range([metric_rows.number(row, "reward")]),
    )


def of_sweep(root: Path) -> Entry:
    """The entry of a folder with sweep.json."""
    kind, study = SWEEP, None
    if (root / study_file.FILE).is_file():
        kind = STUDY
        with contextlib.suppress(DataError):
            study = study_file.read(root).study
    try:
        sweep = sweep_file.read(root)
    except DataError as error:
        return Entry(kind, root, run_state.DAMAGED, str(error), _modified(root), study or "")
    runs = list(of_runs(sweep, root))
    counts = Counter(run.status for run in runs)
    return Entry(
        kind,
        root,
        min(counts, key=_urgency, default="planned"),
        next((run.reason for run in runs if run.reason and run.status == run_state.DAMAGED), None),
        _first_began(runs, default=_modified(root)),
        study or _swept(sweep),
        entropy=_range([value for run in runs for value in run.entropy or ()]),
        reward=_range([value for run in runs for value in run.reward or ()]),
        runs=dict(sorted(counts.items(), key=lambda pair: _urgency(pair[0]))),
        name=sweep.name,
        note=sweep.note,
    )


def _first_began(runs: Sequence[Entry], default: float | None) -> float | None:
    """When the first run with a step was begun, else when the first was planned."""
    steps = [run for run in runs if run.step] or runs
    times = [run.began_unix_s for run in steps if run.began_unix_s is not None]
    return min(times, default=default)


def _urgency(status: str) -> int:
    return run_state.MOST_URGENT_FIRST.index(status)


def _swept(sweep: Sweep) -> str:
    """`difficulty=easy,hard seed=1..5`, else the words of its only run."""
    if not sweep.axes:
        several = f"{len(sweep.runs)} named runs" if sweep.runs else ""
        return " ".join(sweep.runs[0].overrides) if len(sweep.runs) == 1 else several
    return " ".join(f"{key}={_values(values)}" for key, values in sweep.axes.items())


def _values(values: Sequence[Any]) -> str:
    whole = [value for value in values if type(value) is int]
    if len(whole) == len(values) > 2 and whole == list(range(whole[0], whole[0] + len(whole))):
        return f"{whole[0]}..{whole[-1]}"
    return ",".join(map(str, values))


def _outline(path: Path) -> tuple[str, int | None]:
    """`hard tabular seed 3`, with each option that is not the usual one; and trainer.steps."""
    try:
        text = plain_file.text(RunFolder(path).config, CONFIG_BYTES)
    except DataError:
        return "", None
    named = {key: name.strip("'\"") for key, name in NAMED.findall(text)}
    words = [named[key] for key in ("difficulty", "policy") if key in named]
    words += [f"{k}={named[k]}" for k, usual in USUAL.items() if named.get(k, usual) != usual]
    words += ["null control"] if NULL_CONTROL.search(text) else []
    words += [f"seed {found[1]}"] if (found := SEED.search(text)) else []
    steps = STEPS.search(text)
    return " ".join(words), int(steps[1][:9]) if steps else None


def _began(path: Path) -> float | None:
    run = RunFolder(path)
    began = events.began_unix_s(run.events)
    return _modified(run.config) if began is None else began


def _modified(path: Path) -> float | None:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return None


def _range(values: Sequence[float | None]) -> Range | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None
