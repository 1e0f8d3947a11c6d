"""A study on a terminal: a row per link, then the verdict with its doubts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.law.compare import claims
from harness.law.compare.deaf_schedule import DeafComparison
from harness.law.compare.links import SUPPORTED, UNDECIDED, LinkResult
from harness.law.compare.study_outcome import StudyOutcome
from harness.records.study_file import Link
from harness.report.tables import validity
from harness.report.tables.grid import folding_table
from harness.report.tables.other_study import print_beside
from harness.report.text import link_words, study_notes, wording
from harness.report.text.wording import plural
from harness.utils.safe_text import text

COLUMNS = ("link", "difference [95%]", "pairs", "p", "verdict")
ABOUT_DEAF = "about a deaf policy"
PERHAPS_DEAF = "about a deaf policy, or too few seeds or users to tell"


def print_study(outcome: StudyOutcome, console: Console) -> None:
    """Print the question, the links, and the verdict with its doubts."""
    console.print(text(headline(outcome), "bold"), soft_wrap=True)
    users = outcome.validity, outcome.unknown_validity
    validity.print_validity(*users, console, all_measures=False)  # the report shows all measures
    if study_notes.has_finished_runs(outcome):
        console.print(table(outcome))
    if outcome.comparison is not None:
        print_beside(outcome.comparison, outcome.stated.words, console)
    for line in study_notes.notes(outcome):
        console.print(text(line, "dim"), soft_wrap=True)
    console.print(text(closing(outcome), "bold"), soft_wrap=True)


def headline(outcome: StudyOutcome) -> str:
    """Return the question, preceded by a warning if no arm is shown to listen."""
    about = f"{_about(outcome)}: " if outcome.about_deaf_policies else ""
    return f"{about}{outcome.stated.question}"


def _about(outcome: StudyOutcome) -> str:
    return PERHAPS_DEAF if outcome.may_end_above else ABOUT_DEAF


def closing(outcome: StudyOutcome) -> str:
    """Return the verdict and, if it is open, what would decide it."""
    doubts = f"{_small(outcome)}{_invalid(outcome)}{_deaf(outcome)}"
    sentence = f"{outcome.study}: {outcome.verdict}{doubts}"
    if outcome.verdict != UNDECIDED:
        return sentence
    needed = outcome.seeds_needed
    decides = f"about {needed} seeds would decide" if needed else "the seeds needed are not known"
    return f"{sentence}; {decides}" if study_notes.has_finished_runs(outcome) else sentence


def _small(outcome: StudyOutcome) -> str:
    """Say which differences of a supported study are shown to be smaller than their margin."""
    decide = [one for one in outcome.links if one.link.name in outcome.stated.deciding]
    small = [one for one in decide if one.why == claims.SMALL]
    if outcome.verdict != SUPPORTED or not small:
        return ""
    if len(small) == len(decide) == 1:
        return ", by less than its margin"
    its = "its" if len(small) == 1 else "their"
    return f", {len(small)} of {plural(len(decide), 'link')} by less than {its} margin"


def _invalid(outcome: StudyOutcome) -> str:
    """Return `, with users not valid in 12 of 20 runs`."""
    runs = [counts.planned - counts.failed - counts.inactive for counts in outcome.counts.values()]
    invalid = sum(counts.invalid_users for counts in outcome.counts.values())
    return f", with users not valid in {invalid} of {plural(sum(runs), 'run')}" if invalid else ""


def _deaf(outcome: StudyOutcome) -> str:
    """Say whether any arm ends above the best deaf schedule; empty if that is unknown."""
    if outcome.about_deaf_policies is None:
        return ""
    if outcome.about_deaf_policies:
        none = f", {_about(outcome)}: no arm is shown to end above the best deaf schedule"
        may = ", ".join(map(_may, outcome.may_end_above))
        return f"{none}; {may}" if may else none
    above = list(dict.fromkeys(one.arm for one in outcome.above_deaf if one.is_above))
    verb = "ends" if len(above) == 1 else "end"
    return f", {' and '.join(above)} {verb} above the best deaf schedule"


def _may(one: DeafComparison) -> str:
    """Return `hard may, by up to 0.12 with 3 seeds`."""
    most = wording.number((one.difference and one.difference.high) or 0.0)
    return f"{one.arm} may, by up to {most} with {plural(one.seeds, 'seed')}"


def table(outcome: StudyOutcome) -> Table:
    """Return a row per link with difference, pairs, p and verdict; then the checks."""
    shown = folding_table(*COLUMNS)
    for judged in outcome.links:
        kind = "" if judged.link.name in outcome.stated.deciding else "beside: "
        shown.add_row(_named(judged.link, kind), *map(text, _cells(judged)))
    for check in outcome.checks:
        shown.add_row(_named(check.link, "check: "), *map(text, _cells(check)), style="dim")
    return shown


def _named(link: Link, kind: str = "") -> Text:
    return Text("\n").join([text(f"{kind}{link.name}:"), text(link_words.statement(link))])


def _cells(judged: LinkResult) -> Sequence[str]:
    difference, p = judged.judged, judged.p
    return (
        "-" if difference is None else link_words.interval(difference, judged.link),
        str(judged.pairs),
        "-" if p is None else claims.p_text(p.supported),
        f"{judged.verdict}, small" if judged.why == claims.SMALL else judged.verdict,
    )
