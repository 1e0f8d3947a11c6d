"""Followed logs as a table, as lines of text and as JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from harness.cli.watched_log import LogState
from harness.config.run import SCHEMA
from harness.law.io.columns import EVALUATION
from harness.utils.safe_text import escape, text
from harness.utils.terminal import shorten_middle

REWARD = "R"
HELD_OUT = f"held-out {REWARD}"
COLUMNS = ("run", "step", "H", REWARD, "regime", "onset", "loss", "P(gain)", "advice")
STYLES = {"flat": "yellow", "collapsed": "red", "go on": "green"}
MARGIN_LINES = 4
"""Lines of the screen kept free below the table."""
OTHERS_WIDE = 70
"""Characters of all columns but the first: a narrow screen cuts names, not numbers."""
NOT_MEASURED = "not calibrated for this kind of log"


def table(views: Sequence[LogState], height: int, width: int) -> Group:
    """Return the live table with as many logs as fit; those that have not ended come first."""
    row_limit, name_width = height - MARGIN_LINES, min(max(width - OTHERS_WIDE, 10), 60)
    order = sorted(range(len(views)), key=lambda index: views[index].ended)
    visible = [views[index] for index in sorted(order[: max(row_limit, 1)])]
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    other_columns = sorted({view.reward_column for view in visible if not _is_held_out(view)})
    for column in COLUMNS:
        title = HELD_OUT if column == REWARD and not other_columns else column
        grid.add_column(text(title, "bold"), no_wrap=True, overflow="ellipsis")
    for view, name in zip(visible, _names(visible), strict=True):
        grid.add_row(*_cells(view, shorten_middle(name, name_width)))
    notes = [f"and {len(views) - len(visible)} more"] if len(visible) < len(views) else []
    if other_columns:
        notes.append(_rewards(visible, other_columns))
    if any(_is_cautioned(view) for view in visible):
        notes.append(f"* {NOT_MEASURED}")
    return Group(grid, *(text(note, "dim") for note in notes))


def _cells(view: LogState, name: str) -> list[Text]:
    advice = None if view.ended else view.advice
    word = advice.word if advice else ""
    result = view.status if advice is None else f"{'stop: ' if advice.stops else ''}{word}"
    caution = " *" if _is_cautioned(view) else ""
    result = f"{view.status}, ended by trainer.stop_when: {view.rule}" if view.rule else result
    damaged = f", {_damage(view)}" if view.damaged else ""
    return [
        text(name),
        text(_steps(view)),
        text(_number(view.entropy)),
        text(_number(view.reward)),
        text(view.regime or "-"),
        text("-" if view.onset is None else f"{view.onset.step:.0f}"),
        text("-" if advice is None else _number(advice.expected_loss, 3)),
        text(_probability(view).partition(" ")[0] + caution),
        text(result + damaged, STYLES.get(word, "")),
    ]


def _is_held_out(view: LogState) -> bool:
    return view.reward_column == EVALUATION


def _rewards(views: Sequence[LogState], other_columns: Sequence[str]) -> str:
    """`R: reward of held-out users, or column rewards/mean of another program's log`."""
    ours = "reward of held-out users, or " if any(map(_is_held_out, views)) else ""
    return f"{REWARD}: {ours}column {' or '.join(other_columns)} of another program's log"


def _is_cautioned(view: LogState) -> bool:
    return view.uncalibrated is not None and _probability(view) != "-"


def line(view: LogState) -> str:
    """`runs/a: running, step 120/600, H 0.41, held-out R 0.72, P(gain > 0.02) 0.12, go on`."""
    parts = [view.status, f"step {_steps(view)}"]
    parts += [f"H {_number(view.entropy)}"] if view.entropy is not None else []
    parts += [_reward(view)] if view.reward is not None else []
    parts += [view.regime] if view.regime else []
    parts += [f"onset {_onset(view)}"] if view.onset else []
    if _probability(view) != "-" and view.advice is not None:
        parts.append(f"P(gain > {view.advice.margin:.3g}) {_probability(view)}")
    parts.append(_advice(view))
    return escape(f"{view.run}: {', '.join(part for part in parts if part)}")


def _reward(view: LogState) -> str:
    if _is_held_out(view):
        return f"{HELD_OUT} {_number(view.reward)}"
    return f"{REWARD} {_number(view.reward)} ({view.reward_column})"


def _advice(view: LogState) -> str:
    advice, parts = view.advice, []
    if view.ended:
        parts += [_reason(view)] if view.reason else []
    elif advice is not None:
        parts.append(("stop: " if advice.stops else "") + f"{advice.word} ({advice.reason})")
        parts += [NOT_MEASURED] if _is_cautioned(view) else []
    elif view.reason:
        parts.append(_reason(view))
    parts += [_damage(view)] if view.damaged else []
    return "; ".join(parts)


def _damage(view: LogState) -> str:
    return f"{view.damaged} damaged line{'' if view.damaged == 1 else 's'}"


def _reason(view: LogState) -> str:
    """Return the reason without the run's path at its start."""
    reason = view.reason or ""
    name = Path(os.path.abspath(view.run)).name  # noqa: PTH100 - a hostile name cannot be resolved
    for suffix in (": ", "/"):
        before, separator, after = reason.partition(name + suffix)
        if separator and (not before or (before.endswith("/") and ": " not in before)):
            return after
    return reason


def _names(views: Sequence[LogState]) -> list[str]:
    """Return the shortest endings of the paths that differ from each other."""
    parts = [Path(view.run).parts for view in views]
    for count in range(1, max(map(len, parts), default=1)):
        names = [str(Path(*part[-count:])) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [view.run for view in views]


def _steps(view: LogState) -> str:
    return f"{view.step}/{view.steps}" if view.steps else str(view.step)


def _onset(view: LogState) -> str:
    onset = view.onset
    return "-" if onset is None else f"{onset.step:.0f} [{onset.low:.0f}, {onset.high:.0f}]"


def _probability(view: LogState) -> str:
    if view.ended or view.advice is None or view.advice.p_gain is None:
        return "-"
    value, low, high = view.advice.p_gain
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def as_json(views: Sequence[LogState]) -> dict[str, Any]:
    """The value of --json."""
    return {"schema": SCHEMA, "runs": [event(view) for view in views]}


def event(view: LogState) -> dict[str, Any]:
    """Return the current state of a log as an event."""
    advice, onset = None if view.ended else view.advice, view.onset
    forecast: dict[str, Any] = dict.fromkeys(("p_gain", "expected_loss", "final"))
    if advice is not None and advice.p_gain is not None and advice.final is not None:
        value, low, high = advice.p_gain
        forecast = {
            "p_gain": {"margin": advice.margin, "value": value, "low": low, "high": high},
            "expected_loss": advice.expected_loss,
            "final": {"low": advice.final[0], "high": advice.final[1]},
        }
    onset_value = (
        {"kind": onset.kind, "step": onset.step, "low": onset.low, "high": onset.high}
        if onset
        else None
    )
    return {
        "event": "end" if view.ended else "watch",
        "run": view.run,
        "status": view.status,
        "step": view.step,
        "steps": view.steps,
        "entropy": view.entropy,
        "reward": view.reward,
        "reward_column": view.reward_column,
        "regime": view.regime,
        "onset": onset_value,
        **forecast,
        "stop": advice is not None and advice.stops,
        "advice": advice.word if advice else None,
        "reason": view.reason if advice is None else advice.reason,
        "calibrated": view.uncalibrated is None,
        "uncalibrated": view.uncalibrated,
        "damaged": view.damaged,
    }
