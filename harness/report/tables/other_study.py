"""A study's effects compared with those of the same study on other users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from harness.law.compare.links import CONTRADICTED
from harness.law.compare.other_study import FLIPS, OPEN, SAME, StudyComparison
from harness.report.tables.grid import folding_table
from harness.report.text import wording
from harness.utils.safe_text import text

COLUMNS = ("effect", "here [95%]", "there [95%]", "sign", "here minus there [95%]")


def print_beside(beside: StudyComparison, words: Sequence[str], console: Console) -> None:
    """Print the other study, a row for each effect, and how many effects agree.

    `words` are the overrides that the arms share in this study.
    """
    console.print(text(other_study_line(beside, words)), soft_wrap=True)
    console.print(table(beside))
    console.print(text(agreement(beside)), soft_wrap=True)


def table(beside: StudyComparison) -> Table:
    """Return a row per effect: both estimates with intervals, the sign, and the difference."""
    rows = folding_table(*COLUMNS)
    for effect in beside.effects:
        told = wording.variance if effect.is_variance else wording.interval
        here, there, change = (
            "-" if of is None else told(of) for of in (effect.here, effect.other, effect.change)
        )
        rows.add_row(*map(text, (effect.name, here, there, effect.sign, change)))
    return rows


def agreement(beside: StudyComparison) -> str:
    """Return `of 5 effects, 3 have the same sign, 1 flips and 1 is open; 2 sizes differ (...)`."""
    signs = Counter(effect.sign for effect in beside.effects)
    said = [
        f"{signs[SAME]} {'has' if signs[SAME] == 1 else 'have'} the same sign",
        f"{signs[FLIPS]} {'flips' if signs[FLIPS] == 1 else 'flip'}",
        f"{signs[OPEN]} {'is' if signs[OPEN] == 1 else 'are'} open",
    ]
    apart = sum(effect.is_different for effect in beside.effects)
    sizes = f"{apart} {'size differs' if apart == 1 else 'sizes differ'}"
    total = wording.plural(len(beside.effects), "effect")
    listed = f"{said[0]}, {said[1]} and {said[2]}"
    return f"of {total}, {listed}; {sizes} (intervals not corrected for their number)"


def other_study_line(beside: StudyComparison, words: Sequence[str]) -> str:
    """Return `compared with PATH (verdict: undecided); overrides only here: seed=5; ...`."""
    other = beside.other
    here = " ".join(word for word in words if word not in other.words)
    there = " ".join(word for word in other.words if word not in words)
    verdict = other.verdict
    if other.older_words and verdict == CONTRADICTED:
        verdict = f"{verdict}, which then included no effect"
    compared = f"compared with {other.path} (verdict: {verdict})"
    return f"{compared}; overrides only here: {here or 'none'}; only there: {there or 'none'}"
