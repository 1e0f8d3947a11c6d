"""A conversation as lines of a terminal: what the user says, how they feel, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.report.text import conversation
from harness.report.text.wording import without_underscores
from harness.simulator.protocol import UserTurn
from harness.simulator.scripted.dynamics import FIT_WEIGHT, rise_probability
from harness.utils.safe_text import text

LABEL_WIDTH = 8
FAILED = "failed"
"""The end of a conversation whose user could not be asked."""
CELLS = 20
"""Cells of the bar: five points of emotion each, the smallest change there is."""
NEVER_WRAPPED = 100_000
"""Columns where no terminal reads, so that a sentence stays on its line."""
PART = {
    "worth": "worth to this user",
    "pick_up": "takes up what they told",
    "confusion": "mentions what they never said",
    "repetition": "repeats earlier words or their own",
    "fatigue": "the same kind of reply again",
    "form": "too short, too long or too much at once",
    "hurt": "hurts",
    "puzzled": "makes no sense to them",
    "test": "they test you",
    "mood": "who they are, and their present state",
    "target_fit": "does it fit what they came for",
    "reason": "in their words",
    "fault": "no answer",
    "puzzle": "not language to them",
    "rule": "by the rule",
}
"""The appraisal by part; a part that is not here is named by its key."""
HELP = (
    "You are the supporter: each line you type is one reply, an empty line is silence, "
    "Ctrl-D ends the conversation."
)


@dataclass(frozen=True)
class HiddenTraits:
    """Traits that the user never states outright; None where a simulator has none."""

    intention: str | None
    temperament: str | None
    path: str | None
    """How they test the supporter, of difficulty.paths."""
    trust: int | None


def hidden_traits(turn: UserTurn) -> HiddenTraits:
    """Read the hidden traits from the simulator's state. A trait is None if the state has no such
    name.
    """
    user = getattr(turn.state, "user", None)
    return HiddenTraits(
        getattr(user, "intention", None),
        getattr(user, "temperament", None),
        getattr(user, "path", None),
        getattr(turn.state, "trust", None),
    )


def console(stream: TextIO) -> Console:
    """Return a console that wraps at a terminal's width, and nowhere else."""
    width = None if stream.isatty() else NEVER_WRAPPED
    return Console(file=stream, highlight=False, width=width)


def show_start(heading: str, hidden: HiddenTraits | None, output: Console) -> None:
    """Print the heading and, if `hidden` is given, what the user came for."""
    output.print(text(heading), soft_wrap=True)
    output.print(text(HELP), soft_wrap=True)
    for line in [] if hidden is None else came_for(hidden):
        _row("hidden", line, "dim", output)


def show_turn(turn: UserTurn, hidden: HiddenTraits | None, output: Console) -> None:
    """Print the user's words and emotion and, if `hidden` is given, the reasons."""
    output.print()
    for line in turn.text.splitlines():
        _row("user", line, "bold", output)
    _row("emotion", emotion(turn), "", output)
    if hidden is not None and turn.change is not None:
        _row("heard", strategies(turn), "dim", output)
        if turn.why:
            _row("why", "; ".join(reasons(turn.why)), "dim", output)
        if hidden.trust is not None:
            _row("trust", str(hidden.trust), "dim", output)


def show_reply(reply: str, output: Console) -> None:
    """Print a reply that was piped in and is therefore not on the screen yet."""
    _row("you", reply or "(nothing)", "", output)


def came_for(hidden: HiddenTraits) -> Iterator[str]:
    """`came for advice that truly solves their difficulty; temperament: passive`."""
    parts = []
    if hidden.intention is not None:
        parts.append(f"came for {conversation.intention(hidden.intention)}")
    if hidden.temperament is not None:
        parts.append(f"temperament: {hidden.temperament}")
    if hidden.path is not None:
        parts.append(conversation.test(hidden.path))
    if parts:
        yield "; ".join(parts)


def emotion(turn: UserTurn) -> str:
    """`[#########...........]  45  +5`."""
    filled = round(turn.emotion * CELLS / 100)
    change = "" if turn.change is None else f"  {turn.change:+d}" if turn.change else "  0"
    return f"[{'#' * filled}{'.' * (CELLS - filled)}] {turn.emotion:3d}{change}"


def strategies(turn: UserTurn) -> str:
    """Name the strategies that the user heard in the reply, in order, each once."""
    return conversation.strategies(turn.strategies)


def reasons(why: Mapping[str, float | str]) -> Iterator[str]:
    """The parts that counted, in words and in log-odds of a rise, then their sum."""
    for key, share in _shares(why).items():
        if share:
            yield f"{PART.get(key, without_underscores(key))} {share:+.2f}"
    if isinstance(logit := why.get("logit"), float):
        yield f"log-odds of a rise {logit:+.2f} ({rise_probability(logit):.0%})"
    for key, value in why.items():
        if isinstance(value, str):
            yield f"{PART.get(key, without_underscores(key))}: {value}"


def _shares(why: Mapping[str, float | str]) -> dict[str, float]:
    """Return what each part adds; the rest of a known sum is the user's mood, not the reply."""
    shares = {k: v for k, v in why.items() if not isinstance(v, str)}
    if "logit" in shares and "worth" in shares:
        logit = shares.pop("logit")
        shares["worth"] *= FIT_WEIGHT
        shares["mood"] = logit - sum(shares.values())
    return shares


def summary(turns: Sequence[UserTurn]) -> str:
    """Say how the conversation ended, after how many replies, and how many of them helped."""
    last, changes = turns[-1], [turn.change for turn in turns if turn.change is not None]
    endings = {
        "success": "success: the user feels well",
        "left": "left: the user has left, which counts as emotion 0",
        "cap": "cap: the turn limit is reached",
        FAILED: f"failed: the user could not be asked ({last.why.get('fault')})",
        None: "stopped: you ended the conversation",
    }
    helped, hurt = sum(c > 0 for c in changes), sum(c < 0 for c in changes)
    return (
        f"{endings.get(last.ended, last.ended)}; emotion {turns[0].emotion} to {last.emotion} "
        f"in {_replies(len(changes))}, {helped} up, {hurt} down"
    )


def show_end(turns: Sequence[UserTurn], output: Console) -> None:
    output.print()
    output.print(text(summary(turns)), soft_wrap=True)


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count} replies"


def _row(label: str, content: str, style: str, output: Console) -> None:
    """Print `content` beside its label, with its lines aligned."""
    table: Any = Table.grid()
    table.add_column(width=LABEL_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(label, "dim"), text(content, style))
    output.print(table)
