"""The watch command: logs that grow, end, are damaged, or are not there."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from harness.cli import watch, watch_view, watched_log
from harness.cli.watched_log import LogState
from harness.errors import DataError
from harness.law.io import discover
from harness.records import holder, run_status
from harness.records.run_folder import RunFolder
from harness.testing import commands, run_folders, synthetic
from harness.testing.figure_contract import HOSTILE
from tests.cli.terminal import on_terminal
from tests.cli.watched import FOLLOWING, events, look, made_log

LOGS = Path(__file__).parents[1] / "law" / "logs"
SHORT = (
    "policy=tabular", "difficulty=easy", "trainer.steps=60", "trainer.eval_every=3",
    "trainer.conversations=16", "eval.users=8", "eval.levels=[]", "eval.deaf=false",
    "eval.prefixes=0", "eval.ledger=false",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 60 steps."""
    root = tmp_path_factory.mktemp("run")
    done = commands.harness("train", *SHORT, "--dir", "one", cwd=root)
    assert done.returncode == 0, done.stderr
    return root / "one"


def test_a_run_is_followed_while_it_is_written_and_watch_ends_with_it(tmp_path: Path) -> None:
    training = subprocess.Popen(
        commands.command("train", *SHORT, "--dir", "one"), cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    try:
        while not (tmp_path / "one" / "metrics.jsonl").exists():
            time.sleep(0.05)
            assert training.poll() is None
        watched = commands.harness("watch", "one", "--events", "jsonl", cwd=tmp_path)
    finally:
        training.wait(commands.BUDGET_S)
    assert watched.returncode == 0, watched.stderr
    told = events(watched.stdout)
    assert told[-1]["event"] == "end"
    assert (told[-1]["status"], told[-1]["step"]) == ("done", 60)
    assert (told[-1]["advice"], told[-1]["p_gain"]) == (None, None)  # nothing is left to advise
    assert told[0]["step"] < 60
    assert [event["step"] for event in told] == sorted(event["step"] for event in told)
    assert told[-1]["calibrated"]
    assert {event["run"] for event in told} == {"one"}


def test_a_line_is_wrapped_on_a_terminal_and_stays_one_in_a_pipe(run: Path) -> None:
    first, more = on_terminal("watch", "one", "--once", cwd=run.parent, columns=50).lines
    assert first.startswith("one: done, step 60/60, H ")
    assert more.startswith("  ")
    assert len(first) <= 50
    (piped,) = commands.harness("watch", "one", "--once", cwd=run.parent).stdout.splitlines()
    assert piped == f"{first} {more.strip()}"


def unfinished(run: Path, copy: Path) -> Path:
    """A copy of a run whose last 20 rows are still to come."""
    shutil.copytree(run, copy)
    lines = (copy / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "metrics.jsonl").write_bytes(b"".join(lines[:40]))
    values = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps({**values, "status": "planned"}), encoding="utf-8")
    return copy


def test_json_is_one_value_that_says_what_the_law_says(run: Path, tmp_path: Path) -> None:
    unfinished(run, tmp_path / "one")
    done = commands.here("watch", "one", "--json", cwd=tmp_path)
    assert done.returncode == 0
    (told,) = json.loads(done.stdout, parse_constant=pytest.fail)["runs"]
    assert (told["step"], told["steps"]) == (40, 60)
    assert 0 <= told["p_gain"]["low"] <= told["p_gain"]["value"] <= told["p_gain"]["high"] <= 1
    assert told["regime"] is not None
    assert told["damaged"] == 0


def test_rows_are_taken_in_as_they_come(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "one"
    shutil.copytree(run, copy)
    lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "metrics.jsonl").write_bytes(b"")
    rows, here = watched_log._MetricRows(), RunFolder(copy)
    with (copy / "metrics.jsonl").open("ab") as file:
        for line in lines:
            file.write(line[:100])
            file.flush()
            assert not rows.read_new(here)  # a line without its end waits
            file.write(line[100:])
            file.flush()
            assert rows.read_new(here)
    curve = rows.curve()
    assert len(curve.entropy) == 60
    assert curve.steps[-1] == 60
    assert rows.damaged == 0
    (copy / "metrics.jsonl").write_bytes(lines[0])
    assert rows.read_new(here)
    assert len(rows.curve().entropy) == 1  # a file begun anew is read anew


def test_at_its_end_a_run_has_the_law_of_all_its_rows(tmp_path: Path) -> None:
    rows = synthetic.rows(synthetic.kink(2, 120, synthetic.LOW))
    run = run_folders.write_run(tmp_path / "one", rows[:97], status="running")
    (found,) = discover.discover((run,)).runs
    log = watched_log.FollowedLog(found, FOLLOWING)
    with holder.hold(RunFolder(run)):
        first = log.read_state()
        run_folders.write_rows(run, rows)
        assert log.read_state().step == 120
    values = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**values, "status": "done", "last_step": 120}))
    while not (last := log.read_state()).ended:
        time.sleep(0.1)
    assert (last.regime, last.onset) == (look(run).regime, look(run).onset)
    assert last.onset != first.onset


def test_damaged_lines_are_counted_and_left_out(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "one"
    shutil.copytree(run, copy)
    lines = (copy / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    lines[9] = b'{"step": 10, "entropy": \n'
    lines[19] = lines[19].replace(b'"step": 20', b'"step": 21')
    lines.insert(30, b"[]\n")
    lines.insert(40, b'{"step": 70, "entropy": 1' + b"0" * 400 + b"}\n")
    (copy / "metrics.jsonl").write_bytes(b"".join(lines))
    view = look(copy)
    assert view.damaged == 4
    assert view.step == 60
    assert "4 damaged lines" in watch_view.line(view)


def test_a_run_whose_process_died_has_ended(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "one"
    shutil.copytree(run, copy)
    values = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps({**values, "status": "running"}), encoding="utf-8")
    (copy / ".holder").unlink(missing_ok=True)
    view = look(copy)
    assert view.ended
    assert view.status == "crashed"


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"null_control": True}, "a null control gains only by chance"),
        (
            {"kind": "expert_iteration", "options": {"fit_from": "start"}},
            "reward is constant until a round of algorithm.options.round_steps ends",
        ),
        ({}, None),
    ],
)
def test_kinds_that_were_not_measured_are_named(
    run: Path, tmp_path: Path, changed: dict[str, Any], kind: str | None
) -> None:
    copy = unfinished(run, tmp_path / "one")
    values = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    values["algorithm"] |= changed
    (copy / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    view = look(copy)
    assert view.uncalibrated == kind
    assert ("not calibrated" in watch_view.line(view)) == (kind is not None)


def shown_of(views: Sequence[LogState]) -> str:
    shown = io.StringIO()
    Console(file=shown, width=200).print(watch_view.table(views, 20, 200))
    return shown.getvalue()


def test_a_run_shows_the_reward_of_held_out_users_and_says_so(run: Path) -> None:
    view = look(run)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert view.reward == rows[-1]["eval/reward"] != rows[-1]["reward"]
    assert f"held-out R {view.reward:.2f}" in watch_view.line(view)
    assert watch_view.event(view)["reward_column"] == "eval/reward"
    assert "held-out R" in shown_of([view]).splitlines()[0]


def test_the_reward_of_another_programs_log_is_told_by_its_column(run: Path) -> None:
    other = look(LOGS / "skyrl.jsonl")
    assert other.reward_column == "reward/avg_raw_reward"
    assert f"R {other.reward:.2f} (reward/avg_raw_reward)" in watch_view.line(other)
    assert "held-out" not in shown_of([other])
    both = shown_of([look(run), other]).splitlines()
    assert "held-out" not in both[0]
    note = "R: reward of held-out users, or column reward/avg_raw_reward of another program's log"
    assert note in [line.strip() for line in both]


def test_a_hostile_name_is_shown_literally() -> None:
    view = LogState(f"[red]{HOSTILE}", status="running", reason=HOSTILE, reward=0.5)
    view = replace(view, reward_column=HOSTILE)
    shown = io.StringIO()
    Console(file=shown, force_terminal=True, width=200).print(watch_view.table([view], 20, 200))
    assert "[red]" in shown.getvalue()
    for text in (shown.getvalue(), watch_view.line(view)):
        assert "\x1b]" not in text
        assert "\x07" not in text
    assert json.loads(json.dumps(watch_view.event(view)))["run"] == view.run


def test_a_path_that_is_not_there_is_65(tmp_path: Path) -> None:
    done = commands.here("watch", "nowhere", cwd=tmp_path)
    assert done.returncode == DataError.exit_code
    assert "no such file or folder" in done.stderr
    (tmp_path / "empty").mkdir()
    assert commands.here("watch", "empty", cwd=tmp_path).returncode == DataError.exit_code


def test_ctrl_c_ends_it_without_a_traceback(tmp_path: Path) -> None:
    made_log(tmp_path / "log.jsonl", 40)
    with commands.start_command("watch", "log.jsonl", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert "step 40" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=commands.BUDGET_S)
        assert process.returncode == 0
        assert "Traceback" not in error


def test_a_sweep_is_followed_run_by_run(run: Path, tmp_path: Path) -> None:
    for name in ("0-easy-seed1", "1-easy-seed2"):
        shutil.copytree(run, tmp_path / name)
    done = commands.here("watch", str(tmp_path), "--events", "jsonl", cwd=tmp_path)
    assert done.returncode == 0
    told = events(done.stdout)
    assert [Path(event["run"]).name for event in told] == ["0-easy-seed1", "1-easy-seed2"]
    assert all(event["event"] == "end" for event in told)
    assert run_status.read(RunFolder(tmp_path / "0-easy-seed1").status).status == "done"


def test_a_sweep_below_the_path_that_still_runs_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "sweep.json").write_text("{}", encoding="utf-8")
    logs = watch._Logs(watch.WatchOptions((tmp_path / "runs",), FOLLOWING))
    assert not logs.may_bring_more()
    with holder.hold(RunFolder(tmp_path / "runs" / "one")):
        assert logs.may_bring_more()
    assert logs.may_bring_more()  # what began since the last look is looked for once
    assert not logs.may_bring_more()


def test_a_run_with_an_empty_run_json_has_ended(run: Path, tmp_path: Path) -> None:
    copy = unfinished(run, tmp_path / "one")
    (copy / "run.json").write_text("", encoding="utf-8")
    view = look(copy)
    assert (view.ended, view.status) == (True, "damaged")
    assert "P(gain" not in watch_view.line(view)
    (copy / "metrics.jsonl").write_text("", encoding="utf-8")
    shutil.copy(run / "run.json", copy)
    rule = "a run that is done must end with the row of step 60, got none as its last"
    assert look(copy).reason == f"metrics.jsonl: {rule}"


def test_reasons_and_names_show_the_path_once_and_tell_runs_apart() -> None:
    ruled = LogState(
        "a/0-easy", "done", "/runs/a/0-easy: step 86 of 120: ended", ended=True, rule="flat"
    )
    assert watch_view.line(ruled) == "a/0-easy: done, step 0, step 86 of 120: ended"
    shown = io.StringIO()
    table = watch_view.table([ruled, LogState("b/0-easy")], 20, 200)
    Console(file=shown, width=200).print(table)
    for words in ("a/0-easy", "b/0-easy", "done, ended by trainer.stop_when: flat"):
        assert words in shown.getvalue()
