"""Names of the files that an analysis may write, apart from its figures.

This is the only list of them: the writer uses it to remove files of an earlier analysis, the
typeset tables take their names from it, and no figure of a plug-in may have one of these names.
"""

from __future__ import annotations

VALUES = "law.json"
"""The analysis itself. A folder that contains it holds results of ours."""
RUNS = "law"
"""The table that every analysis has, with a row per run."""
TABLES = (RUNS, "contrasts", "transfer", "listening")
"""CSV files that belong to no figure, without their extension."""
TYPESET = (RUNS, "levels", "contrasts", "transfer", "listening")
"""Tables for people, without their extension. Each has a CSV of the same name."""
LANGUAGES = ("tex", "md")
"""Formats of typeset tables."""


def is_table(name: str) -> bool:
    """Return whether a file of this name may be a table that not every analysis has."""
    stem, _, kind = name.rpartition(".")
    if kind == "csv":
        return stem in TABLES and stem != RUNS
    return kind in LANGUAGES and stem in TYPESET
