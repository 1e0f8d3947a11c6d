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


def show(heading: Heading, conversations: Sequence[SavedConversation], console: Console) -> None:
    """Print the page."""
    if console.is_terminal:
        console.width = min(console.width, WIDEST)
    _line(heading.run, "bold", console)
    _line(heading.summary, "", console)
    for hint in heading.hints:
        _line(hint, "dim", console)
    for unit in dict.fromkeys(t.why.unit for c in conversations for t in c.turns if t.why):
        if unit in words.UNIT:
            _line(f"why: {words.UNIT[unit]}", "dim", console)
    for conversation in conversations:
        console.print()
        _conversation(conversation, console)


def _conversation(conversation: SavedConversation, console: Console) -> None:
    _title(conversation, console)
    came_for = words.came_for(conversation)
    _row("user", words.describe_user(conversation) or "not recorded", "", console)
    _row(
        "came for",
        f"{came_for} (hidden from the policy)" if came_for else "not recorded",
        "",
        console,
    )
    _row("ended", _end(conversation), "", console)
    _row("emotion", _curve(conversation, console), "", console)
    last_emotion: int | None = None
    for turn in conversation.turns:
        console.print()
        if turn.number == 0 and not turn.is_reply and last_emotion is not None:
            _line("the policy speaks from here on", "dim", console)
        if turn.is_reply:
            _reply(turn, console)
        else:
            _user(turn, last_emotion, console)
            last_emotion = turn.emotion


def _title(conversation: SavedConversation, console: Console) -> None:
    level = f"level {conversation.level}" if conversation.level else "level not kept"
    identity = f"step {conversation.step}, group {conversation.group}, sample {conversation.sample}"
    title = f"{level}, {identity}"
    if console.is_terminal:
        console.print(Rule(text(title, "bold"), align="left", style="dim"))
    else:
        _line(f"== {title} ==", "", console)


def _end(conversation: SavedConversation) -> str:
    """`the turn limit was reached; reward 0.75; entropy 1.45 nats a reply`."""
    reward = "not kept" if conversation.ended != "failed" else "none"
    parts = [
        words.ending(conversation),
        f"reward {reward if conversation.reward is None else f'{conversation.reward:.2f}'}",
    ]
    entropies = [value for value in conversation.entropies_nats if value is not None]
    if entropies:
        parts.append(f"entropy {sum(entropies) / len(entropies):.2f} nats a reply")
    return "; ".join(parts)


def _curve(conversation: SavedConversation, console: Console) -> str:
    """`40 45 40 55`, before it the same as a curve where the terminal has its characters."""
    numbers = " ".join(map(str, conversation.emotions)) or "not kept"
    curve = "".join(LEVELS[min(7, value * 8 // 100)] for value in conversation.emotions)
    return f"{curve}  {numbers}" if curve and _can_show(curve, console) else numbers


def _can_show(characters: str, console: Console) -> bool:
    try:
        characters.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _reply(turn: SavedTurn, console: Console) -> None:
    cut = " (cut by the token limit)" if turn.is_cut else ""
    _row(turn.speaker, f"{turn.text or '(nothing)'}{cut}", "cyan", console)
    heard = words.heard_strategies(turn)
    if heard is not None:
        _row("heard", heard, "dim", console)
    if turn.entropy_nats is not None:
        _row("entropy", f"{turn.entropy_nats:.2f} nats", "dim", console)


def _user(turn: SavedTurn, last_emotion: int | None, console: Console) -> None:
    if turn.text or not turn.ended:
        _row("user", turn.text or "(nothing)", "bold", console)
    if turn.emotion is not None:
        _row("emotion", bar(turn, last_emotion), "", console)
    why = words.why_emotion_moved(turn)
    if why is not None:
        _row("why", why, "dim", console)
    if turn.reported_emotion is not None and round(turn.reported_emotion) != turn.emotion:
        _row("told", f"the trainer was told {turn.reported_emotion:.0f}", "dim", console)


def bar(turn: SavedTurn, last_emotion: int | None) -> Text:
    """`[########++..........]  50  +10`: what was gained is +, what was lost is -."""
    now = turn.emotion or 0
    earlier = now if last_emotion is None else last_emotion
    low, high = round(min(now, earlier) * CELLS / 100), round(max(now, earlier) * CELLS / 100)
    style, mark = (RISE, "+") if now > earlier else (FALL, "-")
    result = Text.assemble("[", "#" * low, (mark * (high - low), style), "." * (CELLS - high), "]")
    result.append(f" {now:3d}")
    if last_emotion is not None:
        result.append(f"  {now - earlier:+d}", style if now != earlier else "")
    if turn.ended:
        result.append(f"  {turn.ended}", "bold")
    return result


def _row(label: str, content: str | Text, style: str, console: Console) -> None:
    """Print `content` beside its label, with its lines aligned."""
    lines = [content] if isinstance(content, Text) else content.splitlines() or [""]
    texts = [line if isinstance(line, Text) else text(line, style) for line in lines]
    if not console.is_terminal:
        for number, line in enumerate(texts):
            head = label if number == 0 else ""
            console.print(Text(f"{head:{LABEL_WIDTH}} ") + line, soft_wrap=True)
        return
    table = Table.grid(padding=(0, 1))
    table.add_column(width=LABEL_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    for number, line in enumerate(texts):
        table.add_row(text(label if number == 0 else "", "dim"), line)
    console.print(table)


def _line(content: str, style: str, console: Console) -> None:
    console.print(text(content, style), soft_wrap=not console.is_terminal)
