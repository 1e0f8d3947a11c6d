"""Sentences on what an analysis omits: rows, runs, paths and groups."""

from __future__ import annotations

from harness.law.group_results import Analysis, GroupResult
from harness.law.results import RunResult
from harness.records import run_state
from harness.report.text import wording
from harness.report.text.wording import plural
from harness.utils.safe_text import escape


def unreadable_runs(analysis: Analysis) -> list[str]:
    """Return a line per run that could not be read: file, rule and given value."""
    failed = [run for run in analysis.runs if run.error is not None]
    if not failed:
        return []
    lines = [f"{plural(len(failed), 'run')} could not be read:"]
    return lines + [f"  {run.error.message} ({run.error.kind})" for run in failed if run.error]


def omitted_rows(analysis: Analysis, run_names: dict[str, str]) -> list[str]:
    """Return the rows omitted from each run, by reason, and the paths omitted."""
    damaged = [run for run in analysis.runs if run.dropped]
    lines = []
    if damaged:
        total = sum(sum(run.dropped.values()) for run in damaged)
        lines.append(f"{plural(total, 'row')} left out:")
        lines += [f"  {run_names[run.run]}: {counts(run)}" for run in damaged]
    if analysis.skipped:
        lines.append(f"{plural(len(analysis.skipped), 'path')} skipped:")
        by_reason: dict[str, list[str]] = {}
        for entry in analysis.skipped:
            by_reason.setdefault(entry.reason, []).append(str(entry.path))
        lines += [f"  {', '.join(paths)}: {reason}" for reason, paths in by_reason.items()]
    return lines


def unknown_seeds(analysis: Analysis) -> list[str]:
    """Return what cannot be computed without the seeds, and how to provide them."""
    unknown = sum(group.unknown_seeds for group in analysis.groups)
    if not unknown:
        return []
    return [
        f"The seed of {plural(unknown, 'run')} is unknown. Runs of one config may then have the "
        "same seed, so their means have no interval and are not compared. If their seeds differ, "
        "write `seed: NUMBER` in the config.yaml of each."
    ]


def unfinished(analysis: Analysis, run_names: dict[str, str]) -> list[str]:
    """Return a line per group with unfinished runs: how many, and how many diverged."""
    return [_group_sentence(group, run_names) for group in analysis.groups if group.unfinished]


def _group_sentence(group: GroupResult, run_names: dict[str, str]) -> str:
    names = ", ".join(run_names.get(run, run) for run in group.unfinished)
    group_text = ", ".join(f"{axis}={value}" for axis, value in group.key.items())
    sentence = f"{len(group.unfinished)} of {plural(len(group.all_runs), 'run')} unfinished"
    sentence += (
        ", excluded from every mean" if group.left_out else ", included by --with-unfinished"
    )
    if group.diverged:
        sentence += f"; {len(group.diverged)} diverged"
    if not group.runs:
        sentence += "; no run is left, n = 0"
    return f"{f'{group_text}: ' if group_text else ''}{sentence} ({names})"


def ended_by_rule(analysis: Analysis) -> list[str]:
    """Return how many runs trainer.stop_when ended, and how that affects their numbers."""
    ended = [run for run in analysis.runs if run.ended_by_rule is not None]
    if not ended:
        return []
    steps = sorted({run.ended_by_rule for run in ended if run.ended_by_rule is not None})
    steps_text = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
    verb = "was" if len(ended) == 1 else "were"
    return [
        f"{len(ended)} of {plural(len(analysis.runs), 'run')} {verb} ended by trainer.stop_when, "
        f"at {steps_text}: final R and H are those of the step where a run ended, and a later "
        "onset was not seen. The rule depends on R, so these runs are not a random subset."
    ]


def counts(run: RunResult) -> str:
    """Return `2 nan, 1 torn last line`."""
    return ", ".join(
        f"{n} {wording.without_underscores(reason)}" for reason, n in run.dropped.items()
    )


FIRST_FEW = 3
"""Number of unfinished runs that are named; law.json names all."""
MOST_RUNS = 20
"""Number of damaged runs that are listed; law.json has all."""


def lines(analysis: Analysis) -> list[str]:
    """Return the rows left out, the unfinished runs, and the number of runs without row checksums.

    Example of the first: `left out of RUN: 5 nan (FILE:12, FILE:15, FILE:16, ...), 1 torn_last_line
    (FILE:41)`.
    """
    return [*_rows(analysis), *_unfinished(analysis), *_without_checksums(analysis)]


def _rows(analysis: Analysis) -> list[str]:
    damaged = [run for run in analysis.runs if run.dropped]
    sentences = [escape(f"left out of {run.run}: {_reasons(run)}") for run in damaged[:MOST_RUNS]]
    more = len(damaged) - MOST_RUNS
    return sentences + (
        [f"rows were also left out of {plural(more, 'more run')}: see law.json"] if more > 0 else []
    )


def _unfinished(analysis: Analysis) -> list[str]:
    """Return `2 runs are unfinished, excluded from means and contrasts (...): A (...), ...`."""
    partial = [run for run in analysis.runs if run.unfinished is not None]
    if not partial:
        return []
    names = [f"{run.run} ({status_and_step(run)})" for run in partial[:FIRST_FEW]]
    more = [f"{len(partial) - FIRST_FEW} more"] if len(partial) > FIRST_FEW else []
    runs_in_means = {run for group in analysis.groups for run in group.runs}
    means = "excluded from means and contrasts (include them with --with-unfinished)"
    if any(run.run in runs_in_means for run in partial):
        means = "included in means and contrasts by --with-unfinished"
    subject = "run is" if len(partial) == 1 else "runs are"
    return [escape(f"{len(partial)} {subject} unfinished, {means}: {', '.join(names + more)}")]


def status_and_step(run: RunResult) -> str:
    """Return `failed 70 at step 12 of 300`."""
    end = run.unfinished
    assert end is not None
    code = f" {end.exit_code}" if end.exit_code else ""
    steps_text = f" of {end.steps}" if end.steps is not None else ""
    return f"{state(run)}{code} at step {end.last_step}{steps_text}"


def state(run: RunResult) -> str:
    """Return the status of an unfinished run as a word; `damaged` if it is done or unknown."""
    end = run.unfinished
    assert end is not None
    if end.reason == run_state.DIED:
        return run_state.CRASHED
    return run_state.DAMAGED if end.status in ("done", None) else str(end.status)


def _without_checksums(analysis: Analysis) -> list[str]:
    """Say how many runs were written before rows had checksums."""
    count = sum(run.checksums == "none" for run in analysis.runs)
    verb = "has" if count == 1 else "have"
    sentence = f"{plural(count, 'run')} {verb} no row checksums (written by an older version)"
    return [f"{sentence}: a later change of a number would not be detected"] if count else []


def _reasons(run: RunResult) -> str:
    return ", ".join(f"{count} {why}{_row_places(run, why)}" for why, count in run.dropped.items())


def _row_places(run: RunResult, reason: str) -> str:
    locations = (run.dropped_at or {}).get(reason, ())
    if not locations:
        return ""
    more = ", ..." if run.dropped[reason] > len(locations) else ""
    return f" ({', '.join(locations)}{more})"
