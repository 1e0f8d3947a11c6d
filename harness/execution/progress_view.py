"""Formats the progress of runs: a table, single lines, and a sentence about all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.text import Text

from harness.records import run_state
from harness.records.run_state import MOST_URGENT_FIRST
from harness.utils import terminal
from harness.utils.safe_text import escape, text

LEGEND = "H, R, emotion: last batch; held-out R: `harness watch`"
COLUMNS = ("run", "status", "step", "H", "R", "emotion", "left")
RUN, STATUS, STEP, ENTROPY, REWARD, EMOTION, LEFT = range(len(COLUMNS))
LONGEST_NAME, LONGEST_REASON = 40, 60
LEAST = {LEFT: 16, RUN: 12}
"""Minimal column widths: a narrow screen cuts names and reasons, not numbers."""

USUAL = ("0.00", "0.00", "0", "90 min")
"""Typical cells, which reserve column widths before the first step."""


@dataclass(frozen=True)
class RunView:
    """Progress of a run, as far as its folder says."""

    name: str
    steps: int
    """Planned number of steps."""
    status: str = "planned"
    reason: str | None = None
    attempt: int = 0
    step: int = 0
    entropy: float | None = None
    reward: float | None = None
    emotion: float | None = None
    left_s: float | None = None
    """Estimated remaining seconds, from the recent pace."""


def table(
    views: Sequence[RunView], row_limit: int, columns: int | None = None, at_once: int = 0
) -> Group:
    """Return a table of at most `row_limit` runs, `columns` characters wide, running ones first.

    Below it are the counts of the runs not shown and the remaining time of all, of which `at_once`
    run at once (`overall_left_s`).
    """
    order = sorted(range(len(views)), key=lambda i: _rank(views[i]))
    visible = [views[index] for index in sorted(order[: max(row_limit, 1)])]
    rows = [COLUMNS, *map(_cells, visible)]
    usual = [("", "running", f"{view.steps}/{view.steps}", *USUAL) for view in visible]
    widths = terminal.fit([*rows, *usual], columns, LEAST, (EMOTION,))
    lines = [_line(COLUMNS, widths, dict.fromkeys(widths, "bold"))]
    for view, cells in zip(visible, rows[1:], strict=True):
        style = terminal.STYLES.get(view.status, "dim")
        lines.append(_line(cells, widths, {STATUS: style, LEFT: _style_of_last(view)}))
    hidden = Counter(views[index].status for index in order[len(visible) :])
    counts = ", ".join(f"{count} {status}" for status, count in hidden.items())
    notes = [f"and {counts}"] if counts else []
    notes += [overall(views, at_once)] if len(views) > 1 else []
    notes.append(LEGEND)
    wrapped = [terminal.wrap(note, columns).split("\n") for note in notes]
    return Group(*lines, *(text(line, "dim") for note in wrapped for line in note))


def _line(cells: Sequence[str], widths: Mapping[int, int], styles: Mapping[int, str]) -> Text:
    result = Text(no_wrap=True, overflow="ignore")
    for number, width in widths.items():
        result.append(f"{terminal.cell(cells[number], width):{width}}", styles.get(number, ""))
        result.append(terminal.GAP)
    result.rstrip()
    return result


def _rank(view: RunView) -> int:
    return MOST_URGENT_FIRST.index(view.status)


def _is_held_up(view: RunView) -> bool:
    return view.status in run_state.ENDED or view.reason is not None


def _style_of_last(view: RunView) -> str:
    return terminal.STYLES.get(view.status, "dim") if view.status in run_state.ENDED else ""


def _cells(view: RunView) -> tuple[str, ...]:
    reason = terminal.truncate(escape(view.reason or ""), LONGEST_REASON)
    return (
        terminal.cell(escape(view.name), LONGEST_NAME),
        escape(view.status),
        _steps(view),
        _decimal(view.entropy),
        _decimal(view.reward),
        _decimal(view.emotion, 0),
        reason if _is_held_up(view) else duration(view.left_s),
    )


def running(views: Sequence[RunView]) -> int:
    """Return how many of the runs are running."""
    return sum(view.status == "running" for view in views)


def overall(views: Sequence[RunView], at_once: int = 0) -> str:
    """Return `3 of 9 runs done, 2 running; some 12 min left for all`."""
    counts = Counter(view.status for view in views)
    counted = [f"{counts[word]} {word}" for word in MOST_URGENT_FIRST[:-2] if counts[word]]
    left_s = overall_left_s(views, at_once)
    remaining = "" if left_s is None else f"; about {duration(left_s)} left for all runs"
    return ", ".join([f"{counts['done']} of {len(views)} runs done", *counted]) + remaining


def overall_left_s(views: Sequence[RunView], at_once: int = 0) -> float | None:
    """Estimate the seconds until all runs are done, at the mean pace of those that run.

    `at_once`: most runs that ran at once, since just now a process may be between two runs. Returns
    None if no run has a pace yet.
    """
    unfinished = [view for view in views if view.status in ("planned", "running")]
    paces = [
        view.left_s / (view.steps - view.step)
        for view in unfinished
        if view.status == "running" and view.left_s is not None and view.steps > view.step
    ]
    if not paces:
        return None
    steps = sum(max(view.steps - view.step, 0) for view in unfinished)
    return steps * sum(paces) / len(paces) / min(max(at_once, running(views)), len(unfinished))


SHARE_A_LINE = 0.1
"""Share of a run's steps after which another plain line is printed."""


def worth_a_line(printed: RunView, now: RunView) -> bool:
    """Whether a run needs a new line: since `printed`, its status, attempt or reason has changed
    (an endpoint's outage is a reason), or it has completed another tenth of its steps.
    """
    if (printed.status, printed.attempt, printed.reason) != (now.status, now.attempt, now.reason):
        return now.status != "planned"
    size = max(1.0, now.steps * SHARE_A_LINE)
    return now.status == "running" and now.step // size > printed.step // size


def line(view: RunView) -> str:
    """Return `0-easy-seed1: running, 20/100 steps, H 1.04, batch R 0.45, ..., 2 min left`."""
    parts = [view.status, f"{_steps(view)} steps"]
    measured = (("H", view.entropy, 2), ("batch R", view.reward, 2), ("emotion", view.emotion, 0))
    parts += [f"{word} {_decimal(v, digits)}" for word, v, digits in measured if v is not None]
    if view.left_s is not None:
        parts.append(f"{duration(view.left_s)} left")
    if view.reason:
        parts.append(view.reason)
    return f"{view.name}: {', '.join(parts)}"


def _steps(view: RunView) -> str:
    return f"{view.step}/{view.steps or '?'}"  # a run whose folder was removed has no config


def _decimal(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def duration(seconds: float | None) -> str:
    """Return `40 s`, `12 min` or `1.6 h`; `-` if unknown."""
    if seconds is None:
        return "-"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
