"""The view command: the conversations of a run, as text or as JSON lines."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cli import chat_view, exit_codes, one_run, view_page
from harness.cli.view_page import Heading
from harness.errors import ConfigError, DataError, HarnessError
from harness.records import run_folder, run_state, run_status, saved_conversations
from harness.records.run_folder import RunFolder
from harness.records.saved_conversations import SavedConversation, SavedStep

SCHEMA = 1
"""Of the value of --json."""
FEW = 3
"""Conversations that are shown where no number is asked for."""
MOST_STEPS = 12
"""Steps that are named where one is asked for that was not saved."""


@dataclass(frozen=True)
class ViewOptions:
    """Arguments of the command."""

    run: Path
    step: int | None = None
    level: str | None = None
    worst: bool = False
    best: bool = False
    limit: int | None = None


@dataclass(frozen=True)
class ViewSelection:
    """The conversations to show, and the rule by which they were chosen."""

    conversations: Sequence[SavedConversation]
    rule: str


def view(opts: ViewOptions, *, as_json: bool) -> None:
    """Print conversations of the run.

    Raises DataError for a folder that is no run or has no conversations, ConfigError for a step or
    a level that was not saved.
    """
    if opts.worst and opts.best:
        raise ConfigError("--worst, --best: give one of them, got both")
    one_run.refuse_another(opts.run, "view")
    saved, steps = _read_step(opts)
    candidates = _select_level(opts, saved)
    if as_json:
        with exit_codes.tolerate_closed_stdout():
            for chosen in choose_conversations(candidates, opts, len(candidates)).conversations:
                print(json.dumps(_to_json(opts.run, chosen), allow_nan=False))
        return
    choice = choose_conversations(candidates, opts, FEW)
    _show(_heading(opts, saved, steps, len(candidates), choice), choice)


def choose_conversations(
    conversations: Sequence[SavedConversation], opts: ViewOptions, few: int
) -> ViewSelection:
    """Choose `opts.limit` conversations, or `few` if that is None: by reward, or evenly spread
    over it.

    If no reward was kept, the last emotion is used instead. Lost conversations come last.
    """
    count = min(len(conversations), opts.limit or few)
    ranked = sorted(conversations, key=_rank)
    criterion = "last emotion" if all(c.reward is None for c in conversations) else "reward"
    if opts.best:
        scored = [c for c in ranked if c.score is not None]
        ranked = [*reversed(scored), *ranked[len(scored) :]]
        return ViewSelection(ranked[:count], f"best first, by {criterion}")
    if opts.worst:
        return ViewSelection(ranked[:count], f"worst first, by {criterion}")
    if count == len(conversations):
        return ViewSelection(conversations, "in the order of the batch")
    if count == 1:
        return ViewSelection([ranked[(len(ranked) - 1) // 2]], f"the middle one by {criterion}")
    indices = [round(n * (len(ranked) - 1) / (count - 1)) for n in range(count)]
    middle = ", the middle one" if count == FEW else ", evenly spread between" if count > 2 else ""
    return ViewSelection(
        [ranked[index] for index in indices], f"the worst{middle} and the best by {criterion}"
    )


def _rank(conversation: SavedConversation) -> tuple[bool, float, int, int]:
    score = conversation.score
    return score is None, score or 0.0, conversation.group, conversation.sample


def _read_step(opts: ViewOptions) -> tuple[SavedStep, Sequence[int]]:
    """Return the step to show, and all steps that are saved."""
    steps = saved_conversations.steps(opts.run)
    if not steps:
        rule = "a run saves some at its first step"
        raise DataError(f"{opts.run}: no conversations are saved yet: {rule}")
    step = steps[-1] if opts.step is None else opts.step
    if step not in steps:
        rule = f"must be one of the saved steps {_format_steps(steps)}"
        raise ConfigError(f"{opts.run}: --step: {rule}; got {step}")
    return saved_conversations.read(opts.run, step), steps


def _format_steps(steps: Sequence[int]) -> str:
    """`1, 25, 50, ... 600`."""
    first = ", ".join(map(str, steps[:MOST_STEPS]))
    return first if len(steps) <= MOST_STEPS else f"{first}, ... {steps[-1]}"


def _select_level(opts: ViewOptions, saved: SavedStep) -> Sequence[SavedConversation]:
    if not saved.conversations:
        raise DataError(f"{saved.path}: must hold conversations, but has none")
    if opts.level is None:
        return saved.conversations
    at_level = [c for c in saved.conversations if c.level == opts.level]
    if not at_level:
        levels = sorted({str(c.level) for c in saved.conversations})
        rule = f"step {saved.step} must have conversations of the level"
        raise ConfigError(
            f"{opts.run}: --level: {rule}, one of {', '.join(levels)}; got {opts.level!r}"
        )
    return at_level


def _heading(
    opts: ViewOptions, saved: SavedStep, steps: Sequence[int], total: int, choice: ViewSelection
) -> Heading:
    """Return the heading: what is shown, of which run, and what is left out."""
    shown_count, of_level = (
        len(choice.conversations),
        f" at level {opts.level}" if opts.level else "",
    )
    summary = f"{shown_count} of {total} conversations{of_level}: {choice.rule}"
    others = [step for step in steps if step != saved.step]
    hints = [
        f"also saved: {'step' if len(others) == 1 else 'steps'} {_format_steps(others)} (--step N)"
    ]
    hints = hints if others else []
    if shown_count < total:
        hints.append("more conversations: --limit N, --worst, --best, --level NAME")
    if saved.note:
        hints.append(f"step {saved.step} was {saved.note}")
    return Heading(f"{opts.run}: {_progress(opts.run, saved.step)}", summary, tuple(hints))


def _progress(path: Path, step: int) -> str:
    """Return `step 100 of 600, running`, without parts that the run's files do not state."""
    run = RunFolder(path)
    try:
        steps, _ = run_folder.planned_steps(run), run_status.read(run.status)
    except HarnessError:  # conversations can be read all the same
        return f"step {step}"
    return f"step {step}{f' of {steps}' if steps else ''}, {run_state.of(run).status}"


def _show(heading: Heading, choice: ViewSelection) -> None:
    """Print as text; on a terminal through a pager."""
    console = chat_view.console(sys.stdout)
    with exit_codes.tolerate_closed_stdout():
        if not console.is_terminal:
            view_page.show(heading, choice.conversations, console)
            return
        os.environ.setdefault("LESS", "FRX")  # as git does: colours, and no pager for one screen
        signal.signal(signal.SIGINT, lambda *_: None)  # the pager's to obey, which goes on
        with console.pager(styles=True):
            view_page.show(heading, choice.conversations, console)


def _to_json(run: Path, conversation: SavedConversation) -> dict[str, Any]:
    """Return one conversation as plain values, with null for unknown ones."""
    return {
        "schema": SCHEMA,
        "run": str(run),
        **asdict(conversation),
        "ended": conversation.ended,
        "emotions": conversation.emotions,
        "entropies_nats": conversation.entropies_nats,
    }
