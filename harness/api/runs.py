"""Finds runs and returns their metrics and conversations as data frames."""

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
from harness.law.io.discover import DiscoveredRun
from harness.law.io.table import LogTable, ReadError
from harness.records import saved_conversations, sweep_file

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Config = Mapping[str, Any]
LOGGED_RUN = "log.run"
"""Column of a log that is itself named `run`, beside the run's name."""


@dataclass(frozen=True)
class Run:
    """One run that `load` found."""

    name: str
    """Path of the run, as given or below a given path; identifies it in every data frame here."""
    folder: Path | None
    """The run folder; None for a log of another program."""
    log: Path | None
    """metrics.jsonl, or the log; None if there is none."""
    problem: str | None
    """The reason why there is no log; None if there is one."""
    config: Config | None
    """config.yaml as nested mappings; None if there is none."""
    status: str | None
    """`status` of run.json: done, stopped, failed, diverged, running, ..."""
    axes: Mapping[str, Any]
    """Swept key -> the run's value, if the run is part of a sweep."""


@dataclass(frozen=True)
class Runs:
    """The runs found at or below some paths, in the order of the paths, then of their names."""

    runs: tuple[Run, ...]
    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        without_log = sum(run.log is None for run in self.runs)
        return (
            f"Runs({len(self.runs)} runs{f', {without_log} without a log' if without_log else ''})"
        )

    def table(self) -> pd.DataFrame:
        """Return one row per run: its axes, its status, and the reason if it has no metrics."""
        rows = [
            {**self._labels(run), "status": run.status, "problem": self._problem(run)}
            for run in self.runs
        ]
        return pd.DataFrame(rows, index=pd.Index([run.name for run in self.runs], name="run"))

    def metrics(self) -> pd.DataFrame:
        """Return one row per run and step: `run`, the axes, `step`, and every numeric column.

        Missing values are NaN, such as eval/* between evaluations. All rows of the file are
        included, even those that a fit drops. A run without metrics has no rows; see `table` for
        the reason. A log's own column `run` is `log.run`.
        """
        parts = [
            self._metrics(run, log)
            for run in self.runs
            if isinstance(log := self._logs[run.name], LogTable)
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def conversations(self, step: int | None = None) -> pd.DataFrame:
        """Return one row per utterance: `run`, the axes, `step`, then the columns of docs/view.md.

        `step` selects one step. Not every step is saved (trainer.conversations_every), and a run
        without that step has no rows. Values that an older version did not save are missing. Raises
        DataError for a damaged file.
        """
        parts = []
        for run in self.runs:
            paths = _saved_files(run.folder, step) if run.folder else {}
            if paths:
                parts.append(self._labelled(run, turns.frame(paths)))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    @cached_property
    def _axes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for run in self.runs for key in run.axes))

    def _labels(self, run: Run) -> dict[str, Any]:
        config = run.config or {}
        labels = {"difficulty": _get(config, "difficulty", "name"), "seed": config.get("seed")}
        return {**labels, **{key: run.axes.get(key) for key in self._axes if key not in labels}}

    @cached_property
    def _logs(self) -> Mapping[str, LogTable | str | None]:
        """Name of a run -> its log, the reason why it cannot be read, or None without a file."""
        return {run.name: _read(run.log) if run.log else None for run in self.runs}

    def _problem(self, run: Run) -> str | None:
        return log if isinstance(log := self._logs[run.name], str) else run.problem

    def _metrics(self, run: Run, table: LogTable) -> pd.DataFrame:
        frame = pd.DataFrame({name: table.columns[name] for name in ("step", *table.names)})
        with contextlib.suppress(ValueError):  # a damaged row may have no step
            whole = frame["step"].astype("int64")
            if (whole == frame["step"]).all():  # steps of other programs may be shares of an epoch
                frame["step"] = whole
        return self._labelled(run, frame.rename(columns={"run": LOGGED_RUN}))

    def _labelled(self, run: Run, frame: pd.DataFrame) -> pd.DataFrame:
        """Add the run's name and axes. The swept reward is `reward.name`, beside the numbers."""
        for index, (key, value) in enumerate({"run": run.name, **self._labels(run)}.items()):
            name = f"{key}.name" if key in frame and key in run.axes else key
            if name not in frame:
                is_list = isinstance(value, list | tuple)  # pandas would take it for the column
                frame.insert(index, name, [value] * len(frame) if is_list else value)
        return frame


def load(paths: Paths) -> Runs:
    """Find the runs at or below `paths`: run folders, sweeps, and other programs' log files.

    Raises DataError for a path without a run.
    """
    given_paths = tuple(
        Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)
    )
    discovered = discover.discover(given_paths).runs
    for run in discovered:
        if run.problem is not None and Path(run.run) in given_paths:
            raise DataError(run.problem.message)
    sweeps: dict[Path, Mapping[str, Mapping[str, Any]]] = {}
    return Runs(tuple(_run(run, sweeps) for run in discovered), given_paths)


def _run(discovered: DiscoveredRun, sweeps: dict[Path, Mapping[str, Mapping[str, Any]]]) -> Run:
    run_identity = identity.read(discovered.folder)
    problem = discovered.problem.message if discovered.problem else None
    axes: Mapping[str, Any] = {}
    if discovered.folder is not None:
        parent = discovered.folder.resolve().parent
        if parent not in sweeps:
            sweeps[parent] = _axes_of(parent)
        axes = sweeps[parent].get(discovered.folder.resolve().name, {})
    return Run(
        discovered.run,
        discovered.folder,
        discovered.metrics,
        problem,
        run_identity.config,
        run_identity.status,
        axes,
    )


def _read(log: Path) -> LogTable | str:
    """Read all numeric columns of a log; return the reason if it cannot be read."""
    try:
        names = reading.read(log, ("step",)).names
        return reading.read(log, tuple(dict.fromkeys(("step", *names))))
    except ReadError as error:
        return str(error)


def _axes_of(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return run -> swept key -> value for the sweep in `folder`; empty if there is none."""
    if not (folder / sweep_file.FILE).is_file():
        return {}
    try:
        return sweep_file.read(folder).by_run()
    except DataError:  # the runs can be read without sweep.json
        return {}


def _get(config: Config, group: str, key: str) -> Any:
    part = config.get(group)
    return part.get(key) if isinstance(part, Mapping) else None


def _saved_files(folder: Path, step: int | None) -> dict[int, Path]:
    """Return step -> file of the run's saved conversations; only for `step` if it is given."""
    return {
        step_number: saved_conversations.path_of(folder, step_number)
        for step_number in saved_conversations.steps(folder)
        if step in (None, step_number)
    }
