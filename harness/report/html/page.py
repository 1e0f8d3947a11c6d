"""The report: the results and settings of some runs as the bytes of one HTML file.

Equal input gives equal bytes: the only dates are those of the runs and the one that the caller
gives, and the only paths those given on the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.law.diagnosis.results import Diagnosis
from harness.law.group_results import Analysis
from harness.records import plain_file
from harness.report.html import (
    answer,
    cards,
    conversations,
    figures,
    folders,
    head,
    probes,
    render,
    results,
    settings,
)
from harness.report.html.answer import AnswerSection, ReportedStudy
from harness.report.html.conversations import Selection
from harness.report.html.folders import LocatedRun
from harness.report.html.talks import ConversationView
from harness.report.text import naming

MOST_BYTES = 5_000_000
"""Largest size of the file, suitable for mail."""
GENERATOR = "harness report"
"""Name of the program in each page, which distinguishes our pages from other files."""
GENERATOR_TAG = f'<meta name="generator" content="{GENERATOR}">'
UNTAGGED = (
    """content="default-src &#39;none&#39;; style-src &#39;sha256-""",
    ": harness report</title>",
)
"""Strings that together identify a page of an earlier version, which had no such tag."""
HEAD_BYTES = 4096
"""Number of bytes at the beginning of a file that are searched for the tag."""
FOR_NOTES = 40_000
"""Bytes reserved for the filters of conversations and the notes on them."""


@dataclass(frozen=True)
class Report:
    """The file, and a summary of its content."""

    content: bytes
    conversations: int
    notes: Sequence[str]
    """Notes on the conversations: the rule, and what was left out."""
    charts: Sequence[str] = field(default_factory=tuple)


def report(
    title: str,
    paths: Sequence[Path],
    analysis: Analysis,
    studies: Sequence[ReportedStudy] = (),
    notes: Sequence[str] = (),
    pool: Executor | None = None,
    made_unix_s: float | None = None,
    diagnoses: Sequence[Diagnosis] = (),
) -> Report:
    """Make the page of an analysis of `paths`. Studies come first.

    `notes`: sentences on what else is left out. `made_unix_s`: the date of the page. `diagnoses`:
    those of finished runs. The processes of `pool` help.
    """
    runs = folders.locate_runs(paths, analysis)
    values = _values(runs, analysis, studies)
    values["head"] = head.head(title, runs, analysis, studies, made_unix_s)
    values["diagnosis"] = results.diagnosis(analysis, diagnoses)
    values["left_out"] = [*notes, *values["left_out"]]
    values["sections"] = _sections(values)
    empty = Selection((), (), ())
    size = len(render.page("page.html", **values, **_talks(empty)))
    render_conversation = render.macro("parts.html", "talk")
    max_bytes = max(MOST_BYTES - size - FOR_NOTES, 0)
    selection = conversations.select(analysis, runs, render_conversation, max_bytes, pool)
    content = render.page("page.html", **values, **_talks(selection))
    names = [chart.name for chart in values["charts"]]
    return Report(content, len(selection.rendered), selection.notes, names)


def is_report(path: Path) -> bool:
    """Return whether any version of this module made the file.

    Raises OSError if it is not a regular file.
    """
    with open(path, "rb", opener=plain_file.opener) as file:
        head = file.read(HEAD_BYTES)
    return GENERATOR_TAG.encode() in head or all(mark.encode() in head for mark in UNTAGGED)


def _values(
    runs: Sequence[LocatedRun], analysis: Analysis, studies: Sequence[ReportedStudy]
) -> dict[str, Any]:
    """Return the template's values except head and conversations."""
    run_names = naming.names(analysis)
    level_cards = folders.level_cards(runs)
    charts, others = figures.charts(analysis)
    users, user_tables = results.users(analysis)
    comparisons, comparison_notes = results.comparisons(analysis)
    probe_section = probes.probe_section(runs, run_names)
    return {
        "generator": GENERATOR,
        "answers": _answers(analysis, studies),
        "tables": results.runs(analysis),
        "charts": charts,
        "chart_notes": _chart_notes(others),
        "comparisons": comparisons,
        "comparison_notes": comparison_notes,
        "probes": probe_section.tables,
        "probe_notes": probe_section.notes,
        "users": users,
        "user_tables": user_tables,
        "cards": [
            *cards.measurement_cards(runs, run_names),
            *cards.provenance_cards(runs, run_names),
        ],
        "level_tables": cards.level_tables(level_cards),
        "level_cards": cards.level_details(level_cards),
        "differences": settings.differing_settings(analysis),
        "shared": settings.shared_settings(analysis),
        "left_out": results.omission_notes(analysis),
        "footer": f"made by harness {version('empathy-harness')}; loads nothing from the network",
    }


def _answers(analysis: Analysis, studies: Sequence[ReportedStudy]) -> list[AnswerSection]:
    answers = [answer.of_study(study) for study in studies]
    runs_answer = answer.of_analysis(analysis)
    if runs_answer is not None:
        answers.append(runs_answer)
    return answers


def _chart_notes(others: Sequence[str]) -> list[str]:
    if not others:
        return []
    reason = "drawn by `harness fit-entropy-law`, not here"
    return [f"figures of installed packages, {reason}: {', '.join(others)}"]


SECTIONS = (
    ("answer", "Answer", "answers"),
    ("runs", "Runs", "tables"),
    ("diagnosis", "Diagnosis", "diagnosis"),
    ("figures", "Figures", "charts"),
    ("comparisons", "Comparisons", "comparisons"),
    ("probes", "Probes", "probes"),
    ("cards", "Cards", "cards"),
    ("config", "Config", "shared"),
    ("left-out", "Left out", "left_out"),
    ("conversations", "Conversations", "head"),
)
"""Anchor, name, and the value that must not be empty for the section to appear."""


def _sections(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(anchor, name) for anchor, name, key in SECTIONS if values[key]]


FACETS = (
    ("group", "runs of"), ("level", "level met"), ("run", "run"), ("seed", "seed"),
    ("moment", "when"), ("rank", "which"), ("intention", "hidden intention"), ("ended", "ended"),
)  # fmt: skip


def _talks(selection: Selection) -> dict[str, Any]:
    facets = []
    for name, label in FACETS:
        options = dict.fromkeys(
            value
            for conversation_view in selection.shown
            for value in _facet(conversation_view, name)
        )
        if len(options) > 1:
            facets.append((name, label, list(options)))
    return {"talks": selection.rendered, "talk_notes": selection.notes, "facets": facets}


def _facet(conversation_view: ConversationView, name: str) -> tuple[str, ...]:
    values = conversation_view.moments if name == "moment" else (getattr(conversation_view, name),)
    return tuple(value for value in values if value)
