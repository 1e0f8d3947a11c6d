"""What a fit was not given, or was given damaged, is counted and named, and is in no mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DivergedError
from harness.law.analysis import analyse
from harness.law.analysis import members as members_of
from harness.law.compare import study_arms
from harness.law.io import fast_reading, reading
from harness.records import metric_rows
from harness.records.metrics import MetricsLog
from harness.records.study_file import Stated, StudyRecord
from harness.records.sweep_file import LedgerRow, Sweep
from harness.report.figures import group_series
from harness.testing import synthetic
from harness.testing.commands import harness, here
from tests.law import ended
from tests.law.ended import STEPS, edit, numbers, rows, stands, without_onset

Seen = Callable[[str, object], None]

EXCLUDED = "excluded from means and contrasts (include them with --with-unfinished)"


def fitted(*words: str, cwd: Path, real: bool = False) -> tuple[dict[str, Any], str]:
    """law.json as the command prints it, and what it said beside."""
    run = harness if real else here
    done = run("fit-entropy-law", *words, "--json", "--figures", "none", "--out", "law", cwd=cwd)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout), done.stderr


def the_run(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [run for run in found["runs"] if Path(run["run"]).name == name]
    return dict(one)


def law_of(run: dict[str, Any]) -> dict[str, Any]:
    """A run but for its name and what was left out of it."""
    named = ("run", "dropped", "dropped_at", "checksums", "unfinished")
    return {key: value for key, value in run.items() if key not in named}


@pytest.mark.attack(
    "rows are cut from the middle of a finished run",
    "they are counted as missing_row and named by file and step",
)
def test_rows_cut_from_the_middle_are_counted_and_named(
    tmp_path: Path, record_property: Seen
) -> None:
    run = ended.run(tmp_path / "runs" / "a")
    edit(run, lambda lines: [*lines[:19], *lines[24:]])
    found, said = fitted("runs", cwd=tmp_path, real=True)
    one = the_run(found, "a")
    assert one["dropped"] == {"missing_row": 5}
    file = "runs/a/metrics.jsonl"
    assert one["dropped_at"] == {"missing_row": [f"{file}: step {n}" for n in (20, 21, 22)]}
    told = f"5 missing_row ({file}: step 20, {file}: step 21, {file}: step 22, ...)"
    assert f"harness: left out of runs/a: {told}\n" in said
    assert (one["unfinished"], found["groups"][0]["runs"]) == (None, ["runs/a"])
    record_property("seen", said.splitlines()[0])


def test_a_line_that_is_no_row_is_not_missing_too(tmp_path: Path) -> None:
    run = ended.run(tmp_path / "a")
    edit(run, lambda lines: [*lines[:9], b"{\n", lines[10], *lines[13:29], b"{}x\n", *lines[30:]])
    (one,) = analyse([run]).runs
    assert one.dropped == {"malformed_line": 2, "missing_row": 2}
    assert one.dropped_at is not None
    assert one.dropped_at["missing_row"] == [f"{run}/metrics.jsonl: step {n}" for n in (12, 13)]


def test_logs_of_others_and_bare_files_cannot_lack_a_row(tmp_path: Path) -> None:
    every_fifth = rows(1)[::5]
    bare = synthetic.write_rows(tmp_path / "bare", every_fifth)
    log = tmp_path / "history.json"
    log.write_text(json.dumps(every_fifth))
    for result in analyse([bare, log]).runs:
        assert (result.dropped, result.unfinished, result.checksums) == ({}, None, None)


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


@pytest.mark.attack(
    "a digit of a number is flipped in one row",
    "the row is left out as checksum, named, and the numbers are those without it",
)
@pytest.mark.parametrize("place", [0, 29, STEPS - 1])
def test_a_changed_digit_is_noticed(tmp_path: Path, place: int, record_property: Seen) -> None:
    run = ended.run(tmp_path / "runs" / "a", last_step=0)
    without = ended.run(tmp_path / "without" / "a", last_step=0)
    edit(without, lambda lines: [*lines[:place], *lines[place + 1 :]])

    def flip(lines: list[bytes]) -> list[bytes]:
        at = lines[place].index(b'"entropy": ') + len('"entropy": 0.')
        digit = b"7" if lines[place][at : at + 1] != b"7" else b"3"
        lines[place] = lines[place][:at] + digit + lines[place][at + 1 :]
        return lines

    edit(run, flip)
    found, said = fitted("runs", cwd=tmp_path, real=place == 29)
    one = the_run(found, "a")
    assert one["dropped"] == {"checksum": 1}
    assert f"left out of runs/a: 1 checksum (runs/a/metrics.jsonl:{place + 1})" in said
    assert law_of(one) == law_of(the_run(fitted("without", cwd=tmp_path)[0], "a"))
    record_property("seen", said.splitlines()[0])


@pytest.mark.attack(
    "the checksum is taken out of a row, or spoilt",
    "the row counts as damaged, since rows before it have one",
)
@pytest.mark.parametrize("how", ["gone", "no number", "in capitals", "not at the end"])
def test_a_row_that_lost_its_checksum_is_damaged(
    tmp_path: Path, how: str, record_property: Seen
) -> None:
    run = ended.run(tmp_path / "runs" / "a")

    def spoil(lines: list[bytes]) -> list[bytes]:
        line = lines[30]
        lines[30] = {
            "gone": metric_rows.without(line),
            "no number": line[:-4] + b'z"}\n',
            "in capitals": line[:-11] + b"ABCDEF01" + line[-3:],
            "not at the end": line[:-2] + b', "more": 1}\n',
        }[how]
        return lines

    edit(run, spoil)
    found, said = fitted("runs", cwd=tmp_path)
    one = the_run(found, "a")
    assert (one["dropped"], one["checksums"]) == ({"checksum": 1}, "all")
    assert one["dropped_at"] == {"checksum": ["runs/a/metrics.jsonl:31"]}
    record_property("seen", said.splitlines()[0])


def test_runs_made_before_there_were_checksums_are_read_and_counted_once(tmp_path: Path) -> None:
    for seed in (1, 2):
        ended.run(tmp_path / "old" / f"s{seed}", seed, checked=False)
        ended.run(tmp_path / "new" / f"s{seed}", seed)
    (old, said), (new, silent) = (fitted(name, cwd=tmp_path) for name in ("old", "new"))
    assert said.count("no row checksums") == 1
    assert "harness: 2 runs have no row checksums (written by an older version)" in said
    assert "checksums" not in silent
    for one, other in zip(old["runs"], new["runs"], strict=True):
        assert law_of(one) == law_of(other)
        assert (one["checksums"], other["checksums"]) == ("none", "all")


def test_a_run_begun_before_and_continued_after_has_some(tmp_path: Path) -> None:
    run = ended.run(tmp_path / "a")
    edit(run, lambda lines: [*map(metric_rows.without, lines[:20]), *lines[20:]])
    (one,) = analyse([run]).runs
    assert (one.checksums, one.dropped) == ("some", {})


@pytest.mark.parametrize("old", [0, 20, STEPS])
def test_whole_rows_with_checksums_are_read_the_quick_way(tmp_path: Path, old: int) -> None:
    """As the tolerant reader reads them; a thousand logs are a gigabyte."""
    run = ended.run(tmp_path / "a")
    edit(run, lambda lines: [*map(metric_rows.without, lines[:old]), *lines[old:]])
    path, wanted = run / "metrics.jsonl", ("step", "entropy", "reward")
    quick = fast_reading.table(path, path.read_bytes(), wanted)
    slow = reading.read_tolerantly(path, path.read_bytes(), wanted)
    assert quick is not None
    assert (quick.checksums, quick.names) == (slow.checksums, slow.names)
    assert quick.checksums == {0: "all", 20: "some", STEPS: "none"}[old]
    for name in wanted:
        assert quick.columns[name].tolist() == slow.columns[name].tolist()


def test_a_key_of_that_name_in_another_programs_log_is_no_checksum(tmp_path: Path) -> None:
    lines = [{"crc32": "of a file", **row} for row in rows(1)]
    (one,) = analyse([synthetic.write_rows(tmp_path / "bare", lines)]).runs
    assert (one.dropped, one.n_valid, one.checksums) == ({}, STEPS, None)


def test_a_checksum_is_no_column(tmp_path: Path) -> None:
    ended.run(tmp_path / "runs")
    done = here("fit-entropy-law", "runs", "--reward", "crc32", cwd=tmp_path)
    assert done.returncode == 65
    assert "needs a column 'crc32', has step, entropy, reward; --reward COLUMN" in done.stdout


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
    done = harness("fit-entropy-law", "runs", "--out", "law", cwd=tmp_path, COLUMNS="200")
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
    done = harness("fit-entropy-law", "runs", "--out", "law", cwd=tmp_path, COLUMNS="200")
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


def evaluated(seed: int, every: int) -> list[dict[str, Any]]:
    """A run with eval/reward at every so many steps, and another scale of it."""
    return [
        {**row, "eval/reward": row["reward"] / 2 if row["step"] % every == 0 else None}
        for row in rows(seed)
    ]


@pytest.mark.attack(
    "of four seeds two have too few evaluations to be fitted on eval/reward",
    "all four are pooled on the column that all have, and the group names it",
)
def test_a_group_is_pooled_on_one_column(tmp_path: Path, record_property: Seen) -> None:
    for seed, every in ((1, 2), (2, 2), (3, 20), (4, 20)):
        ended.run(tmp_path / "runs" / f"s{seed}", seed, evaluated(seed, every))
    found, _ = fitted("runs", cwd=tmp_path, real=True)
    on_reward, _ = fitted("runs", "--reward", "reward", cwd=tmp_path)
    assert [run["reward"] for run in found["runs"]] == ["eval/reward"] * 2 + ["reward"] * 2
    (group,), (one_column,) = found["groups"], on_reward["groups"]
    assert group["reward"] == "reward"
    for name in ("a", "ceiling", "gain"):
        assert group[name] == one_column[name]
        assert group["compared"][name] == one_column["compared"][name]
    record_property("seen", f"pooled on {group['reward']}")


def test_of_seeds_that_share_no_column_there_is_no_mean(tmp_path: Path) -> None:
    ended.run(tmp_path / "s1", 1)
    lines = [{**row, "eval/reward": row["reward"], "reward": None} for row in rows(2)]
    ended.run(tmp_path / "s2", 2, lines)
    (group,) = analyse([tmp_path]).groups
    assert group.reward is None
    assert (group.a.mean, group.ceiling.mean, group.gain.mean) == (None, None, None)
    assert group.why == (
        "no mean of a, ceiling and gain: the runs have no reward column in common "
        "(eval/reward and reward)"
    )


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
    stated = Stated("q", "source", (1, 2, 3), (), {"arm": ()}, (), (), (), {}, None)
    record = StudyRecord("s", {}, (), {"arm": {"1": "s1", "2": "s2", "3": "s3"}}, {})
    members = members_of(study_arms.finished(ledger))
    found = study_arms.arms(record, stated, members, study_arms.diverged(ledger))
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


@pytest.mark.attack(
    "a link to / lies among the runs",
    "it is not entered: the fit takes seconds, finds no other run, and names the link",
)
def test_a_link_to_the_root_of_the_disk_is_not_entered(
    tmp_path: Path, record_property: Seen
) -> None:
    ended.run(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "everything").symlink_to("/")
    found, _ = fitted("runs", cwd=tmp_path, real=True)
    assert [run["run"] for run in found["runs"]] == ["runs/a"]
    reason = "a link that leads out of runs, to /; name it directly to include it"
    assert found["skipped"] == [{"path": "runs/everything", "reason": reason}]
    record_property("seen", reason)


@pytest.mark.attack(
    "a run folder links to a run, or to a file of one, outside the named path",
    "nothing of it is read, and the link is named; named directly it is read",
)
@pytest.mark.parametrize("part", ["", "metrics.jsonl", "run.json", "config.yaml"])
def test_a_link_out_of_the_named_path_is_not_read(
    tmp_path: Path, part: str, record_property: Seen
) -> None:
    ended.run(tmp_path / "runs" / "a")
    outside = ended.run(tmp_path / "elsewhere" / "b", 2)
    link = tmp_path / "runs" / "b" / part if part else tmp_path / "runs" / "b"
    if part:
        ended.run(tmp_path / "runs" / "b", 2)
        link.unlink()
    link.symlink_to(outside / part)
    found, _ = fitted("runs", cwd=tmp_path, real=not part)
    assert [run["run"] for run in found["runs"]] == ["runs/a"]
    (entry,) = found["skipped"]
    assert Path(entry["path"]) == link.relative_to(tmp_path)
    assert entry["reason"].startswith(f"a link that leads out of runs, to {outside / part}; name")
    if not part:
        named, _ = fitted("runs", "runs/b", cwd=tmp_path)
        assert [run["run"] for run in named["runs"]] == ["runs/a", "runs/b"]
    record_property("seen", entry["reason"])


def test_links_that_stay_inside_and_circles_are_each_run_once(tmp_path: Path) -> None:
    run = ended.run(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "same").symlink_to(run)
    (run / "up").symlink_to(tmp_path / "runs")
    (tmp_path / "named").symlink_to(tmp_path / "runs")
    found, _ = fitted("named", cwd=tmp_path)
    assert [run["run"] for run in found["runs"]] == ["named/a"]
    assert found["skipped"] == []
