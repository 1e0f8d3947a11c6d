"""Runs whose files are not as they wrote them: left out whole, with the file, line and rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from harness.law.variance import runs
from harness.records import metric_rows, outcomes, run_status
from harness.records.run_folder import RunFolder
from tests.law.variance.made import run

Lines = list[bytes]
AS_WRITTEN = "every row must be as the run wrote it"


@pytest.fixture
def whole(tmp_path: Path) -> RunFolder:
    """A run of 21 steps with checksums, and their sum in run.json."""
    folder = RunFolder(run(tmp_path, "easy", 1, 0.5))
    rows = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    lines = [metric_rows.encode(row) for row in rows]
    folder.metrics.write_bytes(b"".join(lines))
    sums = metric_rows.sums(lines)
    assert sums is not None
    status = replace(run_status.read(folder.status), last_step=21, rows=asdict(sums))
    run_status.write(folder.status, status)
    return folder


def left_out(folder: RunFolder) -> str:
    """Why the run is left out, its path cut; empty where it counts."""
    counted, skipped = runs.read([folder.path], "own")
    assert len(counted) + len(skipped) == 1
    return skipped[0].reason.replace(f"{folder.path}/", "") if skipped else ""


def again(line: bytes, **values: Any) -> bytes:
    row = {key: value for key, value in json.loads(line).items() if key != metric_rows.KEY}
    return metric_rows.encode({**row, **values})


def test_a_whole_run_counts(whole: RunFolder) -> None:
    assert left_out(whole) == ""


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda rows: [*rows[:4], rows[4].replace(b"0.", b"1.", 1), *rows[5:]],
         f"metrics.jsonl:5: {AS_WRITTEN}; got a line that does not match its checksum"),
        (lambda rows: [*rows[:4], b"x" + rows[4], b"{}}\n", *rows[6:]],
         f"metrics.jsonl:5: {AS_WRITTEN}; got a malformed line, and 1 more such lines"),
        (lambda rows: rows[:-1],
         "a run that is done must end with the row of step 21, got step 20 as its last"),
        (lambda rows: rows[:6] + rows[7:], "metrics.jsonl:7: row 7 must be that of step 7; got "),
        (lambda rows: rows[:6] + rows[5:], "metrics.jsonl:7: row 7 must be that of step 7; got "),
        (lambda rows: [*rows[:10], again(rows[10], **{"eval/reward": 0.9}), *rows[11:]],
         "metrics.jsonl: rows must match the checksum in run.json"),
    ],
)  # fmt: skip
def test_damaged_rows(whole: RunFolder, damage: Callable[[Lines], Lines], why: str) -> None:
    rows = whole.metrics.read_bytes().splitlines(keepends=True)
    whole.metrics.write_bytes(b"".join(damage(rows)))
    assert left_out(whole).startswith(f"damaged: {why}")


def test_a_value_that_is_no_number(whole: RunFolder) -> None:
    """As in a run of before there were checksums."""
    run_status.write(whole.status, replace(run_status.read(whole.status), rows=None))
    rows = [
        metric_rows.without_checksum(row) for row in whole.metrics.read_bytes().splitlines(True)
    ]
    rows[10] = rows[10].replace(b'"eval/reward": 0.', b'"eval/reward": "0.').replace(b"}", b'"}')
    whole.metrics.write_bytes(b"".join(rows))
    assert left_out(whole) == (
        "damaged: metrics.jsonl:11: eval/reward: must be a finite number or null; got wrong_type"
    )


def test_outcomes_of_another_evaluation(whole: RunFolder) -> None:
    found = outcomes.read(whole.outcomes)
    held = {"own": [[value or 0.0 for value in row] for row in found.by_level["own"]]}
    outcomes.write(whole.outcomes, 11, held)
    assert left_out(whole) == (
        "damaged: outcomes.json: step: must be of the last evaluation, that of step 21; got 11"
    )
    held["own"][0][0] = 1.0
    outcomes.write(whole.outcomes, 21, held)
    assert left_out(whole).startswith(
        "damaged: outcomes.json: reward.own: must have the mean that row 21 has as eval/reward, 0."
    )
    whole.outcomes.write_text("{")
    assert left_out(whole).startswith("damaged: outcomes.json: must be JSON, as a run writes it; ")
