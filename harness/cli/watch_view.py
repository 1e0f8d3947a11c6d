"""Logs that are followed, as a table, as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from harness.cli.watched_log import View
from harness.config.run import SCHEMA
from harness.utils.safe_text import shortened, text, visible

COLUMNS = ("run", "step", "H", "R", "regime", "onset", "expected loss", "P(gain)", "advice")
STYLES = {"flat": "yellow", "collapsed": "red", "go on": "green"}
NOT_MEASURED = "not calibrated for this kind of log"


def table(views: Sequence[View]) -> Table:
    """The live table, a row a log."""
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in COLUMNS:
        grid.add_column(text(column, "bold"), overflow="fold")
    for view in views:
        advice = view.advice
        word = advice.word if advice else ""
        grid.add_row(
            text(shortened(view.run, 50)),
            text(_steps(view)),
            text(_number(view.entropy)),
            text(_number(view.reward)),
            text(view.regime or "-"),
            text(_onset(view)),
            text("-" if advice is None else _number(advice.expected_loss, 3)),
            text(_probability(view)),
            text(_advice(view), STYLES.get(word, "")),
        )
    return grid


def line(view: View) -> str:
    """`runs/a: running, step 120/600, H 0.41, R 0.72, learning, P(gain > 0.02) 0.12, go on`."""
    parts = [view.status, f"step {_steps(view)}"]
    parts += [f"{n} {_number(v)}" for n, v in (("H", view.entropy), ("R", view.reward)) if v]
    parts += [view.regime] if view.regime else []
    parts += [f"onset {_onset(view)}"] if view.onset else []
    if view.advice is not None and view.advice.p_gain is not None:
        parts.append(f"P(gain > {view.advice.margin:.3g}) {_probability(view)}")
    parts.append(_advice(view))
    return visible(f"{view.run}: {', '.join(part for part in parts if part)}")


def _advice(view: View) -> str:
    advice, parts = view.advice, []
    if view.ended and view.reason:
        parts.append(view.reason.removeprefix(f"{view.run}: "))
    elif advice is not None:
        parts.append(("stop: " if advice.stops else "") + f"{advice.word} ({advice.reason})")
        parts += [NOT_MEASURED] if view.uncalibrated and advice.p_gain else []
    elif view.reason:
        parts.append(view.reason)
    parts += [f"{view.damaged} damaged lines"] if view.damaged else []
    return "; ".join(parts)


def _steps(view: View) -> str:
    return f"{view.step}/{view.steps}" if view.steps else str(view.step)


def _onset(view: View) -> str:
    onset = view.onset
    return "-" if onset is None else f"{onset.step:.0f} [{onset.low:.0f}, {onset.high:.0f}]"


def _probability(view: View) -> str:
    if view.advice is None or view.advice.p_gain is None:
        return "-"
    value, low, high = view.advice.p_gain
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def as_json(views: Sequence[View]) -> dict[str, Any]:
    """The value of --json."""
    return {"schema": SCHEMA, "runs": [event(view) for view in views]}


def event(view: View) -> dict[str, Any]:
    """A log now, as the event that tells of it."""
    advice, onset = view.advice, view.onset
    told: dict[str, Any] = dict.fromkeys(("p_gain", "expected_loss", "final"))
    if advice is not None and advice.p_gain is not None and advice.final is not None:
        value, low, high = advice.p_gain
        told = {
            "p_gain": {"margin": advice.margin, "value": value, "low": low, "high": high},
            "expected_loss": advice.expected_loss,
            "final": {"low": advice.final[0], "high": advice.final[1]},
        }
    where = (
        {"kind": onset.kind, "step": onset.step, "low": onset.low, "high": onset.high}
        if (onset)
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
        "regime": view.regime,
        "onset": where,
        **told,
        "stop": advice is not None and advice.stops,
        "advice": advice.word if advice else None,
        "reason": view.reason if advice is None or view.ended else advice.reason,
        "calibrated": view.uncalibrated is None,
        "uncalibrated": view.uncalibrated,
        "damaged": view.damaged,
    }
