"""Names of the files that an analysis leaves behind beside law.json and its figures.

The one list of them: the writer removes those of an earlier analysis by it, the typeset tables take
their names from it, and no figure of a plug-in may have one of them.
"""

from __future__ import annotations

VALUES = "law.json"
"""The analysis itself: a folder that has it holds results of ours."""
RUNS = "law"
"""The table that every analysis has: a row a run."""
TABLES = (RUNS, "contrasts", "transfer", "listening")
"""CSV files of no figure, without their ending."""
TYPESET = (RUNS, "levels", "contrasts", "transfer", "listening")
"""Tables for people, without their endings: each beside the CSV of that name."""
LANGUAGES = ("tex", "md")
"""What typeset tables are written in."""


def is_table(name: str) -> bool:
    """Whether a file of this name may be a table that some analyses have and others have not."""
    stem, _, kind = name.rpartition(".")
    if kind == "csv":
        return stem in TABLES and stem != RUNS
    return kind in LANGUAGES and stem in TYPESET
