"""A study's effects compared with those of the same study on other users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from harness.law.compare.link_result import CONTRADICTED
from harness.law.compare.other_study import FLIPS, OPEN, SAME, StudyComparison
from harness.report.tables.grid import folding_table
from harness.report.text import wording
from harness.utils.safe_text import text

COLUMNS = ("effect", "here [95%]", "there [95%]", "sign", "here minus there [95%]")


def print_beside(comparison: StudyComparison, words: Sequence[str], console: Console) -> None:
    """Print the other study, a row for each effect, and how many effects agree.

    `words` are the overrides that the arms share in this study.
    """
    console.print(text(other_study_line(comparison, words)), soft_wrap=True)
    console.print(table(comparison))
    console.print(text(agreement(comparison)), soft_wrap=True)


def table(comparison: StudyComparison) -> Table:
    """Return a row per effect: both estimates with intervals, the sign, and the difference."""
    rows = folding_table(*COLUMNS)
    for effect in comparison.effects:
        words_of = wording.variance if effect.is_variance else wording.interval
        own, other, change = (
            "-" if estimate is None else words_of(estimate)
            for estimate in (effect.here, effect.other, effect.change)
        )
        rows.add_row(*map(text, (effect.name, own, other, effect.sign, change)))
    return rows


def agreement(comparison: StudyComparison) -> str:
    """Return `of 5 effects, 3 have the same sign, 1 flips and 1 is open; 2 sizes differ (...)`."""
    signs = Counter(effect.sign for effect in comparison.effects)
    counts = [
        f"{signs[SAME]} {'has' if signs[SAME] == 1 else 'have'} the same sign",
        f"{signs[FLIPS]} {'flips' if signs[FLIPS] == 1 else 'flip'}",
        f"{signs[OPEN]} {'is' if signs[OPEN] == 1 else 'are'} open",
    ]
    different = sum(effect.is_different for effect in comparison.effects)
    sizes = f"{different} {'size differs' if different == 1 else 'sizes differ'}"
    total = wording.plural(len(comparison.effects), "effect")
    listed = f"{counts[0]}, {counts[1]} and {counts[2]}"
    return f"of {total}, {listed}; {sizes} (intervals not corrected for their number)"


def other_study_line(comparison: StudyComparison, words: Sequence[str]) -> str:
    """Return `compared with PATH (verdict: undecided); overrides only here: seed=5; ...`."""
    other = comparison.other
    only_here = " ".join(word for word in words if word not in other.words)
    only_there = " ".join(word for word in other.words if word not in words)
    verdict = other.verdict
    if other.older_words and verdict == CONTRADICTED:
        verdict = f"{verdict}, which then included no effect"
    compared = f"compared with {other.path} (verdict: {verdict})"
    overrides = f"overrides only here: {only_here or 'none'}; only there: {only_there or 'none'}"
    return f"{compared}; {overrides}"
