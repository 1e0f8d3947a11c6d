"""The law of runs, and what the command line says of it, as data frames and figures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from harness.api.runs import Paths, Runs, load
from harness.errors import ConfigError
from harness.law import analysis, law_json
from harness.law.compare.claims import margins_of
from harness.law.compare.families import check_primary
from harness.law.group_results import Analysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NESTED = ("config", "fits", "rivals", "contrasts", "compared", "population")
"""Parts of law.json that have no place in one row; `Law.to_json` has them."""


@dataclass(frozen=True)
class Law:
    """The law R = -a*exp(H) + b fitted to runs, with groups over seeds and their contrasts."""

    analysis: Analysis
    """Everything that was computed, as the command line has it."""

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row a run, indexed by `run`: verdict, regime, a, b, ceiling, onset, ...

        An interval is three columns: `a`, `a_low`, `a_high` (95%). A run that could not be read is
        a row too, with `status` error. Fields: docs/law_json.md.
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

    def plot(self, name: str = "entropy_law", style: str = "screen") -> Figure:
        """Draw a figure of docs/figures.md by its name, such as residuals or forest; with
        style="paper" at the width of a column.

        Those of more than 24 runs come as medians over groups first, then as pages:
        `entropy_law`, `entropy_law_1`, ... Raises ConfigError where the analysis has no such
        figure; the message lists those it has, and docs/figures.md what each needs.
        """
        from harness.report.figures import registry
        from harness.report.formats import formats

        look = formats(style).style
        specs = {spec.name: spec for spec in registry.sketches(self.analysis, every_run=True)}
        if name not in specs:
            known = any(name == figure.name for figure in registry.FIGURES)
            why = ", for which these runs have nothing to show (docs/figures.md)" if known else ""
            raise ConfigError(f"plot: must be one of {', '.join(specs)}, got {name!r}{why}")
        return registry.drawn(specs[name], look).figure

    def save(
        self,
        folder: str | os.PathLike[str],
        style: str = "screen",
        formats: Sequence[str] = (),
    ) -> list[Path]:
        """Write law.json, the tables and the figures; return what was written.

        `style` and `formats` are those of `harness fit-entropy-law`: "paper"; "pdf", "tex".
        """
        from harness.report import formats as kinds
        from harness.report import write

        wanted = kinds.formats(style, formats)
        return write.write_results(self.analysis, Path(folder), "auto", wanted)

    def __repr__(self) -> str:
        verdicts = [run.verdict or "not read" for run in self.analysis.runs]
        counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
        said = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
        return f"Law({len(verdicts)} runs; {said})"


def fit(
    runs: Runs | Paths,
    *,
    reward: str | None = None,
    entropy: str | None = None,
    step: str | None = None,
    margins: Mapping[str, float] | None = None,
    pool_unlike: bool = False,
    with_unfinished: bool = False,
    reward_range: tuple[float, float] | None = None,
    primary: str | None = None,
) -> Law:
    """Fit R = -a*exp(H) + b (arXiv 2505.22617) to every run, and compare groups over seeds.

    As `harness fit-entropy-law` does (docs/law.md): `reward`, `entropy` and `step` name columns,
    `margins` say how small a difference between groups counts as none, as {"a": 0.1},
    `reward_range` the lowest and the highest value that R can take, and `primary` which quantity of
    contrasts bears most of the error. Raises ConfigError for a range, a margin or a quantity
    that is none.
    """
    _check_range(reward_range)
    check_primary(primary, "primary")
    paths = (runs if isinstance(runs, Runs) else load(runs)).paths
    return Law(
        analysis.analyse(
            paths,
            reward=reward,
            entropy=entropy,
            step=step,
            margins=None if margins is None else margins_of(margins),
            pool_unlike=pool_unlike,
            with_unfinished=with_unfinished,
            reward_range=reward_range,
            primary=primary,
        )
    )


def _check_range(given: tuple[float, float] | None) -> None:
    """Raises ConfigError for anything but None and two finite numbers, the lower one first."""
    if given is None:
        return
    numbers = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2
    if not (numbers and all(math.isfinite(end) for end in given) and given[0] < given[1]):
        rule = "must be the lowest and the highest value that R can take, such as (0, 1)"
        raise ConfigError(f"reward_range: {rule}, got {given!r}")


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
