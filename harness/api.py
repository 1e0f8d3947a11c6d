"""The public API: run folders and their law as pandas data frames.

Everything is read from run folders and other programs' logs; nothing is written except by
`Law.save`. Use it through the package: `harness.load`, `harness.fit`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from harness.errors import ConfigError, DataError
from harness.law import analysis, law_json
from harness.law.compare.claims import DEFAULT_MARGINS
from harness.law.group_results import Analysis
from harness.law.io import discover, identity, reading
from harness.law.io.discover import Found
from harness.law.io.table import ReadError, Table
from harness.records import plain_file, sweep_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Config = Mapping[str, Any]
STEP_FILE = re.compile(r"step-\d+\.parquet")
NESTED = ("config", "fits", "rivals", "contrasts", "compared", "population")
"""Parts of law.json that have no place in one row; `Law.to_json` has them."""


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
        """One row an utterance: `run`, the axes, `step`, then the columns of docs/metrics.md.

        `step` selects one step; not every step is written (trainer.conversations_every), and a
        run that has none of that step has no rows. Raises DataError for a file that is damaged.
        """
        parts = [
            self._conversations(run, path)
            for run in self.runs
            if run.folder is not None
            for path in sorted((run.folder / "conversations").glob("step-*.parquet"))
            if STEP_FILE.fullmatch(path.name) and step in (None, _step(path))
        ]
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

    def _conversations(self, run: Run, path: Path) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with open(path, "rb", opener=plain_file.opener) as file:
                turns = pq.read_table(io.BytesIO(file.read())).to_pandas()
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{path}: must be a parquet file of conversations: {error}") from error
        turns.insert(0, "step", _step(path))
        return self._labelled(run, turns)

    def _labelled(self, run: Run, frame: pd.DataFrame) -> pd.DataFrame:
        for place, (key, value) in enumerate({"run": run.name, **self._labels(run)}.items()):
            if key not in frame:
                frame.insert(place, key, value)
        return frame


@dataclass(frozen=True)
class Law:
    """The law R = -a*exp(H) + b fitted to runs, with groups over seeds and their contrasts."""

    analysis: Analysis
    """Everything that was computed, as the command line has it."""

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row a run, indexed by `run`: verdict, regime, a, b, ceiling, onset, ...

        An interval is three columns: `a`, `a_low`, `a_high` (95%). A run that could not be read is
        a row too, with `status` error. Fields: docs/law.md.
        """
        return _frame(self.to_json()["runs"]).set_index("run")

    @cached_property
    def groups(self) -> pd.DataFrame:
        """One row a group of runs that are alike in all but the seed: means over its seeds."""
        rows = [
            {**row["key"], **{name: value for name, value in row.items() if name != "key"}}
            for row in self.to_json()["groups"]
        ]
        return _frame(rows)

    @cached_property
    def contrasts(self) -> pd.DataFrame:
        """One row a pair of groups and quantity: the difference over seeds with its 95% interval,
        `p`, `p_holm` (adjusted), and `decision`: differs, equivalent, undecided, not_comparable.
        """
        rows = [
            {"group": _named(group["key"]), **contrast, "with": _named(contrast["with"])}
            for group in self.to_json()["groups"]
            for contrast in group["contrasts"]
        ]
        return _frame(rows)

    @cached_property
    def levels(self) -> pd.DataFrame:
        """What each group's seeds say of all seeds, one row a number (docs/law.md)."""
        from harness.report.tables import population

        groups = [group for group in self.analysis.groups if group.population is not None]
        return pd.DataFrame([*population.csv_rows(groups)], columns=[*population.COLUMNS])

    def to_json(self) -> dict[str, Any]:
        """The content of law.json."""
        return law_json.from_analysis(self.analysis)

    def plot(self, name: str = "entropy_law") -> Figure:
        """Draw a figure of docs/figures.md by its name, such as residuals or forest.

        Those of more than 24 runs come as medians over groups first, then as pages:
        `entropy_law`, `entropy_law_1`, ... Raises ConfigError where the analysis has no such
        figure; the message lists those it has.
        """
        from harness.report.figures import registry

        specs = {spec.name: spec for spec in registry.sketches(self.analysis, every_run=True)}
        if name not in specs:
            raise ConfigError(f"plot: must be one of {', '.join(specs)}, got {name!r}")
        return registry.drawn(specs[name]).figure

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write law.json, law.csv, contrasts.csv and the figures; return what was written."""
        from harness.report import write

        return write.write_results(self.analysis, Path(folder), "auto")

    def __repr__(self) -> str:
        verdicts = [run.verdict or "not read" for run in self.analysis.runs]
        counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
        said = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
        return f"Law({len(verdicts)} runs; {said})"


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


def fit(
    runs: Runs | Paths,
    *,
    reward: str | None = None,
    entropy: str | None = None,
    step: str | None = None,
    margins: Mapping[str, float] | None = None,
    pool_unlike: bool = False,
    with_unfinished: bool = False,
) -> Law:
    """Fit R = -a*exp(H) + b (arXiv 2505.22617) to every run, and compare groups over seeds.

    As `harness fit-entropy-law` does (docs/law.md): `reward`, `entropy` and `step` name columns,
    `margins` say how small a difference between groups counts as none, as {"a": 0.1}.
    """
    paths = (runs if isinstance(runs, Runs) else load(runs)).paths
    return Law(
        analysis.analyse(
            paths,
            reward=reward,
            entropy=entropy,
            step=step,
            margins=None if margins is None else {**DEFAULT_MARGINS, **margins},
            pool_unlike=pool_unlike,
            with_unfinished=with_unfinished,
        )
    )


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


def _frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """One row each, nested mappings as columns: {"a": {"value": 1, "low": 0}} is a=1, a_low=0."""
    rows = list(rows)
    frame = pd.DataFrame([_flat(row) for row in rows])
    parts = {
        name
        for row in rows
        for name, value in row.items()
        if isinstance(value, Mapping) and _main(value) is None
    }
    return frame.drop(columns=[name for name in parts if name in frame])  # null in other rows


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name in NESTED:
            continue
        if isinstance(value, Mapping):
            main = _main(value)
            flat |= {name if key == main else f"{name}_{key}": v for key, v in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _main(value: Mapping[str, Any]) -> str | None:
    """The entry that is the number itself, beside its interval."""
    return next((key for key in ("value", "step", "mean") if key in value), None)


def _named(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in key.items()) or "all runs"


def _get(config: Config, group: str, key: str) -> Any:
    part = config.get(group)
    return part.get(key) if isinstance(part, Mapping) else None


def _step(path: Path) -> int:
    return int(path.stem.removeprefix("step-"))
