"""Saved conversations as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from harness.records.saved_conversations import SavedConversation, SavedTurn
from harness.report.text import conversation as words
from harness.utils.safe_text import text

LABEL_WIDTH = 9
CELLS = 20
"""Cells of the bar: five points of emotion each, the smallest step of most levels."""
LEVELS = "▁▂▃▄▅▆▇█"
"""Heights of a curve."""
WIDEST = 100
"""Columns from which on a line is hard to read."""
RISE, FALL = "green", "red"


@dataclass(frozen=True)
class Heading:
    """The lines above the conversations."""

    run: str
    summary: str
    hints: tuple[str, ...]
    """What was left out, and how to see it."""


def show(heading: Heading, conversations: Sequence[SavedConversation], to: Console) -> None:
    """Print the page."""
    if to.is_terminal:
        to.width = min(to.width, WIDEST)
    _line(heading.run, "bold", to)
    _line(heading.summary, "", to)
    for hint in heading.hints:
        _line(hint, "dim", to)
    for unit in dict.fromkeys(t.why.unit for c in conversations for t in c.turns if t.why):
        if unit in words.UNIT:
            _line(f"why: {words.UNIT[unit]}", "dim", to)
    for conversation in conversations:
        to.print()
        _conversation(conversation, to)


def _conversation(one: SavedConversation, to: Console) -> None:
    _title(one, to)
    came_for = words.came_for(one)
    _row("user", words.describe_user(one) or "not recorded", "", to)
    _row("came for", f"{came_for} (hidden from the policy)" if came_for else "not recorded", "", to)
    _row("ended", _end(one), "", to)
    _row("emotion", _curve(one, to), "", to)
    before: int | None = None
    for turn in one.turns:
        to.print()
        if turn.number == 0 and before is not None:
            _line("the policy speaks from here on", "dim", to)
        if turn.is_reply:
            _reply(turn, to)
        else:
            _user(turn, before, to)
            before = turn.emotion


def _title(one: SavedConversation, to: Console) -> None:
    level = f"level {one.level}" if one.level else "level not kept"
    title = f"{level}, step {one.step}, group {one.group}, sample {one.sample}"
    if to.is_terminal:
        to.print(Rule(text(title, "bold"), align="left", style="dim"))
    else:
        _line(f"== {title} ==", "", to)


def _end(one: SavedConversation) -> str:
    """`the turn limit was reached; reward 0.75; entropy 1.45 nats a reply`."""
    reward = "not kept" if one.ended != "failed" else "none"
    parts = [words.ending(one), f"reward {reward if one.reward is None else f'{one.reward:.2f}'}"]
    known = [value for value in one.entropies_nats if value is not None]
    if known:
        parts.append(f"entropy {sum(known) / len(known):.2f} nats a reply")
    return "; ".join(parts)


def _curve(one: SavedConversation, to: Console) -> str:
    """`40 45 40 55`, before it the same as a curve where the terminal has its characters."""
    numbers = " ".join(map(str, one.emotions)) or "not kept"
    curve = "".join(LEVELS[min(7, value * 8 // 100)] for value in one.emotions)
    return f"{curve}  {numbers}" if curve and _has(curve, to) else numbers


def _has(characters: str, to: Console) -> bool:
    try:
        characters.encode(to.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _reply(turn: SavedTurn, to: Console) -> None:
    cut = " (cut by the token limit)" if turn.is_cut else ""
    _row(turn.speaker, f"{turn.text or '(nothing)'}{cut}", "cyan", to)
    heard = words.heard_strategies(turn)
    if heard is not None:
        _row("heard", heard, "dim", to)
    if turn.entropy_nats is not None:
        _row("entropy", f"{turn.entropy_nats:.2f} nats", "dim", to)


def _user(turn: SavedTurn, before: int | None, to: Console) -> None:
    if turn.text or not turn.ended:
        _row("user", turn.text or "(nothing)", "bold", to)
    if turn.emotion is not None:
        _row("emotion", bar(turn, before), "", to)
    why = words.why_emotion_moved(turn)
    if why is not None:
        _row("why", why, "dim", to)
    if turn.reported_emotion is not None and round(turn.reported_emotion) != turn.emotion:
        _row("told", f"the trainer was told {turn.reported_emotion:.0f}", "dim", to)


def bar(turn: SavedTurn, before: int | None) -> Text:
    """`[########++..........]  50  +10`: what was gained is +, what was lost is -."""
    now = turn.emotion or 0
    earlier = now if before is None else before
    low, high = round(min(now, earlier) * CELLS / 100), round(max(now, earlier) * CELLS / 100)
    style, mark = (RISE, "+") if now > earlier else (FALL, "-")
    drawn = Text.assemble("[", "#" * low, (mark * (high - low), style), "." * (CELLS - high), "]")
    drawn.append(f" {now:3d}")
    if before is not None:
        drawn.append(f"  {now - earlier:+d}", style if now != earlier else "")
    if turn.ended:
        drawn.append(f"  {turn.ended}", "bold")
    return drawn


def _row(label: str, content: str | Text, style: str, to: Console) -> None:
    """Print `content` beside its label, with its lines aligned."""
    lines = [content] if isinstance(content, Text) else content.splitlines() or [""]
    shown = [line if isinstance(line, Text) else text(line, style) for line in lines]
    if not to.is_terminal:
        for number, line in enumerate(shown):
            head = label if number == 0 else ""
            to.print(Text(f"{head:{LABEL_WIDTH}} ") + line, soft_wrap=True)
        return
    table = Table.grid(padding=(0, 1))
    table.add_column(width=LABEL_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    for number, line in enumerate(shown):
        table.add_row(text(label if number == 0 else "", "dim"), line)
    to.print(table)


def _line(content: str, style: str, to: Console) -> None:
    to.print(text(content, style), soft_wrap=not to.is_terminal)
