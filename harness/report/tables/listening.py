"""What policies hear and what that is worth: groups of runs and reference policies, by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from harness.law.compare.seed_means import drop_interval_of_repeats, mean_over_seeds
from harness.law.group_results import Analysis, GroupResult, SeedMean
from harness.law.result_parts import Yardsticks
from harness.law.results import BoundedEstimate, RunResult
from harness.records.outcomes import OWN
from harness.report.tables.grid import folding_table, stack_lines
from harness.report.text import wording
from harness.utils.safe_text import text

MEASURED = {
    "reward": "reward",
    "share": "share",
    "listening": "listening",
    "deaf_reward": "deaf reward",
}
"""Field of a run's yardsticks -> heading."""
ANCHORS = {"deaf": "schedule", "attentive": "attentive", "optimum": "optimum"}
"""Field of the anchors that is a reward -> word."""
NOTES = (
    "reward and deaf reward (hearing another user's words): mean of the last tenth of the "
    "evaluations, over seeds; listening: in nats, with the attentive reference in brackets",
    "share: (reward - schedule) / (optimum - schedule); schedule: the best fixed sequence of "
    "strategies, which ignores the user; template: a policy that is diverse and deaf",
)
NO_ANCHORS = "no anchors in cards.json, so rewards of reference policies are not shown"
MOST_ROWS = 40


@dataclass(frozen=True)
class ListeningRow:
    """A group of runs at one level."""

    trained_on: str
    level: str
    """`own`, or the named level at which the runs were evaluated."""
    runs: int
    measured: dict[str, SeedMean]
    """By the keys of MEASURED."""
    anchors: dict[str, BoundedEstimate | None]
    """By the keys of ANCHORS."""
    attentive_listening: float | None
    words: dict[str, int]
    """Verdict on the policy -> number of runs; empty except at the runs' own level."""
    short_name: str
    """See `wording.short_name`."""


def rows(analysis: Analysis, levels: Sequence[str] | None = None) -> list[ListeningRow]:
    """Return the groups at each of `levels`, or at all if None; empty if no run was measured.

    Unfinished runs are excluded from means.
    """
    runs = {run.run: run for run in analysis.runs if run.yardsticks}
    if not any(
        _has_numbers(end) for run in runs.values() for end in (run.yardsticks or {}).values()
    ):
        return []
    members = [(g, [runs[name] for name in g.runs if name in runs]) for g in analysis.groups]
    return [
        row
        for group, group_runs in members
        if group_runs
        for row in _rows(group, group_runs, levels)
    ]


def _has_numbers(end: Yardsticks) -> bool:
    return end.listening is not None or end.deaf_reward is not None or end.anchors.deaf is not None


def _rows(
    group: GroupResult, runs: Sequence[RunResult], levels: Sequence[str] | None
) -> Iterator[ListeningRow]:
    met_levels = dict.fromkeys(level for run in runs for level in run.yardsticks or {})
    for level in met_levels if levels is None else [name for name in met_levels if name in levels]:
        run_ends = [(run, (run.yardsticks or {}).get(level)) for run in runs]
        ends = [(run, end) for run, end in run_ends if end is not None]
        anchors = next((e.anchors for _, e in ends if e.anchors.deaf), ends[0][1].anchors)
        words = [run.policy_verdict for run, _ in ends if level == OWN and run.policy_verdict]
        yield ListeningRow(
            trained_on=_trained_on(group, runs),
            level=level,
            runs=len(ends),
            measured={name: _mean(name, ends) for name in MEASURED},
            anchors={name: getattr(anchors, name) for name in ANCHORS},
            attentive_listening=anchors.attentive_listening,
            words={word: words.count(word) for word in dict.fromkeys(words)},
            short_name=wording.short_name(group.key),
        )


def _trained_on(group: GroupResult, runs: Sequence[RunResult]) -> str:
    """Return the level if the groups differ in nothing else, else the values of all axes."""
    by_level = set(group.key) <= {"difficulty"}
    return (runs[0].level if by_level else None) or wording.group_name(group.key)


def _mean(name: str, ends: Sequence[tuple[RunResult, Yardsticks]]) -> SeedMean:
    measured = [(run.seed, getattr(end, name)) for run, end in ends]
    present = [(seed, value) for seed, value in measured if value is not None]
    pool = mean_over_seeds([value for _, value in present], len(measured) - len(present))
    return drop_interval_of_repeats(pool, [seed for seed, _ in present])


def table(listening_rows: Sequence[ListeningRow]) -> Table:
    """Return the table for a terminal, with at most MOST_ROWS rows."""
    rich_table = folding_table("trained on", *MEASURED.values(), "references", "policy")
    for row in listening_rows[:MOST_ROWS]:
        rich_table.add_row(*_cells(row))
    if len(listening_rows) > MOST_ROWS:
        rich_table.add_row(text(f"{len(listening_rows) - MOST_ROWS} more in listening.csv"))
    return rich_table


def _cells(row: ListeningRow) -> list[Text]:
    labels = [row.trained_on] if row.level == OWN else [row.trained_on, f"on {row.level}"]
    cells = [stack_lines(*labels)]
    for name in MEASURED:
        value, _, ends = (wording.pooled(row.measured[name]) or "-").partition(" ")
        cells.append(stack_lines(value, ends, attentive(row) if name == "listening" else ""))
    anchors = [(words, row.anchors[name]) for name, words in ANCHORS.items()]
    references = [f"{words} {wording.number(anchor.value)}" for words, anchor in anchors if anchor]
    cells.append(stack_lines(*(references or ["-"])))
    return [*cells, stack_lines(*policies(row))]


def attentive(row: ListeningRow) -> str:
    """Return `(1.39)`, the listening of the attentive reference; empty if the card lacks it."""
    return f"({wording.number(row.attentive_listening)})" if row.attentive_listening else ""


def policies(row: ListeningRow) -> list[str]:
    """Return the verdicts on the policies of the runs: `listens in 2`, `deaf in 1`."""
    words = [word if row.runs == 1 else f"{word} in {count}" for word, count in row.words.items()]
    return words or ["-"]


def notes(listening_rows: Sequence[ListeningRow]) -> list[str]:
    """Return the sentences below the table."""
    has_no_anchors = all(row.anchors["deaf"] is None for row in listening_rows)
    return [*NOTES, *([NO_ANCHORS] if has_no_anchors else [])]


BOUNDS = ("", "_low", "_high")
COLUMNS = (
    "trained_on",
    "level",
    "runs",
    *(f"{name}{end}" for name in MEASURED for end in BOUNDS),
    *(f"{name}{end}" for name in ("deaf_schedule", "attentive", "optimum") for end in BOUNDS),
    "attentive_listening",
    "listens",
    "template",
    "deaf",
)


def csv_rows(analysis: Analysis) -> Iterator[dict[str, float | int | str | None]]:
    """Yield each group at each level, with values for COLUMNS."""
    for row in rows(analysis):
        values: dict[str, float | int | str | None] = {
            "trained_on": row.trained_on,
            "level": row.level,
            "runs": row.runs,
            "attentive_listening": row.attentive_listening,
        }
        for name, mean in row.measured.items():
            values |= _ends(name, (mean.mean, mean.low, mean.high))
        for name, anchor in row.anchors.items():
            column = "deaf_schedule" if name == "deaf" else name
            if anchor is not None:
                values |= _ends(column, (anchor.value, anchor.low, anchor.high))
        verdict_counts = {word: row.words.get(word, 0) for word in ("listens", "template", "deaf")}
        yield values | (verdict_counts if row.words else {})


def _ends(name: str, values: tuple[float | None, ...]) -> dict[str, float | None]:
    return dict(zip([name + end for end in BOUNDS], values, strict=True))
