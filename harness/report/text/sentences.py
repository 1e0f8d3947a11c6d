"""The lines around the table: what was left out, and what was found."""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.group_results import Analysis, GroupResult
from harness.law.results import RunResult
from harness.report.text import alternatives, findings, naming, wording
from harness.report.text.wording import plural


def not_read(analysis: Analysis) -> list[str]:
    """One line a run that gave no numbers; the message names file, rule and what was there."""
    failed = [run for run in analysis.runs if run.error is not None]
    if not failed:
        return []
    lines = [f"{plural(len(failed), 'run')} could not be read:"]
    return lines + [f"  {run.error.message} ({run.error.kind})" for run in failed if run.error]


def left_out(analysis: Analysis, called: dict[str, str]) -> list[str]:
    """Rows left out by reason, run by run, and whole runs left out."""
    damaged = [run for run in analysis.runs if run.dropped]
    lines = []
    if damaged:
        total = sum(sum(run.dropped.values()) for run in damaged)
        lines.append(f"{plural(total, 'row')} left out:")
        lines += [f"  {called[run.run]}: {counts(run)}" for run in damaged]
    if analysis.skipped:
        lines.append(f"{plural(len(analysis.skipped), 'path')} set aside:")
        lines += [f"  {entry.path}: {entry.reason}" for entry in analysis.skipped]
    return lines


def unknown_seeds(analysis: Analysis) -> list[str]:
    """What is not said of runs that may be repeats, and how to have it said."""
    unknown = sum(group.unknown_seeds for group in analysis.groups)
    if not unknown:
        return []
    return [
        f"The seed of {plural(unknown, 'run')} is unknown. Several of one config may be repeats, "
        "which are no replicates: their means have no interval and decide no difference. "
        "`seed: NUMBER` in the config.yaml of each, if they are seeds, makes them count."
    ]


def unfinished(analysis: Analysis, called: dict[str, str]) -> list[str]:
    """A line for each group that has such runs: how many are in no mean, and which diverged."""
    return [_unfinished(group, called) for group in analysis.groups if group.unfinished]


def _unfinished(group: GroupResult, called: dict[str, str]) -> str:
    names = ", ".join(called.get(run, run) for run in group.unfinished)
    whose = ", ".join(f"{axis}={value}" for axis, value in group.key.items())
    said = f"{len(group.unfinished)} of {plural(len(group.every), 'run')} unfinished"
    said += ", left out of every mean" if group.left_out else ", in the means by --with-unfinished"
    if group.diverged:
        said += f"; {len(group.diverged)} diverged"
    if not group.runs:
        said += "; no run is left, n = 0"
    return f"{f'{whose}: ' if whose else ''}{said} ({names})"


def counts(run: RunResult) -> str:
    """`2 nan, 1 torn last line`."""
    return ", ".join(f"{n} {wording.plain(reason)}" for reason, n in run.dropped.items())


def closing(analysis: Analysis, fitted: Sequence[RunResult]) -> list[str]:
    """One sentence a level: ceiling, verdicts, onset, and whether a line in H does as well."""
    return [
        f"{level}: {'; '.join(_found(analysis, members))}."
        for level, members in naming.by_level(analysis, fitted).items()
    ]


def _found(analysis: Analysis, members: Sequence[RunResult]) -> list[str]:
    told, _ = findings.told(analysis, members)
    found = [findings.law_finding(analysis, members), findings.onset_finding(analysis, members)]
    return [said for said in [*found, alternatives.against_linear(told)] if said]
