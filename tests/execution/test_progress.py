"""What a sweep shows while it runs, read from folders that another process writes."""

from __future__ import annotations

import contextlib
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from harness.execution import progress, progress_view
from harness.execution.progress import RunWatcher
from harness.execution.progress_view import RunView
from harness.records import holder, run_state, run_status
from harness.records.metrics_log import MetricsLog
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.testing.commands import rows
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape, text

VALUES = {"entropy": 1.234, "reward": 0.456, "emotion/final": 45.6}


def status(path: Path, word: str, attempt: int = 1, reason: str | None = None) -> None:
    path.mkdir(exist_ok=True)
    written = RunStatus(word, reason, last_step=rows(path), attempts=attempt)
    run_status.write(RunFolder(path).status, written)


Running = Callable[[Path], None]


@pytest.fixture
def held_by_us() -> Iterator[Running]:
    """Make a run that this process holds, as the process that trains it does."""
    with contextlib.ExitStack() as held:

        def begin(path: Path) -> None:
            path.mkdir(exist_ok=True)
            held.enter_context(holder.hold(RunFolder(path)))
            status(path, "running")

        yield begin


def train(path: Path, first: int, last: int) -> None:
    log = MetricsLog(RunFolder(path).metrics)
    for step in range(first, last + 1):
        log.append(step, VALUES)
    log.close()


def ticking(times: list[float]) -> Callable[[], float]:
    clock = iter(times)
    return lambda: next(clock)


def test_a_folder_that_is_not_there_yet_is_a_planned_run(tmp_path: Path) -> None:
    view = RunWatcher(tmp_path / "run", "run", 100).read()
    assert view == RunView("run", 100)
    assert progress_view.line(view) == "run: planned, 0/100 steps"
    assert progress_view.line(RunView("run", 0)) == "run: planned, 0/? steps"


def test_a_running_run_shows_its_last_row_and_the_time_left_at_its_pace(
    tmp_path: Path, held_by_us: Running
) -> None:
    run = tmp_path / "run"
    held_by_us(run)
    watcher = RunWatcher(run, "run", 100, ticking([0.0, 30.0]))
    train(run, 1, 10)
    assert watcher.read().left_s is None
    train(run, 11, 20)
    assert progress_view.line(watcher.read()) == (
        "run: running, 20/100 steps, H 1.23, batch R 0.46, emotion 46, 4 min left"
    )


def test_the_pace_is_that_of_the_last_while_not_of_all_time(
    tmp_path: Path, held_by_us: Running
) -> None:
    run = tmp_path / "run"
    held_by_us(run)
    watcher = RunWatcher(run, "run", 100, ticking([0.0, 10.0, 200.0, 210.0]))
    for last in (1, 2, 50, 60):
        train(run, 1 if last == 1 else last, last) if last < 3 else rewrite(run, last)
        view = watcher.read()
    assert view.left_s == pytest.approx(40.0)


def rewrite(run: Path, rows: int) -> None:
    RunFolder(run).metrics.unlink()
    train(run, 1, rows)


def test_a_line_still_being_written_waits(tmp_path: Path, held_by_us: Running) -> None:
    run = tmp_path / "run"
    held_by_us(run)
    train(run, 1, 3)
    watcher = RunWatcher(run, "run", 100)
    with RunFolder(run).metrics.open("ab") as file:
        file.write(b'{"step": 4, "entr')
        file.flush()
        assert watcher.read().step == 3
        file.write(b'opy": 0.5}\n')
    assert (watcher.read().step, watcher.read().entropy) == (4, 0.5)


def test_rows_that_are_no_rows_do_not_stop_the_watch(tmp_path: Path, held_by_us: Running) -> None:
    run = tmp_path / "run"
    held_by_us(run)
    watcher = RunWatcher(run, "run", 100)
    for line in (
        "[1]",
        "{",
        '{"step": 1e999, "entropy": "x"}',
        f'{{"step": 1{"0" * 400}}}',
        "\ufffd",
    ):
        RunFolder(run).metrics.write_text(line + "\n")
        assert watcher.read().step == 0
    (run / "run.json").write_text("not json")
    assert watcher.read().status == "damaged"


def test_a_run_whose_process_died_is_crashed_as_in_every_other_command(tmp_path: Path) -> None:
    status(tmp_path / "run", "running")
    assert progress_view.line(RunWatcher(tmp_path / "run", "run", 100).read()) == (
        f"run: crashed, 0/100 steps, {run_state.DIED}"
    )


def test_the_path_of_the_run_is_no_part_of_its_reason(tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = "step 3 of 9: ended by trainer.stop_when=flat"
    status(run, "stopped", reason=f"{run}: {ended}")
    assert RunWatcher(run, "run", 9).read().reason == ended


def test_a_file_begun_anew_is_read_from_its_start(tmp_path: Path, held_by_us: Running) -> None:
    run = tmp_path / "run"
    held_by_us(run)
    train(run, 1, 9)
    watcher = RunWatcher(run, "run", 100)
    assert watcher.read().step == 9
    rewrite(run, 2)
    assert watcher.read().step == 2


def test_a_run_that_is_done_is_shown_as_it_ended_and_not_read_again(
    tmp_path: Path, held_by_us: Running
) -> None:
    run = tmp_path / "run"
    held_by_us(run)
    train(run, 1, 9)
    watcher = RunWatcher(run, "run", 9)
    assert watcher.read().status == "running"
    status(run, "done")
    ended = watcher.read()
    assert (ended.status, ended.step) == ("done", 9)
    RunFolder(run).status.unlink()
    assert watcher.read() is ended


def test_a_line_is_due_at_start_at_tenths_and_at_the_end() -> None:
    def at(step: int, word: str = "running", attempt: int = 1) -> RunView:
        return RunView("r", 50, word, None, attempt, step)

    told = at(0, "planned", 0)
    assert progress_view.worth_a_line(told, at(0))
    assert not progress_view.worth_a_line(at(0), at(4))
    assert progress_view.worth_a_line(at(0), at(5))
    assert not progress_view.worth_a_line(at(5), at(9))
    assert progress_view.worth_a_line(at(9), at(31))
    assert progress_view.worth_a_line(told, at(50, "done"))
    assert progress_view.worth_a_line(at(7, "failed", 1), at(7, "failed", 2))
    assert not progress_view.worth_a_line(at(50, "done"), at(50, "done"))


def test_piped_output_is_plain_lines_from_start_to_end(
    tmp_path: Path, held_by_us: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.01)
    stream, stop = io.StringIO(), threading.Event()
    runs = [tmp_path / "0-easy", tmp_path / "1-hard"]
    arguments = (runs, ["0-easy", "1-hard"], [20, 20], Console(file=stream, width=40), stop)
    watching = threading.Thread(target=progress.watch, args=arguments)
    watching.start()
    for run in runs:
        held_by_us(run)
        wait_for(stream, f"{run.name}: running, 0/20 steps")
    train(runs[0], 1, 20)
    status(runs[0], "done")
    status(runs[1], "failed", reason="/x/metrics.jsonl: out of memory")
    stop.set()
    watching.join(10)
    lines = [line for line in stream.getvalue().splitlines() if line[1] == "-"]
    assert sorted(lines[-2:]) == [  # a look may fall between the two ends
        "0-easy: done, 20/20 steps, H 1.23, batch R 0.46, emotion 46",
        "1-hard: failed, 0/20 steps, /x/metrics.jsonl: out of memory",
    ]
    assert "\x1b" not in stream.getvalue()


def wait_for(stream: io.StringIO, text: str) -> None:
    deadline = time.monotonic() + 10
    while text not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)


def test_a_terminal_gets_a_table_with_a_line_a_run(tmp_path: Path, held_by_us: Running) -> None:
    stream, stop = io.StringIO(), threading.Event()
    held_by_us(tmp_path / "0-easy")
    train(tmp_path / "0-easy", 1, 12)
    stop.set()
    console = Console(file=stream, force_terminal=True, width=90, height=20, color_system=None)
    names = ["0-easy", "1-hard"]
    progress.watch([tmp_path / name for name in names], names, [100, 50], console, stop)
    text = stream.getvalue()
    assert "run     status   step     H     R     emotion  left" in text
    assert "0-easy  running  12/100   1.23  0.46  46       -" in text
    assert "1-hard  planned  0/50     -     -     -        -" in text


def test_more_runs_than_lines_show_those_that_run_and_count_the_rest() -> None:
    words = ["done"] * 5 + ["planned"] * 5 + ["running"] * 2 + ["failed"]
    views = [RunView(f"run{i}", 10, word) for i, word in enumerate(words)]
    stream = io.StringIO()
    Console(file=stream, width=90).print(progress_view.table(views, 4))
    *lines, legend = stream.getvalue().splitlines()
    shown = [line.split()[0] for line in lines]
    assert shown == ["run", "run5", "run10", "run11", "run12", "and", "5"]
    assert lines[-2:] == ["and 4 planned, 5 done", "5 of 13 runs done, 2 running, 1 failed"]
    assert legend == "H, R, emotion: last batch; held-out R: `harness watch`"


def running(step: int, left_s: float | None, steps: int = 100) -> RunView:
    return RunView("r", steps, "running", None, 1, step, left_s=left_s)


def test_the_time_left_for_all_is_that_of_all_steps_ahead_at_the_present_pace() -> None:
    done, planned = RunView("d", 100, "done", step=100), RunView("p", 100)
    two = [running(50, 100.0), running(50, 100.0)]  # 2 s a step, two at once
    assert progress_view.overall_left_s([*two, done]) == pytest.approx(100)
    assert progress_view.overall_left_s([*two, done, planned, planned]) == pytest.approx(300)
    one = [two[0], planned, planned]  # the other process is between two runs
    assert progress_view.overall_left_s(one, at_once=2) == pytest.approx(250)
    assert progress_view.overall_left_s([two[0]], at_once=2) == pytest.approx(100)
    assert progress_view.overall_left_s([running(0, None), done]) is None
    assert progress_view.overall_left_s([done]) is None
    assert progress_view.overall([*two, done, RunView("f", 10, "failed")]) == (
        "1 of 4 runs done, 2 running, 1 failed; about 2 min left for all runs"
    )


REASON = "endpoint gone: it has not answered for a while, so the run has stopped here"
SEVERAL = (
    RunView("0-easy-seed1-clip_cov", 1000, "running", None, 1, 999, 1.234, 0.456, 46, 4500.0),
    RunView("10-a_level_with_a_long_name-seed10-kl_cov", 1000, "failed", REASON, 1, 7, 1.2, 0.4, 4),
    RunView("2-hard-seed1", 1000),
)


@pytest.mark.parametrize("columns", [60, 72, 80, 100, 120])
@pytest.mark.parametrize("views", [SEVERAL, SEVERAL[::2]], ids=["failed", "sound"])
def test_a_table_fits_and_keeps_step_h_r_and_time_left(
    columns: int, views: tuple[RunView, ...]
) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=columns)
    console.print(progress_view.table(views, 9, columns))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= columns
    assert {"run", "status", "step", "H", "R", "left"} <= set(lines[0].split())
    assert len({line.index("999/1000") for line in lines if "999/" in line}) == 1
    for cell in ("999/1000", "1.23", "0.46", "75 min"):
        assert cell in lines[1]
    whole = {*REASON.replace(",", " ").replace(":", " ").split()}
    last = lines[2].partition("0.40")[2].replace("...", "").replace(",", " ").replace(":", " ")
    assert {word for word in last.split() if not word.isdigit()} <= whole


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_names_and_reasons_do_nothing(payload: str) -> None:
    view = RunView(payload, 10, "failed", payload)
    stream = io.StringIO()
    console = Console(file=stream, width=300)
    console.print(progress_view.table([view], 5))
    console.print(text(progress_view.line(view)), soft_wrap=True)
    assert all(escape(line) == line for line in stream.getvalue().split("\n"))


def test_json_on_stdout_is_left_alone_while_a_table_is_live(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    stop = threading.Event()
    arguments = ([tmp_path], ["r"], [1], console, stop)
    watching = threading.Thread(target=progress.watch, args=arguments)
    watching.start()
    print(json.dumps({"schema": 1}))
    stop.set()
    watching.join(10)
    assert capsys.readouterr().out == '{"schema": 1}\n'
