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
    found: Sequence[Diagnosis], left_out: Sequence[SkippedPath], console: Console
) -> None:
    """Print a line per run, the meaning of its flags, and why others are left out."""
    console.print(table(found, naming.short_names([one.run for one in found])))
    if len(found) == 1:
        console.print(_signs(found[0]))
    for line in notes(found):
        console.print(text(line, "dim"), soft_wrap=True)
    paths: dict[str, list[str]] = {}
    for skipped in left_out:
        paths.setdefault(skipped.reason, []).append(str(skipped.path))
    for reason, named in paths.items():
        line = f"{_few(named)} left out: {reason}"
        console.print(text(line, "dim"), soft_wrap=True)


def _few(paths: Sequence[str]) -> str:
    """Return the paths if they are few, else their number."""
    return ", ".join(paths) if len(paths) <= FEW else wording.plural(len(paths), "path")


def table(found: Sequence[Diagnosis], called: Mapping[str, str]) -> Table:
    """Return a table with a row per run. `called`: run -> name."""
    rows = folding_table("run", *MECHANISMS)
    for one in found:
        findings = (cell(finding, one.regime) for finding in one.findings)
        rows.add_row(text(called[one.run]), *findings)
    return rows


def notes(found: Sequence[Diagnosis]) -> list[str]:
    """Return the meaning of the flags raised, what was not measured and why, and omitted rows."""
    raised = {flag for one in found for flag in one.flags}
    lines = [
        f"{wording.without_underscores(flag)}: {meaning}"
        for flag, meaning in MEANS.items()
        if flag in raised
    ]
    lines += [METHOD] if raised else []
    for mechanism, what in ((EXPLORATION, "whether advantages follow rewards"), (RELIABILITY,) * 2):
        lines += _unknown(found, mechanism, what)
    for one in found:
        rows = ", ".join(
            f"{n} {wording.without_underscores(reason)}" for reason, n in one.dropped.items()
        )
        lines += [f"rows left out of {one.run}: {rows}"] if rows else []
    facts = [f for one in found for f in one.findings if f.mechanism == RELIABILITY]
    asked = any(finding.measured for finding in facts)
    unasked = any(not finding.measured and finding.why is None for finding in facts)
    return [*lines, UNASKED] if unasked and not asked else lines


def _unknown(found: Sequence[Diagnosis], mechanism: str, what: str) -> Iterator[str]:
    """Yield why something was not measured, one line per reason."""
    findings = [f for one in found for f in one.findings if f.mechanism == mechanism]
    for why, count in Counter(f.why for f in findings if f.why is not None).items():
        yield f"{what} is not measured in {wording.plural(count, 'run')}: {why}"


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


def _signs(one: Diagnosis) -> Table:
    table = folding_table("sign", "of", "value [95%]")
    for finding in one.findings:
        for sign in finding.signs:
            table.add_row(text(_named(sign)), text(finding.mechanism), text(_number(sign.value)))
    return table


def _named(sign: Sign) -> str:
    return f"{sign.name} ({sign.unit})"


def _number(value: Interval | None) -> str:
    if value is None:
        return "not measured"
    if not math.isfinite(value.low) or not math.isfinite(value.high):
        return wording.number(value.value)
    return wording.interval(value)
