"""The list command: what is there, also where it is damaged, on a terminal and as JSON."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import list as list_command
from harness.records import overview, sweep_file
from harness.records.sweep_file import LedgerRow, Sweep
from harness.testing.commands import here
from harness.testing.payloads import PAYLOADS
from tests.cli.made_lists import a_sweep, made
from tests.cli.terminal import on_terminal


def listed(cwd: Path, *words: str) -> list[str]:
    done = here("list", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_runs_and_sweeps_are_a_line_each_with_what_they_measured_last(tmp_path: Path) -> None:
    made(tmp_path / "one")
    a_sweep(tmp_path / "runs/pilot", "0-a", "1-b", "2-c", name="pilot", note="is it on?")
    head, one, sweep = listed(tmp_path)
    heads = ["path", "status", "step", "H", "batch R", "when", "what", "note"]
    assert re.split(" {2,}", head) == heads
    today = time.strftime("%Y-%m-%d")
    words = ["one", "done", "3/100", "1.25", "0.44", today]
    assert [word for word in one.split() if ":" not in word][:6] == words
    assert "medium tiny seed 1" in one
    assert sweep.split()[:5] == ["runs/pilot", "3", "done", "1.25", "0.44"]
    assert sweep.split()[-4:] == ["seed=1..3", "is", "it", "on?"]


def test_a_sweep_that_is_named_shows_its_runs_in_its_order(tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "10-b", "2-a")
    assert [line.split()[0] for line in listed(tmp_path, "s")] == ["path", "s/10-b", "s/2-a"]


def test_runs_beside_each_other_are_listed_by_their_time(tmp_path: Path) -> None:
    for name, at in (("early", 1_000.0), ("a-late-one", 2_000.0)):
        made(tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name / "config.yaml", (at, at))
    assert [line.split()[0] for line in listed(tmp_path, "runs")[1:]] == [
        "runs/early", "runs/a-late-one",
    ]  # fmt: skip


def test_swept_values_are_shown_as_they_are_typed(tmp_path: Path) -> None:
    axes: dict[str, list[Any]] = {
        "trainer.eval_every": [None, 2],
        "difficulty.intentions": [["venting"], ["praise", "advice"]],
        "eval.deaf": [True, False],
        "seed": [1, 2, 3],
    }
    sweep_file.write(tmp_path, Sweep(str(tmp_path), axes, []))
    assert overview.of_sweep(tmp_path).what == (
        "trainer.eval_every=null,2 difficulty.intentions=[venting],[praise,advice] "
        "eval.deaf=true,false seed=1..3"
    )


def test_a_sweep_keeps_its_time_while_its_planned_runs_begin(tmp_path: Path) -> None:
    """Runs that wait were planned before the first step of any."""
    root = a_sweep(tmp_path / "s", "0-a")
    rows = [LedgerRow(name, str(root / name), ()) for name in ("0-a", "1-b")]
    sweep_file.write(root, Sweep(str(root), {"seed": [1, 2]}, rows, ()))
    made(root / "1-b", "created", steps=0)
    for name, at in (("0-a", 2_000.0), ("1-b", 1_000.0)):
        os.utime(root / name / "config.yaml", (at, at))
    assert overview.of_sweep(root).began_unix_s == 2_000.0
    (root / "0-a/metrics.jsonl").unlink()
    assert overview.of_sweep(root).began_unix_s == 1_000.0


def test_a_run_of_a_sweep_that_is_gone_is_planned_again_as_for_status(tmp_path: Path) -> None:
    root = a_sweep(tmp_path / "s", "0-a", "1-b", "2-c")
    shutil.rmtree(root / "0-a")
    (root / "1-b/run.json").unlink()
    words = [line.split()[1] for line in listed(tmp_path, "s")[1:] if line[0] == "s"]
    assert words == ["planned", "damaged", "done"]
    assert "0-a: planned" in here("status", "s", cwd=tmp_path).stdout
    assert "1/3 done, 1 damaged" in listed(tmp_path)[1]


def test_json_has_every_entry_with_numbers_and_nulls(tmp_path: Path) -> None:
    made(tmp_path / "one", "stopped")
    a_sweep(tmp_path / "s", "0-a", note="n")
    value = json.loads("\n".join(listed(tmp_path, "--json")), parse_constant=pytest.fail)
    assert value["schema"] == 1
    one, sweep = sorted(value["entries"], key=lambda entry: str(entry["kind"]))
    assert (one["kind"], one["path"], one["status"], one["step"]) == ("run", "one", "stopped", 3)
    assert one["entropy"] == {"low": 1.25, "high": 1.25}
    assert (sweep["kind"], sweep["runs"], sweep["note"]) == ("sweep", {"done": 1}, "n")
    assert sweep["step"] is None


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no JSON": (lambda run: (run / "run.json").write_text("{"), "run.json: cannot be read"),
    "not UTF-8": (lambda run: (run / "run.json").write_bytes(b"\xff"), "must be UTF-8"),
    "no rows": (lambda run: (run / "metrics.jsonl").unlink(), "must end with the row of step 3"),
    "no run.json": (lambda run: (run / "run.json").unlink(), "run.json is missing"),
    "a folder for it": (lambda run: _folder_at(run / "metrics.jsonl"), "must end with the row"),
}


def _folder_at(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_a_line_that_says_so_and_hides_no_other(
    damage: str, tmp_path: Path
) -> None:
    do, reason = DAMAGES[damage]
    made(tmp_path / "bad")
    made(tmp_path / "good")
    do(tmp_path / "bad")
    lines = listed(tmp_path)
    assert [line.split()[1] for line in lines if line.startswith(("bad", "good"))] in (
        ["damaged", "done"], ["done", "damaged"],
    )  # fmt: skip
    assert reason in "\n".join(lines)


@pytest.mark.parametrize("text", ["{", "[]", '{"runs": 1}', "\x00", "1" * 5000])
def test_a_damaged_sweep_is_a_line_and_its_runs_are_shown(text: str, tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "0-a")
    (tmp_path / "s/sweep.json").write_text(text)
    lines = listed(tmp_path)
    assert {line.split()[0]: line.split()[1] for line in lines[1:] if line[0] != " "} == {
        "s": "damaged", "s/0-a": "done",
    }  # fmt: skip


def test_a_run_whose_process_died_is_crashed(tmp_path: Path) -> None:
    made(tmp_path / "one", "running")
    assert "crashed" in listed(tmp_path)[1]
    assert "process died without writing a status" in listed(tmp_path)[2]


def test_list_and_fit_say_the_same_of_a_run_that_another_machine_goes_on_with(
    tmp_path: Path,
) -> None:
    folder = made(tmp_path / "one", "running")
    assert "crashed at step 3 of 100" in here("fit-entropy-law", "one", cwd=tmp_path).stderr
    (folder / ".holder").write_text("4711 on another\nstarted 1\n")
    assert listed(tmp_path)[1].split()[:2] == ["one", "running"]
    said = here("fit-entropy-law", "one", cwd=tmp_path).stderr
    assert "running at step 3 of 100" in said
    assert "crashed" not in said


def test_a_config_that_is_missing_or_strange_costs_no_line(tmp_path: Path) -> None:
    (made(tmp_path / "a") / "config.yaml").unlink()
    (made(tmp_path / "b") / "config.yaml").write_text("seed: 1\n" + "x" * 100_000)
    (made(tmp_path / "c") / "config.yaml").write_text("difficulty:\n  name: \x1b[31mred\n")
    lines = listed(tmp_path)
    assert len(lines) == 4
    assert "\x1b" not in "\n".join(lines)


def test_an_empty_folder_is_told_and_no_error(tmp_path: Path) -> None:
    done = here("list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert (
        done.stderr
        == "harness: no run and no sweep at or below .; `harness sweep` starts a sweep\n"
    )
    assert json.loads(here("list", "--json", cwd=tmp_path).stdout) == {"schema": 1, "entries": []}


def test_a_path_that_is_no_folder_is_65(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "nowhere"):
        done = here("list", name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (65, "")
        assert f"{name}: must be a folder that can be listed" in done.stderr


def test_runs_that_tests_keep_are_listed_where_they_are_named_alone(tmp_path: Path) -> None:
    made(tmp_path / "tests/golden/run")
    made(tmp_path / "mine")
    assert [line.split()[0] for line in listed(tmp_path)[1:]] == ["mine"]
    assert [line.split()[0] for line in listed(tmp_path, "tests")[1:]] == ["tests/golden/run"]


def test_links_are_not_followed_and_a_loop_ends(tmp_path: Path) -> None:
    made(tmp_path / "out/there")
    here_ = tmp_path / "here"
    here_.mkdir()
    (here_ / "loop").symlink_to(here_)
    (here_ / "away").symlink_to(tmp_path / "out")
    assert overview.list_entries(here_) == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_texts_are_shown_as_text(payload: str, tmp_path: Path) -> None:
    root = a_sweep(tmp_path / "s", "0-a")
    value = json.loads((root / "sweep.json").read_text())
    value |= {"note": payload, "name": payload, "axes": {payload: [payload]}}
    (root / "sweep.json").write_text(json.dumps(value))
    entries = overview.list_entries(tmp_path)
    for columns in (40, 200, None):
        shown = "\n".join(list_command.lines(entries, columns, coloured=False)).split("\n")
        assert all(line.isprintable() for line in shown)
        assert sum(line.startswith(("s ", f"{root} ")) for line in shown) == 1


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_h_and_r_stay(columns: int, tmp_path: Path) -> None:
    a_sweep(tmp_path / "runs/with_a_name_that_is_rather_long_for_a_folder", "0-a", "1-b")
    made(tmp_path / "one", "running")
    shown = on_terminal("list", cwd=tmp_path, columns=columns)
    assert max(map(len, shown.lines)) <= columns
    assert "1.25" in shown.plain
    assert "0.44" in shown.plain
    assert "done" in shown.plain


NOTE = "does the entropy bonus keep hard users from starving, or is it the learning rate"


def test_at_80_columns_date_name_status_h_r_and_the_start_of_the_note_stay(tmp_path: Path) -> None:
    root = a_sweep(tmp_path / "runs/20261121-070837-x7", "0-a", "1-b", "2-c", note=NOTE)
    made(tmp_path / "runs/a_run_of_my_own", "stopped")
    (root / "1-b/run.json").unlink()
    (root / "2-c/metrics.jsonl").write_text('{"step": 3, "entropy": 1.01, "reward": 0.87}\n')
    shown = on_terminal("list", cwd=tmp_path, columns=80, NO_COLOR="1").lines
    now = time.strftime("%m-%d")
    assert shown[0].split() == ["path", "status", "H", "batch", "R", "when"]
    (sweep,) = (line for line in shown if line.startswith("runs/20261121-070837-x7 "))
    assert "2/3 done" in sweep
    assert "1.01..1.25  0.44..0.87" in sweep
    assert sweep.split()[-2] == now
    note = shown[shown.index(sweep) + 1]
    assert note == "  does the entropy bonus keep hard users from starving..."
    (run,) = (line for line in shown if line.startswith("runs/a_run_of_my_own"))
    assert [word in run for word in ("stopped", "1.25", "0.44", now)] == [True] * 4
    assert NOTE in here("list", cwd=tmp_path).stdout  # whole where nobody looks


def test_paths_lose_their_folder_before_the_date_is_lost(tmp_path: Path) -> None:
    made(tmp_path / "runs/twelve_names/0-a_run_of_20_letter", steps=100)
    made(tmp_path / "runs/twelve_names/1-a_run_of_20_letter", steps=100)
    shown = on_terminal("list", cwd=tmp_path, columns=60, NO_COLOR="1").lines
    assert shown[0] == "in runs/twelve_names:"
    assert time.strftime("%m-%d") in shown[2]
    assert shown[2].startswith("0-a_run_of_20_letter  done ")


def test_status_words_have_colour_on_a_terminal_alone(tmp_path: Path) -> None:
    made(tmp_path / "one")
    assert "\x1b[32mdone" in on_terminal("list", cwd=tmp_path).text
    assert "\x1b" not in on_terminal("list", cwd=tmp_path, NO_COLOR="1").text
    assert "\x1b" not in on_terminal("list", cwd=tmp_path, TERM="dumb").text
    assert "\x1b" not in here("list", cwd=tmp_path).stdout


def test_a_thousand_runs_take_seconds_at_most(tmp_path: Path) -> None:
    first = made(tmp_path / "runs/0")
    for number in range(1, 1000):
        shutil.copytree(first, tmp_path / f"runs/{number}")
    began = time.process_time()
    assert len(overview.list_entries(tmp_path)) == 1000
    assert time.process_time() - began < 5  # 0.5 s on a quiet core


def test_a_folder_that_may_not_be_entered_hides_no_other(tmp_path: Path) -> None:
    made(tmp_path / "one")
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o000)
    if os.access(shut, os.R_OK):
        pytest.skip("this user may read everything")
    assert len(overview.list_entries(tmp_path)) == 1
