"""The text of a model card: YAML front matter and Markdown, with all foreign text escaped.

Names, settings, sentences of law.json and a policy's replies may come from others. They are shown
literally, without markup, links, HTML or control characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from harness.report.tables import typeset
from harness.report.tables.typeset import in_markdown
from harness.utils.safe_text import escape_char

FENCE = "```"


def front_matter(values: Mapping[str, Any]) -> str:
    """Format `values` as the YAML block at the top of a card, in ASCII."""
    text = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=False, width=10_000)
    return f"---\n{text}---\n"


def table(*rows: tuple[Any, ...], headings: Sequence[str]) -> str:
    """Format a table; None is shown as a dash."""
    cells = tuple(tuple(_cell(value) for value in row) for row in rows)
    return typeset.markdown(typeset.TypesetTable("card", tuple(headings), len(headings), cells, ()))


def quote(speaker: str, text: str) -> str:
    """Format a line of a conversation."""
    return f"> **{in_markdown(speaker)}**: {in_markdown(' '.join(text.split()))}\n>\n"


def python(lines: Sequence[str]) -> str:
    """Format a block of Python, whose lines must have foreign text escaped by `literal`."""
    return "\n".join([f"{FENCE}python", *lines, FENCE, ""])


def literal(text: str) -> str:
    r"""Return `text` as a Python literal in ASCII, on one line and without backticks."""
    plain = "".join(
        char if char.isprintable() and char.isascii() else escape_char(char)
        for char in _double(text)
    )
    return '"' + plain.replace('"', '\\"').replace("`", "\\x60") + '"'


def _double(text: str) -> str:
    return text.replace("\\", "\\\\")


def _cell(value: Any) -> str:
    if value is None:
        return typeset.NOTHING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value)) or typeset.NOTHING
    return str(value)
