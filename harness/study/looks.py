"""The interim looks at a study, recorded in study.json. Each spends a part of the total error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.law.compare import study_outcome
from harness.law.compare.study_outcome import StudyOutcome
from harness.records import holder, plain_file, study_file
from harness.records.run_folder import RunFolder
from harness.records.study_file import InterimLook, StudyRecord

RESULT = "study/result.json"
DAMAGED = (DataError, ValueError, RecursionError, KeyError, TypeError, AttributeError)


def record_look(root: Path, record: StudyRecord, outcome: StudyOutcome) -> StudyRecord:
    """Add this look to study.json, unless its pairs are those of earlier looks."""
    look = study_outcome.new_look(outcome, record.looks)
    if look is None:
        return record
    extended = replace(record, looks=[*record.looks, look])
    with holder.hold(RunFolder(root)):
        study_file.write(root, extended)
    return extended


def earlier_looks(root: Path, record: StudyRecord) -> list[InterimLook]:
    """Return the looks in study.json. For a study judged by a version that recorded none, return
    one look made from study/result.json.
    """
    if record.looks:
        return list(record.looks)
    try:
        result = json.loads(plain_file.text(root / RESULT))
        links = [*result["links"], *result["checks"]]
        pairs = {str(link["name"]): _pairs(link, result["best"], record) for link in links}
    except DAMAGED:
        return []
    by_link = {name: names for name, names in pairs.items() if names}
    return [InterimLook(by_link, dict.fromkeys(by_link))] if by_link else []


def _pairs(link: dict[str, Any], best: dict[str, str], record: StudyRecord) -> list[str]:
    """Return the pairs of a link in result.json by the names of their runs; empty if untested."""
    arms = [best.get(arm, arm) for arm in (link["arm"], link["against"]) if arm]
    if link["difference"] is None:
        return []
    return sorted(" ".join(record.arms[arm][seed] for arm in arms) for seed in link["by_seed"])
