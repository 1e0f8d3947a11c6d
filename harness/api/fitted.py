"""The fitted law of runs, as data frames and figures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
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
"""Parts of law.json that do not fit in one row; `Law.to_json` returns them."""


@dataclass(frozen=True)
class Law:
    """The law R = -a*exp(H) + b fitted to runs, with groups over seeds and their contrasts."""

    analysis: Analysis
    """The complete analysis, as computed for the command line."""

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run, indexed by `run`: verdict, regime, a, b, ceiling, onset, ...

        An estimate has three columns: `a`, `a_low`, `a_high` (95% interval). A run that could not
        be read has `status` error. docs/law_json.md describes the columns.
        """
        return _flat_frame(self.to_json()["runs"]).set_index("run")

    @cached_property
    def groups(self) -> pd.DataFrame:
        """One row per group of runs that differ only in the seed: means over its seeds."""
        rows = [
            {**row["key"], **{name: value for name, value in row.items() if name != "key"}}
            for row in self.to_json()["groups"]
        ]
        return _flat_frame(rows)

    @cached_property
    def contrasts(self) -> pd.DataFrame:
        """One row per pair of groups and quantity: the difference over seeds with its 95% interval,
        `p`, `p_holm` (adjusted), and `decision`: differs, equivalent, undecided, not_comparable.
        """
        rows = [
            {
                "group": _column_name(group["key"]),
                **contrast,
                "with": _column_name(contrast["with"]),
            }
            for group in self.to_json()["groups"]
            for contrast in group["contrasts"]
        ]
        return _flat_frame(rows)

    @cached_property
    def levels(self) -> pd.DataFrame:
        """Estimates for all seeds from each group's seeds, one row per quantity (docs/law.md)."""
        from harness.report.tables import population

        groups = [group for group in self.analysis.groups if group.population is not None]
        return pd.DataFrame([*population.csv_rows(groups)], columns=[*population.COLUMNS])

    def to_json(self) -> dict[str, Any]:
        """Return the contents of law.json."""
        return law_json.from_analysis(self.analysis)

    def plot(self, name: str = "entropy_law", style: str = "screen") -> Figure:
        """Draw a figure of docs/figures.md by its name, such as residuals or forest.

        style="paper" draws it at the width of a column. A figure of more than 24 runs shows medians
        over groups, and pages `entropy_law_1`, ... show the runs. Raises ConfigError if the
        analysis has no such figure; the message lists those it has.
        """
        from harness.report.figures import registry
        from harness.report.formats import formats

        figure_style = formats(style).style
        specs = {
            spec.name: spec for spec in registry.select_pictures(self.analysis, every_run=True)
        }
        if name not in specs:
            is_figure = any(name == figure.name for figure in registry.FIGURES)
            reason = (
                ", for which these runs have nothing to show (docs/figures.md)" if is_figure else ""
            )
            raise ConfigError(f"plot: must be one of {', '.join(specs)}, got {name!r}{reason}")
        return registry.draw_picture(specs[name], figure_style).figure

    def save(
        self,
        folder: str | os.PathLike[str],
        style: str = "screen",
        formats: str | Sequence[str] = (),
    ) -> list[Path]:
        """Write law.json, the tables and the figures to `folder`; return their paths.

        `style` and `formats` are as for `harness fit-entropy-law`: "screen" or "paper"; "pdf,tex"
        or ["pdf", "tex"].
        """
        from harness.report import formats as report_formats
        from harness.report import write

        wanted = [formats] if isinstance(formats, str) else formats
        written_formats = report_formats.formats(style, wanted)
        return write.write_results(self.analysis, Path(folder), "auto", written_formats)

    def __repr__(self) -> str:
        verdicts = [run.verdict or "not read" for run in self.analysis.runs]
        counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
        summary = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
        return f"Law({len(verdicts)} runs; {summary})"


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

    Does what `harness fit-entropy-law` does (docs/law.md). `reward`, `entropy` and `step` name
    columns. `margins`: quantity -> largest difference between groups that counts as equivalent, as
    {"a": 0.1}. `reward_range`: lowest and highest possible value of R. `primary`: the quantity of
    the contrasts that gets most of the error. Raises ConfigError for an invalid range, margin or
    quantity.
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


def _check_range(bounds: Any) -> None:
    """Raise ConfigError unless `bounds` is None or two finite numbers, the lower one first."""
    if bounds is None:
        return
    is_pair = isinstance(bounds, Sequence) and not isinstance(bounds, str) and len(bounds) == 2
    is_numeric = is_pair and all(isinstance(end, Real) and math.isfinite(end) for end in bounds)
    if not (is_numeric and bounds[0] < bounds[1]):
        rule = "must be the lowest and the highest value that R can take, such as (0, 1)"
        raise ConfigError(f"reward_range: {rule}, got {bounds!r}")


def _flat_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per mapping, with nested ones flattened: {"a": {"value": 1, "low": 0}} becomes
    a=1, a_low=0.
    """
    rows = list(rows)
    frame = pd.DataFrame([_flatten(row) for row in rows])
    nested = {
        name
        for row in rows
        for name, value in row.items()
        if isinstance(value, Mapping) and _main_key(value) is None
    }
    return frame.drop(columns=[name for name in nested if name in frame])  # null in other rows


def _flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name in NESTED:
            continue
        if isinstance(value, Mapping):
            main = _main_key(value)
            flat |= {
                name if key == main else f"{name}_{key}": v for key, v in _flatten(value).items()
            }
        else:
            flat[name] = value
    return flat


def _main_key(value: Mapping[str, Any]) -> str | None:
    """Return the key of the estimate itself, next to the bounds of its interval; None if absent."""
    return next((key for key in ("value", "step", "mean") if key in value), None)


def _column_name(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in key.items()) or "all runs"
