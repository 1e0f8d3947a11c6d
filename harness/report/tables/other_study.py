"""A study's effects beside those of the same study on other users, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from harness.law.compare.links import CONTRADICTED
from harness.law.compare.other_study import Beside
from harness.report.tables.grid import grid
from harness.report.text import wording
from harness.utils.safe_text import text

COLUMNS = ("effect", "here [95%]", "there [95%]", "sign")


def print_beside(beside: Beside, words: Sequence[str], console: Console) -> None:
    """Print a row for each effect; `words` are the overrides that the arms share here."""
    console.print(text(elsewhere(beside, words)), soft_wrap=True)
    table = grid(*COLUMNS)
    for effect in beside.effects:
        told = wording.variance if effect.is_variance else wording.interval
        both = ("-" if i is None else told(i) for i in (effect.here, effect.other))
        table.add_row(*map(text, (effect.name, *both, effect.sign)))
    console.print(table)


def elsewhere(beside: Beside, words: Sequence[str]) -> str:
    """`beside PATH, which found undecided; words here alone: seed=5; there alone: none`."""
    other = beside.other
    here = " ".join(word for word in words if word not in other.words)
    there = " ".join(word for word in other.words if word not in words)
    found = f"{other.path}, which found {other.verdict}"
    if other.older_words and other.verdict == CONTRADICTED:
        found = f"{found} (which then also stood for no effect)"
    return f"beside {found}; words here alone: {here or 'none'}; there alone: {there or 'none'}"
