"""Runs that have not finished, or diverged, are counted and named, and are in no mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DivergedError
from harness.law.analysis import analyse
from harness.law.analysis import load_members as members_of
from harness.law.compare import study_arms
from harness.records.metrics_log import MetricsLog
from harness.records.study_file import StudyRecord, StudyStatement
from harness.records.sweep_file import LedgerRow, Sweep
from harness.report.figures import group_series
from harness.testing import synthetic
from harness.testing.commands import here
from tests.faults.fitted import fitted, the_run
from tests.law import ended
from tests.law.ended import edit, numbers, rows, stands, without_onset

Seen = Callable[[str, object], None]

EXCLUDED = "excluded from means and contrasts (include them with --with-unfinished)"


@pytest.mark.attack(
    "the last 20 rows of a run that says it is done are cut off",
    "it counts as unfinished, is named, and the group's mean is that of the others",
)
def test_a_finished_run_cut_short_is_unfinished(tmp_path: Path, record_property: Seen) -> None:
    for seed in (1, 2, 3):
        ended.run(tmp_path / "runs" / f"s{seed}", seed)
        if seed != 2:
            ended.run(tmp_path / "others" / f"s{seed}", seed)
    edit(tmp_path / "runs" / "s2", lambda lines: lines[:-20])
    found, said = fitted("runs", cwd=tmp_path, real=True)
    one = the_run(found, "s2")
    assert one["dropped"] == {"missing_row": 20}
    assert one["unfinished"] == {
        "status": "done",
        "reason": "damaged: a run that is done must end with the row of step 60, "
        "got step 40 as its last",
        "exit_code": 0,
        "last_step": 40,
        "steps": one["config"]["trainer"]["steps"],
    }
    (group,), (others,) = found["groups"], fitted("others", cwd=tmp_path)[0]["groups"]
    assert group["unfinished"] == ["runs/s2"]
    assert group["runs"] == ["runs/s1", "runs/s3"]
    assert group["a"] == others["a"]
    line = f"harness: 1 run is unfinished, {EXCLUDED}: runs/s2"
    assert f"{line} (damaged at step 40 of " in said
    record_property("seen", said.splitlines()[1])


ENDS: dict[str, dict[str, Any]] = {
    "failed": {"status": "failed", "exit_code": 74, "reason": "disk full"},
    "stopped": {"status": "stopped", "exit_code": 75, "reason": "stopped on request"},
    "running": {"status": "running", "exit_code": None},
    "planned": {"status": "planned", "exit_code": None},
}


@pytest.mark.attack(
    "one of four seeds has failed, was stopped, or still runs",
    "mean, contrasts and figures are those of the other three, and say so",
)
@pytest.mark.parametrize("how", ENDS)
def test_an_unfinished_run_is_in_no_mean(tmp_path: Path, how: str, record_property: Seen) -> None:
    for name in ("runs", "others", "asdone"):
        for seed in (1, 2, 3):
            ended.run(tmp_path / name / f"easy{seed}", seed)
            ended.run(tmp_path / name / f"hard{seed}", seed + 10, level="hard")
    short = rows(24, 30)
    ended.run(tmp_path / "runs" / "hard4", 14, short, level="hard", **ENDS[how])
    ended.run(tmp_path / "asdone" / "hard4", 14, short, level="hard")
    real = how == "failed"
    found, said = fitted("runs", cwd=tmp_path, real=real)
    others = fitted("others", cwd=tmp_path)[0]
    assert anonymous(found["groups"]) == anonymous(others["groups"])
    assert [group["unfinished"] for group in found["groups"]] == [[], ["runs/hard4"]]
    one = the_run(found, "hard4")
    assert (one["status"], one["unfinished"]["status"], one["n_valid"]) == ("ok", how, 30)
    assert f"1 run is unfinished, {EXCLUDED}" in said
    every, loud = fitted("runs", "--with-unfinished", cwd=tmp_path, real=real)
    asdone = fitted("asdone", cwd=tmp_path)[0]
    assert anonymous(every["groups"]) == anonymous(asdone["groups"])
    assert every["groups"][1]["unfinished"] == ["runs/hard4"]
    assert "1 run is unfinished, included in means and contrasts by --with-unfinished" in loud
    record_property("seen", said.splitlines()[-2])


def anonymous(groups: list[dict[str, Any]]) -> str:
    """Their numbers, whatever the folder of the runs is called."""
    text = json.dumps([numbers(group) for group in groups])
    return text.replace("asdone/", "runs/").replace("others/", "runs/")


def test_an_unreadable_run_json_does_not_say_that_a_run_is_finished(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        ended.run(tmp_path / f"s{seed}", seed)
    (tmp_path / "s3" / "run.json").write_text('{"status": "do')
    found = analyse([tmp_path])
    (group,) = found.groups
    assert group.unfinished == [str(tmp_path / "s3")]
    ended_as = found.runs[2].unfinished
    assert ended_as is not None
    assert ended_as.status is None
    assert "run.json: cannot be read" in str(ended_as.reason)


@pytest.mark.attack(
    "every seed of a level is unfinished",
    "the level stays with n = 0 and says so",
)
def test_a_group_of_unfinished_runs_stays_and_says_so(
    tmp_path: Path, record_property: Seen
) -> None:
    for seed in (1, 2):
        ended.run(tmp_path / "runs" / f"easy{seed}", seed)
        ended.run(tmp_path / "runs" / f"hard{seed}", seed, level="hard", **ENDS["failed"])
    words = ("--out", "law", "--figures", "none", "--tables")
    done = here("fit-entropy-law", "runs", *words, cwd=tmp_path, COLUMNS="200")
    assert done.returncode == 0, done.stderr
    line = (
        "difficulty=hard: 2 of 2 runs unfinished, excluded from every mean; no run is left, n = 0"
        " (hard1, hard2)"
    )
    assert line in done.stdout
    assert "2 unfinished left out" in done.stdout
    groups = json.loads((tmp_path / "law" / "law.json").read_text())["groups"]
    assert [(g["runs"], g["a"]["n"]) for g in groups] == [(groups[0]["runs"], 2), ([], 0)]
    record_property("seen", line)


def test_a_run_that_failed_before_its_first_row_is_counted_too(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        ended.run(tmp_path / "runs" / f"s{seed}", seed)
    ended.run(tmp_path / "runs" / "s4", 4, [], **ENDS["failed"])
    (tmp_path / "runs" / "s4" / "metrics.jsonl").unlink()
    found, said = fitted("runs", cwd=tmp_path)
    (group,) = found["groups"]
    assert (group["unfinished"], group["a"]["n"]) == (["runs/s4"], 3)
    assert "runs/s4 (failed 74 at step 0 of " in said


DIVERGED: dict[str, Any] = {
    "status": "failed",
    "exit_code": 70,
    "reason": "step 31: logits must be finite",
}


@pytest.mark.attack(
    "three of five seeds diverge, one of them before its first row",
    "they are named, and censored in a, ceiling, gain and onset",
)
def test_runs_that_diverged_are_censored_and_named(tmp_path: Path, record_property: Seen) -> None:
    for seed in (1, 2):
        ended.run(tmp_path / "runs" / f"s{seed}", seed, without_onset(seed))
    for seed in (3, 4):
        ended.run(tmp_path / "runs" / f"s{seed}", seed, without_onset(seed)[:30], **DIVERGED)
    ended.run(tmp_path / "runs" / "s5", 5, [{**rows(5)[0], "entropy": None}], **DIVERGED)
    words = ("--out", "law", "--figures", "none", "--tables")
    done = here("fit-entropy-law", "runs", *words, cwd=tmp_path, COLUMNS="200")
    assert (
        "3 of 5 runs unfinished, excluded from every mean; 3 diverged (s3, s4, s5)" in done.stdout
    )
    (group,) = json.loads((tmp_path / "law" / "law.json").read_text())["groups"]
    assert group["diverged"] == group["unfinished"] == ["runs/s3", "runs/s4", "runs/s5"]
    told = {name: (group[name]["n"], group[name]["censored"]) for name in ("a", "ceiling", "gain")}
    assert told == dict.fromkeys(("a", "ceiling", "gain"), (2, 3))
    assert (group["onset"]["n"], group["onset"]["censored"]) == (0, 5)
    assert [seed["seed"] for seed in group["compared"]["seeds"]] == [1, 2, 3, 4]
    record_property("seen", f"{len(group['diverged'])} of 5 diverged, onset.censored 5")


def test_an_onset_before_it_diverged_counts(tmp_path: Path) -> None:
    """And one that came to none by its last step bounds what is compared."""
    for seed in (1, 2, 3):
        kink = synthetic.rows(synthetic.kink(seed, 300, synthetic.LOW))
        ended.run(tmp_path / f"easy{seed}", seed, without_onset(seed, 300))
        ended.run(tmp_path / f"hard{seed}", seed, kink, level="hard")
    stands(tmp_path / "hard3", **DIVERGED)
    _, hard = analyse([tmp_path]).groups
    assert (hard.onset.n, hard.onset.censored, hard.a.n, hard.a.censored) == (3, 0, 2, 1)
    (onset,) = [c for c in hard.contrasts if c.quantity == "onset"]
    assert onset.seeds == (3, 3)
    whole = onset.difference
    assert whole is not None
    cut = tmp_path / "hard3"
    ended.run(cut, 3, without_onset(3, 300)[:200], level="hard", **DIVERGED)
    _, hard = analyse([tmp_path]).groups
    assert (hard.onset.n, hard.onset.censored) == (2, 1)
    (onset,) = [c for c in hard.contrasts if c.quantity == "onset"]
    assert onset.difference is None or abs(onset.difference) < abs(whole)


def test_a_replay_that_differed_is_unfinished_and_did_not_diverge(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.append(1, {"entropy": 0.5})
    with pytest.raises(DivergedError, match="a recomputed row must equal") as mismatch:
        log.append(1, {"entropy": 0.6})
    log.close()
    for seed in (1, 2):
        ended.run(tmp_path / "runs" / f"s{seed}", seed)
    stands(tmp_path / "runs" / "s2", status="failed", exit_code=70, reason=str(mismatch.value))
    (group,) = analyse([tmp_path / "runs"]).groups
    assert (len(group.unfinished), list(group.diverged)) == (1, [])


@pytest.mark.attack(
    "of a study's arm one run diverged, and one that says it is done lost its last rows",
    "neither is in a pair; the arm counts both as failed and the first as diverged",
)
def test_an_arm_counts_what_diverged_or_was_cut_as_failed(
    tmp_path: Path, record_property: Seen
) -> None:
    for seed in (1, 2, 3):
        ended.run(tmp_path / f"s{seed}", seed)
    stands(tmp_path / "s1", **DIVERGED)
    edit(tmp_path / "s2", lambda lines: lines[:-5])
    status = {"s1": ("failed", 70), "s2": ("done", 0), "s3": ("done", 0)}
    rows_of = [
        LedgerRow(name, str(tmp_path / name), (), word, None, code)
        for name, (word, code) in status.items()
    ]
    ledger = Sweep(str(tmp_path), {}, rows_of)
    stated = StudyStatement("q", "source", (1, 2, 3), (), {"arm": ()}, (), (), (), {}, None)
    record = StudyRecord("s", {}, (), {"arm": {"1": "s1", "2": "s2", "3": "s3"}}, {})
    members = members_of(study_arms.finished_folders(ledger))
    found = study_arms.assign_runs(record, stated, members, study_arms.diverged_runs(ledger))
    counts = found.counts["arm"]
    assert (counts.planned, counts.failed, counts.diverged) == (3, 2, 1)
    assert list(found.runs["arm"]) == [3]
    record_property("seen", f"{counts.failed} of 3 failed, {counts.diverged} of them diverged")


def test_medians_over_runs_leave_the_unfinished_out_and_say_so(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        ended.run(tmp_path / f"s{seed}", seed)
    stands(tmp_path / "s3", **ENDS["stopped"])
    found = analyse([tmp_path])
    (panel,) = group_series.panels(found, found.runs)
    (pool,) = panel.pools
    assert pool.runs == (str(tmp_path / "s1"), str(tmp_path / "s2"))
    assert panel.law_finding.endswith(", 1 unfinished left out")
    (panel,) = group_series.panels(asked := analyse([tmp_path], with_unfinished=True), asked.runs)
    assert len(panel.pools[0].runs) == 3
