"""What a fit was not given, or was given damaged, is counted and named, and is in no mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.law.analysis import analyse
from harness.law.io import fast_reading, reading
from harness.records import metric_rows
from harness.testing import run_folders
from harness.testing.commands import here
from tests.faults.fitted import fitted, law_of, the_run
from tests.law import ended
from tests.law.ended import STEPS, edit, rows

Seen = Callable[[str, object], None]


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
    bare = run_folders.write_rows(tmp_path / "bare", every_fifth)
    log = tmp_path / "history.json"
    log.write_text(json.dumps(every_fifth))
    for result in analyse([bare, log]).runs:
        assert (result.dropped, result.unfinished, result.checksums) == ({}, None, None)


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
            "gone": metric_rows.without_checksum(line),
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
    edit(run, lambda lines: [*map(metric_rows.without_checksum, lines[:20]), *lines[20:]])
    (one,) = analyse([run]).runs
    assert (one.checksums, one.dropped) == ("some", {})


@pytest.mark.parametrize("old", [0, 20, STEPS])
def test_whole_rows_with_checksums_are_read_the_quick_way(tmp_path: Path, old: int) -> None:
    """As the tolerant reader reads them; a thousand logs are a gigabyte."""
    run = ended.run(tmp_path / "a")
    edit(run, lambda lines: [*map(metric_rows.without_checksum, lines[:old]), *lines[old:]])
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
    (one,) = analyse([run_folders.write_rows(tmp_path / "bare", lines)]).runs
    assert (one.dropped, one.n_valid, one.checksums) == ({}, STEPS, None)


def test_a_checksum_is_no_column(tmp_path: Path) -> None:
    ended.run(tmp_path / "runs")
    done = here("fit-entropy-law", "runs", "--reward", "crc32", cwd=tmp_path)
    assert done.returncode == 65
    assert "needs a column 'crc32', has step, entropy, reward; --reward COLUMN" in done.stdout


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
        "no mean of a, ceiling and gain: the runs share no reward column (eval/reward and reward)"
    )
