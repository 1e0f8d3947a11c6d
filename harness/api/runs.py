"""Runs as they were found, their metrics and their conversations as data frames."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness.api import turns
from harness.errors import DataError
from harness.law.io import discover, identity, reading
from harness.law.io.discover import Found
from harness.law.io.table import ReadError, Table
from harness.records import saved_conversations, sweep_file

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """One run, as it was found."""

    name: str
    """Its path as given, or below the path given; the index of every data frame here."""
    folder: Path | None
    """Its run folder; None for a log of another program."""
    log: Path | None
    """metrics.jsonl, or the log; None where it cannot be read."""
    problem: str | None
    """Why it has no log."""
    config: Config | None
    """config.yaml as nested mappings; None where there is none."""
    status: str | None
    """done, stopped, failed, diverged, running ...: `status` of run.json."""
    axes: Mapping[str, Any]
    """Swept key -> this run's value, of the sweep that the run is part of."""


@dataclass(frozen=True)
class Runs:
    """Runs found at or below some paths, in the order of the paths and then of their names."""

    runs: tuple[Run, ...]
    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        without = sum(run.log is None for run in self.runs)
        return f"Runs({len(self.runs)} runs{f', {without} without a log' if without else ''})"

    def table(self) -> pd.DataFrame:
        """One row a run: its axes, status, and why it has no metrics where it has none."""
        rows = [
            {**self._labels(run), "status": run.status, "problem": self._problem(run)}
            for run in self.runs
        ]
        return pd.DataFrame(rows, index=pd.Index([run.name for run in self.runs], name="run"))

    def metrics(self) -> pd.DataFrame:
        """One row a step of every run: `run`, the axes, `step`, and every numeric column.

        A value that is missing is NaN: eval/* between evaluations, a column that a run does not
        have. Rows are those of the file, also the ones that a fit leaves out. A run without
        metrics has no rows; `table` says why.
        """
        parts = [
            self._metrics(run, log)
            for run in self.runs
            if isinstance(log := self._logs[run.name], Table)
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def conversations(self, step: int | None = None) -> pd.DataFrame:
        """One row an utterance: `run`, the axes, `step`, then the columns of docs/view.md.

        `step` selects one step; not every step is written (trainer.conversations_every), and a
        run that has none of that step has no rows. What a run of an older version did not keep is
        missing in its rows. Raises DataError for a file that is damaged.
        """
        parts = []
        for run in self.runs:
            paths = _saved(run.folder, step) if run.folder else {}
            if paths:
                parts.append(self._labelled(run, turns.frame(paths)))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    @cached_property
    def _axes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for run in self.runs for key in run.axes))

    def _labels(self, run: Run) -> dict[str, Any]:
        config = run.config or {}
        known = {"difficulty": _get(config, "difficulty", "name"), "seed": config.get("seed")}
        return {**known, **{key: run.axes.get(key) for key in self._axes if key not in known}}

    @cached_property
    def _logs(self) -> Mapping[str, Table | str | None]:
        """Each run's log, read once, or why it cannot be read; None where there is no file."""
        return {run.name: _read(run.log) if run.log else None for run in self.runs}

    def _problem(self, run: Run) -> str | None:
        return log if isinstance(log := self._logs[run.name], str) else run.problem

    def _metrics(self, run: Run, table: Table) -> pd.DataFrame:
        frame = pd.DataFrame({name: table.columns[name] for name in ("step", *table.names)})
        with contextlib.suppress(ValueError):  # a damaged row may have no step
            frame["step"] = frame["step"].astype("int64")
        return self._labelled(run, frame)

    def _labelled(self, run: Run, frame: pd.DataFrame) -> pd.DataFrame:
        for place, (key, value) in enumerate({"run": run.name, **self._labels(run)}.items()):
            if key not in frame:
                frame.insert(place, key, value)
        return frame


def load(paths: Paths) -> Runs:
    """Find the runs at or below `paths`: run folders, sweeps, and other programs' log files.

    Raises DataError for a path at which no run is.
    """
    given = tuple(
        Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)
    )
    found = discover.discover(given).runs
    for run in found:
        if run.problem is not None and Path(run.run) in given:
            raise DataError(run.problem.message)
    sweeps: dict[Path, Mapping[str, Mapping[str, Any]]] = {}
    return Runs(tuple(_run(run, sweeps) for run in found), given)


def _run(found: Found, sweeps: dict[Path, Mapping[str, Mapping[str, Any]]]) -> Run:
    who = identity.read(found.folder)
    problem = found.problem.message if found.problem else None
    axes: Mapping[str, Any] = {}
    if found.folder is not None:
        parent = found.folder.resolve().parent
        if parent not in sweeps:
            sweeps[parent] = _axes_of(parent)
        axes = sweeps[parent].get(found.folder.resolve().name, {})
    return Run(found.run, found.folder, found.metrics, problem, who.config, who.status, axes)


def _read(log: Path) -> Table | str:
    """All numeric columns of a log; the reason where it cannot be read."""
    try:
        names = reading.read(log, ("step",)).names
        return reading.read(log, tuple(dict.fromkeys(("step", *names))))
    except ReadError as error:
        return str(error)


def _axes_of(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Run of the sweep in `folder` -> swept key -> its value; empty where there is no sweep."""
    if not (folder / sweep_file.FILE).is_file():
        return {}
    try:
        return sweep_file.read(folder).by_run()
    except DataError:  # its runs are readable without it
        return {}


def _get(config: Config, group: str, key: str) -> Any:
    part = config.get(group)
    return part.get(key) if isinstance(part, Mapping) else None


def _saved(folder: Path, step: int | None) -> dict[int, Path]:
    """Step -> file of the conversations that a run has saved; only of `step`, if it is given."""
    return {
        at: saved_conversations.path_of(folder, at)
        for at in saved_conversations.steps(folder)
        if step in (None, at)
    }
