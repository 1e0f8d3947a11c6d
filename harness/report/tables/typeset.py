"""Tables in LaTeX or Markdown for papers and web pages, with the numbers of the CSV files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness.config.run import LEVELS
from harness.law.group_results import Analysis
from harness.law.results import Interval, RunResult
from harness.records.outcomes import OWN
from harness.report.tables import contrasts, listening, population, result_files, transfer
from harness.report.tables.languages import LANGUAGES
from harness.report.tables.languages import TypesetTable as TypesetTable
from harness.report.tables.languages import in_markdown as in_markdown
from harness.report.tables.languages import markdown as markdown
from harness.report.text import naming, wording

NOTHING = "-"


def typeset_files(analysis: Analysis, kinds: Sequence[str]) -> dict[str, str]:
    """Return file name -> content of each table that has rows, in each of `kinds` (tex, md)."""
    tables = [
        table for table in (_TABLES[name](analysis) for name in result_files.TYPESET) if table.rows
    ]
    return {f"{table.name}.{kind}": LANGUAGES[kind](table) for kind in kinds for table in tables}


def _law(analysis: Analysis) -> TypesetTable:
    """Return the table of the runs that could be read."""
    run_names = naming.names(analysis)
    readable = [run for run in analysis.runs if run.status == "ok"]
    levels = naming.by_level(analysis, readable)
    rows = [_run(level, run, run_names[run.run]) for level, runs in levels.items() for run in runs]
    reward_columns = sorted(
        {f"{run.reward}{', of the same batch' if run.same_batch else ''}" for run in readable}
    )
    notes = (
        f"law: R = -a exp(H) + b on {' and '.join(reward_columns)}; "
        "ceiling: b - a, the reward at H = 0",
        "[low, high]: 95% interval; ?: not identified, too uncertain to quote",
    )
    headings = ("level", "run", "regime", "verdict", "a", "b", "ceiling b - a", "onset")
    return TypesetTable("law", headings, 4, tuple(rows), notes)


def _run(level: str, run: RunResult, name: str) -> tuple[str, ...]:
    identified = run.identified
    return (
        level,
        name,
        run.regime or NOTHING,
        wording.verdict(run.verdict),
        _interval(run.a, identified is not None and identified.a),
        _interval(run.b, identified is not None and identified.a),
        _interval(run.ceiling, identified is not None and identified.ceiling),
        NOTHING
        if run.onset is None
        else f"{run.onset.step:.0f} {wording.step_interval(run.onset.low, run.onset.high)}",
    )


def _interval(number: Interval | None, identified: bool) -> str:
    if number is None:
        return NOTHING
    return wording.interval(number) + ("" if identified else wording.UNIDENTIFIED)


def _levels(analysis: Analysis) -> TypesetTable:
    groups = population.order(analysis)
    headings = ("level", *population.headings(groups))
    rows = tuple(
        (population.name(group), *map(_join_lines, cells))
        for group, cells in ((group, population.cells(group, groups)) for group in groups)
    )
    return TypesetTable(
        "levels", headings, 1, rows, (population.heading(groups), *population.FOOTNOTES)
    )


def _join_lines(lines: Sequence[str]) -> str:
    """Join the lines of a cell of the terminal: `88% [35%, 100%], 7 of 8, 2 open`."""
    parts = [line for line in lines if line]
    if len(parts) > 1 and parts[0] == NOTHING:
        parts = parts[1:]
    if len(parts) > 1 and parts[1].startswith("["):
        parts[:2] = [" ".join(parts[:2])]
    return ", ".join(parts) or NOTHING


def _contrasts(analysis: Analysis) -> TypesetTable:
    rows = tuple(
        (
            wording.short_name(group.key),
            wording.short_name(contrast.baseline),
            contrasts.QUANTITY.get(contrast.quantity, contrast.quantity),
            wording.without_underscores(contrast.decision),
            *(number.removeprefix("p ") for number in contrasts.numbers(contrast)),
        )
        for group in analysis.groups
        for contrast in group.contrasts
        if contrast.difference is not None
    )
    notes = tuple(contrasts.notes(analysis)[:1])
    headings = ("group", "minus", "quantity", "decision", "difference [95%]", "p (Holm)")
    return TypesetTable("contrasts", headings, 4, rows, notes)


def _transfer(analysis: Analysis) -> TypesetTable:
    rows = tuple(
        (name, str(row["runs"]), *_by_level(row)) for name, row in transfer.named_rows(analysis)
    )
    notes = ("reward of the last evaluation at each level, mean over seeds [95%]",)
    return TypesetTable("transfer", ("trained on", "runs", *LEVELS), 1, rows, notes)


def _by_level(row: dict[str, Any]) -> Iterator[str]:
    for level in LEVELS:
        value, low, high = (row.get(f"{level}{end}") for end in transfer.BOUNDS)
        if value is None:
            yield NOTHING
        elif low is None or high is None:
            yield wording.number(value)
        else:
            yield wording.estimate(value, low, high)


def _listening(analysis: Analysis) -> TypesetTable:
    listening_rows = listening.rows(analysis, (OWN,))
    rows = tuple(
        (
            row.short_name,
            ", ".join(listening.policies(row)),
            str(row.runs),
            *(_mean_with_reference(row, name) for name in listening.MEASURED),
            *(
                wording.number(anchor.value) if (anchor := row.anchors[name]) else NOTHING
                for name in listening.ANCHORS
            ),
        )
        for row in listening_rows
    )
    headings = (
        "trained on", "policy", "runs", *listening.MEASURED.values(), *listening.ANCHORS.values()
    )  # fmt: skip
    return TypesetTable(
        "listening",
        headings,
        2,
        rows,
        tuple(listening.notes(listening_rows)) if listening_rows else (),
    )


def _mean_with_reference(row: listening.ListeningRow, name: str) -> str:
    reference = listening.attentive(row) if name == "listening" else ""
    return f"{wording.pooled(row.measured[name]) or NOTHING} {reference}".strip()


_TABLES: dict[str, Callable[[Analysis], TypesetTable]] = {
    "law": _law, "levels": _levels, "contrasts": _contrasts, "transfer": _transfer,
    "listening": _listening,
}  # fmt: skip
