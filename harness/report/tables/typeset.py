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
    written = [
        table for table in (_TABLES[name](analysis) for name in result_files.TYPESET) if table.rows
    ]
    return {f"{one.name}.{kind}": LANGUAGES[kind](one) for kind in kinds for one in written}


def _law(analysis: Analysis) -> TypesetTable:
    """Return the table of the runs that could be read."""
    called = naming.names(analysis)
    read = [run for run in analysis.runs if run.status == "ok"]
    levels = naming.by_level(analysis, read)
    rows = [_run(level, run, called[run.run]) for level, runs in levels.items() for run in runs]
    on = sorted({f"{run.reward}{', of the same batch' if run.same_batch else ''}" for run in read})
    notes = (
        f"law: R = -a exp(H) + b on {' and '.join(on)}; ceiling: b - a, the reward at H = 0",
        "[low, high]: 95% interval; ?: not identified, too uncertain to quote",
    )
    headings = ("level", "run", "regime", "verdict", "a", "b", "ceiling b - a", "onset")
    return TypesetTable("law", headings, 4, tuple(rows), notes)


def _run(level: str, run: RunResult, name: str) -> tuple[str, ...]:
    known = run.identified
    return (
        level,
        name,
        run.regime or NOTHING,
        wording.verdict(run.verdict),
        _interval(run.a, known is not None and known.a),
        _interval(run.b, known is not None and known.a),
        _interval(run.ceiling, known is not None and known.ceiling),
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
        (population.name(group), *map(_joined, cells))
        for group, cells in ((group, population.cells(group, groups)) for group in groups)
    )
    return TypesetTable(
        "levels", headings, 1, rows, (population.heading(groups), *population.FOOTNOTES)
    )


def _joined(lines: Sequence[str]) -> str:
    """Join the lines of a cell of the terminal: `88% [35%, 100%], 7 of 8, 2 open`."""
    told = [line for line in lines if line]
    if len(told) > 1 and told[0] == NOTHING:
        told = told[1:]
    if len(told) > 1 and told[1].startswith("["):
        told[:2] = [" ".join(told[:2])]
    return ", ".join(told) or NOTHING


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
    shown = listening.rows(analysis, (OWN,))
    rows = tuple(
        (
            row.short_name,
            ", ".join(listening.policies(row)),
            str(row.runs),
            *(_measured(row, name) for name in listening.MEASURED),
            *(
                wording.number(anchor.value) if (anchor := row.anchors[name]) else NOTHING
                for name in listening.ANCHORS
            ),
        )
        for row in shown
    )
    headings = (
        "trained on", "policy", "runs", *listening.MEASURED.values(), *listening.ANCHORS.values()
    )  # fmt: skip
    return TypesetTable(
        "listening", headings, 2, rows, tuple(listening.notes(shown)) if shown else ()
    )


def _measured(row: listening.ListeningRow, name: str) -> str:
    beside = listening.attentive(row) if name == "listening" else ""
    return f"{wording.pooled(row.measured[name]) or NOTHING} {beside}".strip()


_TABLES: dict[str, Callable[[Analysis], TypesetTable]] = {
    "law": _law, "levels": _levels, "contrasts": _contrasts, "transfer": _transfer,
    "listening": _listening,
}  # fmt: skip
