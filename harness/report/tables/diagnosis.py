"""The diagnosis on a terminal: a line per run and, for a single run, every sign."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.law.diagnosis.results import (
    EXPLORATION,
    MECHANISMS,
    RELIABILITY,
    Diagnosis,
    MechanismFinding,
    Sign,
)
from harness.law.result_parts import SkippedPath
from harness.law.results import Interval
from harness.report.tables.grid import folding_table
from harness.report.text import naming, wording
from harness.utils.safe_text import text

MEANS: Mapping[str, str] = {
    "starved": "more than half of the groups have no signal, H stays, and R gains nothing",
    "noise": "advantages are not related to rewards, so nothing was learnt from the rewards",
    "fewer_facts": "the policy takes up fewer true facts than at the start",
    "false_facts": "the policy takes up more false facts than at the start, or errs more if warmer",
    "solving": "the policy solves more and the training reward rises, but users feel no better",
}
"""Flag -> its meaning."""
FEW = 3
"""The most paths that are named."""
METHOD = "[low, high]: 95% interval; a flag needs the whole interval beyond its threshold"
UNASKED = "`harness probe reliability RUN` measures reliability, for language models only"


def print_diagnosis(
    diagnoses: Sequence[Diagnosis], left_out: Sequence[SkippedPath], console: Console
) -> None:
    """Print a line per run, the meaning of its flags, and why others are left out."""
    console.print(table(diagnoses, naming.short_names([diagnosis.run for diagnosis in diagnoses])))
    if len(diagnoses) == 1:
        console.print(_signs(diagnoses[0]))
    for line in notes(diagnoses):
        console.print(text(line, "dim"), soft_wrap=True)
    paths: dict[str, list[str]] = {}
    for skipped in left_out:
        paths.setdefault(skipped.reason, []).append(str(skipped.path))
    for reason, skipped_paths in paths.items():
        line = f"{_list_paths(skipped_paths)} left out: {reason}"
        console.print(text(line, "dim"), soft_wrap=True)


def _list_paths(paths: Sequence[str]) -> str:
    """Return the paths if they are few, else their number."""
    return ", ".join(paths) if len(paths) <= FEW else wording.plural(len(paths), "path")


def table(diagnoses: Sequence[Diagnosis], run_names: Mapping[str, str]) -> Table:
    """Return a table with a row per run. `run_names`: run -> name."""
    rows = folding_table("run", *MECHANISMS)
    for diagnosis in diagnoses:
        findings = (cell(finding, diagnosis.regime) for finding in diagnosis.findings)
        rows.add_row(text(run_names[diagnosis.run]), *findings)
    return rows


def notes(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """Return the meaning of the flags raised, what was not measured and why, and omitted rows."""
    raised = {flag for diagnosis in diagnoses for flag in diagnosis.flags}
    lines = [
        f"{wording.without_underscores(flag)}: {meaning}"
        for flag, meaning in MEANS.items()
        if flag in raised
    ]
    lines += [METHOD] if raised else []
    for mechanism, subject in (
        (EXPLORATION, "whether advantages follow rewards"),
        (RELIABILITY,) * 2,
    ):
        lines += _not_measured(diagnoses, mechanism, subject)
    for diagnosis in diagnoses:
        rows = ", ".join(
            f"{n} {wording.without_underscores(reason)}" for reason, n in diagnosis.dropped.items()
        )
        lines += [f"rows left out of {diagnosis.run}: {rows}"] if rows else []
    facts = [f for diagnosis in diagnoses for f in diagnosis.findings if f.mechanism == RELIABILITY]
    is_measured = any(finding.measured for finding in facts)
    is_unmeasured = any(not finding.measured and finding.why is None for finding in facts)
    return [*lines, UNASKED] if is_unmeasured and not is_measured else lines


def _not_measured(diagnoses: Sequence[Diagnosis], mechanism: str, subject: str) -> Iterator[str]:
    """Yield why something was not measured, one line per reason."""
    findings = [
        f for diagnosis in diagnoses for f in diagnosis.findings if f.mechanism == mechanism
    ]
    for why, count in Counter(f.why for f in findings if f.why is not None).items():
        yield f"{subject} is not measured in {wording.plural(count, 'run')}: {why}"


def cell(finding: MechanismFinding, regime: str | None) -> Text:
    """Return the flag with the interval behind it; without a flag on exploration, the regime."""
    if finding.flag is not None and finding.because is not None:
        number = _number(finding.because.value)
        return text(f"{wording.without_underscores(finding.flag)} {number}", "bold")
    if not finding.measured:
        return text("not measured")
    parts = ["no flag"]
    if finding.mechanism == EXPLORATION:
        parts += [regime] if regime is not None else []
        parts += ["noise not measured"] if finding.why is not None else []
    return text(", ".join(parts))


def _signs(diagnosis: Diagnosis) -> Table:
    table = folding_table("sign", "of", "value [95%]")
    for finding in diagnosis.findings:
        for sign in finding.signs:
            table.add_row(
                text(_sign_name(sign)), text(finding.mechanism), text(_number(sign.value))
            )
    return table


def _sign_name(sign: Sign) -> str:
    return f"{sign.name} ({sign.unit})"


def _number(value: Interval | None) -> str:
    if value is None:
        return "not measured"
    if not math.isfinite(value.low) or not math.isfinite(value.high):
        return wording.number(value.value)
    return wording.interval(value)
