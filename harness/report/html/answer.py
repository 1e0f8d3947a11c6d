"""The first section of the page: the verdict of a study, or the findings at each level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.law.compare.link_result import CONTRADICTED, NO_EFFECT, SUPPORTED, UNDECIDED
from harness.law.compare.study_outcome import StudyOutcome
from harness.law.group_results import Analysis, SeedMean
from harness.law.result_parts import AnchorRewards
from harness.law.results import Onset, RunResult
from harness.records.study_file import StudyStatement
from harness.report.html.blocks import HtmlTable, TableRow, from_rich, row
from harness.report.html.link_chart import links
from harness.report.html.plot import Chart
from harness.report.tables import other_study, validity
from harness.report.tables import study as study_table
from harness.report.text import (
    answer,
    answer_lines,
    dropped_rows,
    findings,
    link_words,
    study_notes,
    wording,
)
from harness.report.text.wording import plural

COLOURS = {SUPPORTED: "yes", CONTRADICTED: "no", NO_EFFECT: "none", UNDECIDED: "open"}
"""Verdict of a study -> CSS class of its badge."""
METHOD = (
    "Mean over the seeds with its 95% interval; for a single run, the run's own interval. Reward "
    "at the end: mean of the last tenth of the points. References: rewards of policies that never "
    "learn; the deaf one is the best fixed sequence of strategies, which ignores the user. Lost to "
    "noise: the fall of H in null controls. Law: R = -a exp(H) + b."
)
SEE_TABLES = ": see --tables"
"""End of a line on the terminal; removed here, since the page has the tables."""


@dataclass(frozen=True)
class ReportedStudy:
    """A study as it was last judged, read from its folder."""

    name: str
    stated: StudyStatement
    outcome: StudyOutcome | None
    notes: Sequence[str]


@dataclass(frozen=True)
class AnswerSection:
    """The answer of a study, or of the fitted runs."""

    title: str
    verdict: str
    """One word for a badge; empty if there is none."""
    kind: str
    """CSS class of the badge."""
    sentences: Sequence[str]
    tables: Sequence[HtmlTable]
    charts: Sequence[Chart]
    notes: Sequence[str]


def of_study(study: ReportedStudy) -> AnswerSection:
    """Return the question, the verdict, and the links that it follows from."""
    outcome = study.outcome
    if outcome is None:
        stated = [
            f"{link.name}: {link_words.statement_with_margin(link)}" for link in study.stated.links
        ]
        return AnswerSection(
            study.stated.question, "not judged", "open", list(study.notes), (), (),
            ["stated beforehand:", *stated],
        )  # fmt: skip
    tables = []
    if study_notes.has_finished_runs(outcome):
        tables = [from_rich("Deciding links, links beside, checks", study_table.table(outcome))]
    sentences = [study_table.closing(outcome), *study.notes]
    if (comparison := outcome.comparison) is not None:
        tables.append(from_rich("The same study elsewhere", other_study.table(comparison)))
        words = outcome.stated.words
        sentences += [
            other_study.other_study_line(comparison, words),
            other_study.agreement(comparison),
        ]
    users = validity.finding(outcome.validity, outcome.unknown_validity)
    return AnswerSection(
        study_table.headline(outcome),
        outcome.verdict,
        COLOURS.get(outcome.verdict, "open"),
        [*sentences, *([users] if users else [])],
        tables,
        [links(outcome)],
        list(study_notes.notes(outcome)),
    )


def of_analysis(analysis: Analysis) -> AnswerSection | None:
    """Return a row and a sentence per level, and the open questions; None if no run was read."""
    fitted = [run for run in analysis.runs if run.status == "ok"]
    if not fitted:
        return None
    rows = answer.rows(analysis)
    questions = [
        line.removesuffix(SEE_TABLES) for line in answer_lines.open_questions(analysis, rows)
    ]
    return AnswerSection(
        headline(analysis, fitted), "", "",
        [answer_lines.heading(analysis), *dropped_rows.ended_by_rule(analysis)],
        [by_level(rows)] if rows else [], (), [*questions, *findings.closing(analysis, fitted)],
    )  # fmt: skip


def headline(analysis: Analysis, fitted: Sequence[RunResult]) -> str:
    """Return `4 runs, and 2 null controls: law holds in 3, law fails in 1; no onset in any run`."""
    nulls = [run for run in fitted if run.setting("algorithm", "null_control") is True]
    counted_runs = [run for run in fitted if run not in nulls] or fitted
    nulls_text = (
        f", and {plural(len(nulls), 'null control')}" if 0 < len(nulls) < len(fitted) else ""
    )
    onsets = findings.onset_finding(analysis, counted_runs)
    batch = any(run.same_batch for run in counted_runs)
    law = wording.verdicts(counted_runs) + (
        " on same-batch reward, which is expected to fit" * batch
    )
    return f"{plural(len(counted_runs), 'run')}{nulls_text}: {law}; {onsets}"


def by_level(rows: Sequence[answer.AnswerRow]) -> HtmlTable:
    """Return a row per group of runs that differ only in the seed, or per single run."""
    headings = (
        "level", "seeds", "gain of reward", "reward at the end", "references", "fall of H, nats",
        "lost to noise", "collapse", "law",
    )  # fmt: skip
    return HtmlTable("By level", headings, tuple(map(_level, rows)), [METHOD])


def _level(answer_row: answer.AnswerRow) -> TableRow:
    return row(
        answer_row.name,
        str(answer_row.seeds),
        _mean(answer_row.gain),
        _mean(answer_row.end),
        _references(answer_row.anchors),
        _mean(answer_row.fall),
        _mean(answer_row.noise),
        _collapse(answer_row.onsets),
        _law(answer_row),
    )


def _mean(mean: SeedMean | None) -> str:
    """Return a number with its interval on the next line."""
    text = wording.pooled(mean) if mean is not None else None
    return "-" if text is None else text.replace(" [", "\n[", 1)


def _references(anchors: AnchorRewards | None) -> str:
    if anchors is None:
        return "-"
    rewards = {"deaf": anchors.deaf, "random": anchors.random, "attentive": anchors.attentive}
    return "\n".join(
        f"{name} {wording.number(reward.value)}" for name, reward in rewards.items() if reward
    )


def _collapse(onsets: Sequence[Onset | None]) -> str:
    """Return the onset of a single run; for several, a count and the first and last step."""
    if not onsets:
        return "too short"
    if len(onsets) == 1:
        return wording.onset_words(onsets[0]).replace(" [", "\n[", 1)
    steps = sorted(onset.step for onset in onsets if onset is not None and onset.is_collapse)
    count_text = f"{len(steps)} of {len(onsets)}"
    ends = dict.fromkeys(f"{step:.0f}" for step in (steps[:1] + steps[-1:]))
    return f"{count_text}\nfrom step {' to '.join(ends)}" if steps else count_text


def _law(answer_row: answer.AnswerRow) -> str:
    """Return the verdicts, one per line."""
    counts = Counter(map(wording.verdict, answer_row.verdicts))
    lines = [
        word if len(answer_row.verdicts) == 1 else f"{word}: {n}"
        for word, n in counts.most_common()
    ]
    return "\n".join(["same batch:", *lines] if answer_row.same_batch else lines) or "-"
