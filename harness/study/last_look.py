"""Reads a study's last verdict from its folder, without running anything or spending error.

An interim look at the links spends part of the error, so only `harness study` takes one. Here the
links are judged again on the runs of the recorded looks. Runs that have finished since are only
counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.execution import ledger
from harness.law import analysis
from harness.law.compare import other_study, study_arms, study_outcome
from harness.law.compare.study_outcome import StudyOutcome
from harness.records import plain_file, study_file
from harness.records.study_file import StudyRecord, StudyStatement
from harness.study import looks
from harness.study.looks import DAMAGED


@dataclass(frozen=True)
class LastVerdict:
    """The last verdict on a study."""

    study: str
    stated: StudyStatement
    """The statement that was last judged; before the first look, the planned one."""
    outcome: StudyOutcome | None
    """None if the study has not been judged yet, or its result is missing."""
    notes: Sequence[str]
    """Further remarks for the reader, one sentence each."""


def read(root: Path, pool: Executor | None = None) -> LastVerdict:
    """Read the last verdict. Raises DataError if study.json, sweep.json or the statement in them
    cannot be read.
    """
    record = study_file.read(root)
    result = _result(root)
    statement = _last_statement(root, record, result)
    if result is None or not looks.earlier_looks(root, record):
        note = f"not judged yet: `harness study {record.study}` runs what is missing and judges it"
        return LastVerdict(record.study, statement, None, [note])
    try:
        if not _has_runs_of(record, statement):
            note = (
                f"planned with other seeds or arms since it was judged: {result.get('verdict')}, "
                f"in {looks.RESULT}; `harness study {record.study}` judges it as it is planned now"
            )
            return LastVerdict(record.study, statement, None, [note])
        outcome, notes = _judge_again(root, record, statement, result, pool)
    except DAMAGED as error:
        rule = "must hold what a study states"
        got = f"{type(error).__name__}: {plain_file.one_line(error)}"
        raise DataError(f"{root / looks.RESULT}: {rule}; got {got}") from error
    return LastVerdict(record.study, statement, outcome, notes)


def _has_runs_of(record: StudyRecord, statement: StudyStatement) -> bool:
    """Return whether the plan has a run for each arm and seed of the statement."""
    return all(
        str(seed) in record.arms.get(arm, {}) for arm in statement.arms for seed in statement.seeds
    )


def _judge_again(
    root: Path,
    record: StudyRecord,
    statement: StudyStatement,
    result: Mapping[str, Any],
    pool: Executor | None,
) -> tuple[StudyOutcome, list[str]]:
    """Judge the links on the runs of the recorded looks; return the outcome and notes."""
    earlier, runs = looks.earlier_looks(root, record), ledger.read(root)
    done = study_arms.finished_folders(runs)
    pairs = (pair for look in earlier for link_pairs in look.pairs.values() for pair in link_pairs)
    names = {name for pair in pairs for name in str(pair).split(" ")}
    folders = _judged_folders(names, done, statement, record)
    members, diverged = analysis.load_members(folders, pool), study_arms.diverged_runs(runs)
    arms = study_arms.assign_runs(
        record, statement, members, diverged, study_arms.not_started(runs)
    )
    outcome = study_outcome.judge_study(
        record.study, statement, str(root), arms, record.changed, earlier
    )
    if (stored := result.get("beside")) is not None:
        effects = other_study.compare_stored_study([*outcome.links, *outcome.checks], stored)
        outcome = replace(outcome, comparison=effects)
    return outcome, _notes(outcome, result, done, folders, record)


def _judged_folders(
    names: set[str], done: Sequence[Path], statement: StudyStatement, record: StudyRecord
) -> list[Path]:
    """Return the finished runs of all arms for the seeds of the judged runs.

    These include null controls, which are subtracted, and arms that no link uses, which are listed.
    """
    seeds = {
        seed for by_seed in record.arms.values() for seed, name in by_seed.items() if name in names
    }
    judged = {
        name
        for arm in statement.arms
        for seed, name in record.arms.get(arm, {}).items()
        if seed in seeds
    }
    return [folder for folder in done if folder.name in judged]


def _notes(
    outcome: StudyOutcome,
    result: Mapping[str, Any],
    done: Sequence[Path],
    folders: Sequence[Path],
    record: StudyRecord,
) -> list[str]:
    notes = []
    planned = {name for by_seed in record.arms.values() for name in by_seed.values()}
    newer = len([folder for folder in done if folder.name in planned]) - len(folders)
    if newer:
        notes.append(
            f"{newer} runs have finished since the last look and are not in this verdict: "
            f"`harness study {record.study}` judges them, which counts as another look"
        )
    if result.get("verdict") != outcome.verdict:
        notes.append(
            f"study/result.json says {result.get('verdict')}, this version finds "
            f"{outcome.verdict} on the same runs"
        )
    return notes


def _result(root: Path) -> Mapping[str, Any] | None:
    """Read study/result.json, which `harness study` wrote last; None if missing or damaged."""
    try:
        result = json.loads(plain_file.text(root / looks.RESULT))
        return result if isinstance(result, dict) else None
    except (DataError, ValueError, RecursionError):
        return None


def _last_statement(
    root: Path, record: StudyRecord, result: Mapping[str, Any] | None
) -> StudyStatement:
    """Return the statement that was last judged: the first one, with the changes since."""
    try:
        first = study_file.from_plain(record.stated)
        return first if result is None else _apply_changes(first, result)
    except DAMAGED as error:
        rule = "must hold what a study states"
        raise DataError(
            f"{root / study_file.FILE}: {rule}; got {plain_file.one_line(error)}"
        ) from error


LINK = ("quantity", "arm", "against", "direction", "margin", "evaluation", "net_of_null", "given")
NEWER = ("spread", "probe", "crossed")
"""Keys of a link that results of older versions lack."""


def _apply_changes(first: StudyStatement, result: Mapping[str, Any]) -> StudyStatement:
    links, checks = (
        [study_file.link_of(link["name"], _stated_keys(link)) for link in result[part]]
        for part in ("links", "checks")
    )
    best_of = result.get("best_of", first.best)  # results of older versions lack it
    return replace(
        first,
        question=result["question"],
        source=result["source"],
        seeds=result["seeds"],
        words=result["words"],
        arms={arm: values["words"] for arm, values in result["arms"].items()},
        links=links,
        checks=checks,
        deciding=result["deciding"],
        best={name: best_of[name] for name in result["best"]},
        rival=(result["rival"] or {}).get("regime"),
        most_seeds=result.get("most_seeds", first.most_seeds),
    )


def _stated_keys(link: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stated keys of a link in result.json."""
    return {key: link[key] for key in (*LINK, *(name for name in NEWER if name in link))}
