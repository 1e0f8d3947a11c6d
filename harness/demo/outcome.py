"""The results of the demo's runs, compared with what they were constructed to show."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.config.run import SCHEMA
from harness.demo.constructions import COMMON, Construction
from harness.law.estimate import numbers
from harness.law.group_results import Analysis
from harness.law.results import Floats, RunResult, RunSeries
from harness.records.sweep_file import Sweep
from harness.report.figures import demo as figure
from harness.report.figures.demo import DemoPanel
from harness.report.text import wording

REASONS = {
    "too_few_steps": "too few independent points",
    "wrong_sign": "R fell as H fell",
    "no_relation": "H did not move R",
    "identification_range": "a slope of 0 is not ruled out",
    "law_break": "R deviated from the law",
    "misfit": "R depends on more than H",
    "rival_better": "another curve fits better",
    "reward_falls_while_entropy_falls": "R rose and then fell",
    "entropy_rises": "H came back",
    "reward_died": "R fell for good",
    "stages": "its users changed",
    "mixed": "the users changed from step to step",
    "intervened": "a remedy acted on H",
    "not_validated_out_of_time": "the first part did not predict the rest",
    "invalid_users": "the users are not valid",
    "noise_driven": "noise explains the fall of H",
}
"""Reason of a verdict -> its wording for new readers."""
LEAST_WIDTH, MOST_WIDTH = 40, 100
INDENT = "  "


@dataclass(frozen=True)
class StartAndEnd:
    """A quantity at the start and at the end of a run: means of the first and the last tenth."""

    start: float
    end: float


@dataclass(frozen=True)
class DemoResult:
    """Result of one run of the demo. None marks what could not be judged."""

    construction: Construction
    path: str
    status: str
    result: RunResult | None
    entropy: StartAndEnd | None
    """Policy entropy, nats."""
    reward: StartAndEnd | None
    """Reward, usually of held-out users; the start is the first value."""

    @property
    def regime(self) -> str | None:
        return self.result.regime if self.result else None

    @property
    def as_constructed(self) -> bool:
        """Whether the run shows one of the regimes that it was constructed for."""
        return self.regime in self.construction.regimes

    def to_json(self) -> dict[str, Any]:
        """Return the run's entry in the output of --json."""
        construction, result = self.construction, self.result
        return {
            "name": construction.name,
            "dir": self.path,
            "because": construction.because,
            "overrides": list(construction.words),
            "expected": list(construction.regimes),
            "status": self.status,
            "as_constructed": self.as_constructed,
            "regime": self.regime,
            "onset": asdict(result.onset) if result and result.onset else None,
            "reward": result.reward if result else None,
            "verdict": result.verdict if result else None,
            "reasons": list(result.reasons or ()) if result else None,
            "entropy_ends": asdict(self.entropy) if self.entropy else None,
            "reward_ends": asdict(self.reward) if self.reward else None,
            "null_share": asdict(result.null_share) if result and result.null_share else None,
        }


def judge_runs(
    constructions: Sequence[Construction], ledger: Sweep, analysis: Analysis
) -> list[DemoResult]:
    """Return the result of each construction, in order."""
    results = {Path(run.run).name: run for run in analysis.runs if run.status == "ok"}
    rows = {row.name: row for row in ledger.runs}
    return [
        _demo_result(construction, rows, results.get(construction.name), analysis)
        for construction in constructions
    ]


def _demo_result(
    construction: Construction, rows: dict[str, Any], result: RunResult | None, analysis: Analysis
) -> DemoResult:
    row = rows[construction.name]
    series = analysis.series.get(result.run) if result else None
    return DemoResult(
        construction, str(row.dir), row.status, result,
        _start_and_end(series.course_entropy) if series else None,
        _reward_ends(series) if series else None,
    )  # fmt: skip


def _start_and_end(values: Floats) -> StartAndEnd | None:
    tenth = max(1, len(values) // 10)
    return (
        StartAndEnd(numbers.mean(values[:tenth]), numbers.mean(values[-tenth:]))
        if len(values)
        else None
    )


def _reward_ends(series: RunSeries) -> StartAndEnd | None:
    values = series.reward[np.isfinite(series.reward)]
    return (
        StartAndEnd(float(values[0]), numbers.mean(numbers.last_tenth(values)))
        if len(values)
        else None
    )


def panels(results: Sequence[DemoResult], analysis: Analysis) -> list[DemoPanel]:
    """Return the panels of the figure, for the runs that have rows."""
    titles = {
        result.result.run: (result.construction.name.replace("_", " "), result.construction.because)
        for result in results
        if result.result is not None
    }
    return figure.panels(analysis, titles)


def to_json(results: Sequence[DemoResult], root: Path, picture: Path) -> dict[str, Any]:
    """Return the output of --json."""
    runs = [result.to_json() for result in results]
    return {"schema": SCHEMA, "dir": str(root), "runs": runs, "figure": str(picture)}


def lines(results: Sequence[DemoResult], width: int) -> Iterator[str]:
    """Yield each run's purpose, overrides and result, in lines of at most `width` characters."""
    width = min(max(width, LEAST_WIDTH), MOST_WIDTH)
    shared = [word for word in COMMON if all(word in r.construction.words for r in results)]
    for result in results:
        construction = result.construction
        yield from _wrap(f"{construction.name}: {construction.because}", "", width)
        overrides = " ".join(word for word in construction.words if word not in shared)
        yield from _wrap(overrides, INDENT, width)
        yield from _wrap(_describe_result(result), INDENT, width)
    yield from _wrap(f"all: {' '.join(shared)}", "", width)


def _describe_result(demo_run: DemoResult) -> str:
    """Return `-> collapsed: H 1.60 to 0.26, held-out R 0.74 to 0.86; collapse from ...`."""
    result = demo_run.result
    if result is None or demo_run.entropy is None or demo_run.reward is None:
        return f"-> {demo_run.status}: not judged"
    changes = [
        f"H {_move(demo_run.entropy)} nats",
        f"{_reward_name(result)} {_move(demo_run.reward)}",
    ]
    parts = [
        ", ".join(changes),
        wording.onset_words(result.onset),
        _verdict_words(result),
        *_noise_words(result),
    ]
    expected = (
        ""
        if demo_run.as_constructed
        else f" (made to be {' or '.join(demo_run.construction.regimes)})"
    )
    return f"-> {result.regime or 'too short to tell'}{expected}: {'; '.join(parts)}"


def _move(ends: StartAndEnd) -> str:
    return f"{wording.number(ends.start)} to {wording.number(ends.end)}"


def _reward_name(result: RunResult) -> str:
    return "R of its own batches" if result.same_batch else "held-out R"


def _verdict_words(result: RunResult) -> str:
    """Return the verdict with its reasons."""
    reasons = ", ".join(REASONS[reason] for reason in result.reasons or ())
    words = wording.VERDICT_WORDS.get(result.verdict or "", "law undetermined")
    return f"{words}{f' ({reasons})' if reasons else ''}"


def _noise_words(result: RunResult) -> list[str]:
    share = result.null_share
    if share is None:
        return []
    return [f"with shuffled advantages H falls {wording.percent(share)} as far"]


def _wrap(sentence: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        sentence, width, initial_indent=indent, subsequent_indent=f"{indent}{INDENT}",
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
