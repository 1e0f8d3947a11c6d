"""What the page says first: the verdict of a study, or what was found at each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.law import advice
from harness.law.compare.links import CONTRADICTED, NO_EFFECT, SUPPORTED, UNDECIDED
from harness.law.compare.study_outcome import Outcome
from harness.law.group_results import Analysis, GroupResult
from harness.law.results import RunResult
from harness.records.study_file import Stated
from harness.report.html.blocks import Row, Table, from_rich, row
from harness.report.html.link_chart import links
from harness.report.html.plot import Chart
from harness.report.tables import population, validity
from harness.report.tables import study as study_table
from harness.report.text import findings, wording
from harness.report.text.wording import plural

COLOURS = {SUPPORTED: "yes", CONTRADICTED: "no", NO_EFFECT: "none", UNDECIDED: "open"}
"""Verdict of a study -> the class of its badge."""
METHOD = (
    "Gain of reward, fall of H and ceiling: mean over the seeds with its 95% interval. Collapse: "
    "runs with a sharp fall of H for good, or H spent; median step by a log-normal. "
    "Law: R = -a exp(H) + b."
)


@dataclass(frozen=True)
class Study:
    """A study as it was last judged; what its folder says, for this page."""

    name: str
    stated: Stated
    outcome: Outcome | None
    notes: Sequence[str]


@dataclass(frozen=True)
class Answer:
    """One answer: a study's, or that of the fitted runs."""

    title: str
    verdict: str
    """One word for a badge; empty where there is none."""
    kind: str
    """The class of the badge."""
    sentences: Sequence[str]
    tables: Sequence[Table]
    charts: Sequence[Chart]
    notes: Sequence[str]


def of_study(study: Study) -> Answer:
    """The question, the verdict, and the links it follows from."""
    outcome = study.outcome
    if outcome is None:
        stated = [f"{link.name}: {study_table.stated(link)}" for link in study.stated.links]
        return Answer(
            study.stated.question, "not judged", "open", list(study.notes), (), (),
            ["stated beforehand:", *stated],
        )  # fmt: skip
    tables = [from_rich("Links that decide, links beside, checks", study_table.table(outcome))]
    sentences = [study_table.closing(outcome), *study.notes]
    users = validity.finding(outcome.validity, outcome.unknown_validity)
    return Answer(
        study_table.headline(outcome),
        outcome.verdict,
        COLOURS.get(outcome.verdict, "open"),
        [*sentences, *([users] if users else [])],
        tables,
        [links(outcome)],
        list(study_table.notes(outcome)),
    )


def of_analysis(analysis: Analysis) -> Answer | None:
    """A sentence and a row a level, and what would decide what is open; None without a run."""
    fitted = [run for run in analysis.runs if run.status == "ok"]
    if not fitted:
        return None
    shown = [by_level(analysis)] if analysis.groups else []
    return Answer(
        headline(analysis, fitted), "", "", findings.closing(analysis, fitted), shown, (),
        advice.what_would_decide(analysis),
    )  # fmt: skip


def headline(analysis: Analysis, fitted: Sequence[RunResult]) -> str:
    """`4 runs: law holds in 3, law fails in 1; no onset in any run`, beside null controls."""
    nulls = [run for run in fitted if run.setting("algorithm", "null_control") is True]
    told = [run for run in fitted if run not in nulls] or fitted
    beside = f", and {plural(len(nulls), 'null control')}" if 0 < len(nulls) < len(fitted) else ""
    onsets = findings.onset_finding(analysis, told)
    batch = any(run.same_batch for run in told)
    law = wording.verdicts(told) + (" on same-batch reward, which is expected to fit" * batch)
    return f"{plural(len(told), 'run')}{beside}: {law}; {onsets}"


def by_level(analysis: Analysis) -> Table:
    """A row a group of runs that are alike but for the seed, from the lowest level up."""
    runs = {run.run: run for run in analysis.runs}
    known = sorted(
        analysis.groups,
        key=lambda group: (group.compared is None, group.compared.order if group.compared else 0),
    )
    columns = {group.reward for group in analysis.groups if group.reward}
    batch = ", same batch" if any(run.same_batch for run in analysis.runs) else ""
    on = f" ({columns.pop()}{batch})" if len(columns) == 1 else ""
    headings = (
        "level",
        "runs",
        f"gain of reward{on}",
        "fall of H, nats",
        "collapse",
        f"ceiling{on}",
        "law",
    )
    shown = [_level(group, [runs[run] for run in group.every if run in runs]) for group in known]
    return Table("By level", headings, tuple(shown), [METHOD])


def _level(group: GroupResult, members: Sequence[RunResult]) -> Row:
    """Means over the runs that count; of a run alone, finished or not, its own numbers."""
    counted = [run for run in members if run.run in group.runs]
    one = members[0] if len(members) == 1 else None
    gain, ceiling = wording.pooled(group.gain), wording.pooled(group.ceiling)
    if one is not None:
        gain = wording.interval(one.gain) if one.gain else None
        law = findings.law(one)
        known = law.ceiling if law.ceiling_identified else None
        ceiling = wording.interval(known) if known else "not identified"
    fall = wording.pooled(group.compared.fall) if group.compared else None
    left = len(group.left_out)
    return row(
        population.name(group) if group.key else members[0].level or "all runs",
        f"{len(group.runs)}{f' + {left} unfinished' if left else ''}",
        _parted(gain),
        _parted(fall),
        _collapse(group, one),
        _parted(ceiling),
        _law(counted or members),
    )


def _parted(number: str | None) -> str:
    """A number over its interval."""
    return "-" if number is None else number.replace(" [", "\n[", 1)


def _collapse(group: GroupResult, one: RunResult | None) -> str:
    if one is not None:
        return wording.onset(one.onset)
    onset = group.population.onset if group.population is not None else None
    if onset is None or not onset.runs:
        return "-"
    of = f"{onset.events} of {onset.events + onset.censored}"
    median = onset.parametric.median
    return f"{of}\nmedian step {median.value:.0f}" if median is not None else of


def _law(runs: Sequence[RunResult]) -> str:
    """The verdicts, a line each."""
    if not runs:
        return "-"
    return wording.verdicts(runs).replace("law ", "").replace(", ", "\n")
