"""The head of the report: names and notes of the sweeps, and dates, as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.law import analysis
from harness.records import events, run_status, sweep_file
from harness.records.events import EventLog
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import Sweep
from harness.report.html import page
from harness.testing import run_folders, synthetic
from tests.report.html.made_runs import PLANTED, Page, reported


def run(folder: Path, seed: int, times: tuple[float, ...], status: str = "done") -> None:
    """A run whose events were written at `times`."""
    run_folders.write_run(folder, synthetic.lawful_rows(seed, 40), seed, status=status)
    log = RunFolder(folder).events
    for at in times:
        EventLog(log).append("step", step=1)
        lines = log.read_text().splitlines()
        lines[-1] = re.sub(r"[\d.]+", f"{at:.3f}", lines[-1], count=1)
        log.write_text("\n".join(lines) + "\n")


def head(*paths: Path, made_unix_s: float | None = None) -> str:
    """The text of the page above its answer, on one line."""
    shown = page.report(paths[0].name, paths, analysis.analyse(paths), made_unix_s=made_unix_s)
    found = re.search(rb"<header>(.*?)</header>", shown.content, re.DOTALL)
    assert found
    return " ".join(Page(found[1]).text.split())


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    root = tmp_path / "first"
    run(root / "0-easy-seed1", 1, (1_795_533_556.6, 1_795_533_575.3))
    run(root / "1-easy-seed2", 2, (1_795_533_600.0, 1_795_537_200.0))
    return root


def test_name_note_and_dates_stand_above_the_answer(swept: Path) -> None:
    sweep_file.write(swept, Sweep("first", {}, (), name="listening", note="Does it listen?"))
    assert head(swept, made_unix_s=1_795_620_000.0) == (
        "first listening: Does it listen? 2 runs; the runs began 2026-11-24 15:19 UTC and ended "
        "2026-11-24 16:20 UTC; report made 2026-11-25 15:20 UTC"
    )


def test_a_run_that_is_the_current_folder_has_the_note_of_its_sweep(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_file.write(swept, Sweep("first", {}, (), note="Does it listen?"))
    monkeypatch.chdir(swept / "0-easy-seed1")
    assert "Does it listen?" in head(Path())


def test_a_name_that_is_the_title_is_said_once(swept: Path) -> None:
    sweep_file.write(swept, Sweep("first", {}, (), name="first", note="Does it listen?"))
    assert head(swept).startswith("first Does it listen? 2 runs; the runs began")


def test_an_unfinished_run_has_written_and_not_ended(swept: Path) -> None:
    folder = RunFolder(swept / "1-easy-seed2")
    status = run_status.read(folder.status)
    run_status.write(folder.status, type(status)(**{**vars(status), "status": "stopped"}))
    assert "15:19 UTC and last wrote 2026-11-24 16:20 UTC" in head(swept)


def test_without_events_and_sweep_there_is_no_date_and_no_name(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "one", synthetic.lawful_rows(1, 40))
    assert head(tmp_path / "one") == "one 1 run"


def test_torn_lines_of_events_tell_nothing(tmp_path: Path) -> None:
    run(tmp_path / "one", 1, (1_795_533_556.6, 1_795_537_200.0))
    with RunFolder(tmp_path / "one").events.open("a") as file:
        file.write('{"time_unix_s": 17955')
    assert "the run began 2026-11-24 15:19 UTC and ended 2026-11-24 16:20 UTC" in head(
        tmp_path / "one"
    )


def test_zeros_after_a_power_loss_leave_the_page_without_dates(tmp_path: Path) -> None:
    """The first line is whole, and the end in which the last event is looked for has none."""
    run(tmp_path / "one", 1, (1_795_533_556.6, 1_795_537_200.0))
    with RunFolder(tmp_path / "one").events.open("ab") as file:
        file.write(bytes(events.LAST_BYTES))
    assert head(tmp_path / "one") == "one 1 run"


def test_a_damaged_sweep_file_leaves_the_rest(swept: Path) -> None:
    (swept / "sweep.json").write_text('{"name": "x"')
    assert head(swept).startswith("first 2 runs; the runs began")


def test_planted_names_and_notes_are_text(swept: Path) -> None:
    sweep_file.write(swept, Sweep("first", {}, (), name=PLANTED[0], note=PLANTED[1]))
    shown = Page(reported(swept).content)
    assert not shown.named("img")
    assert f"{PLANTED[0]}: {PLANTED[1]}" in shown.text


def test_notes_of_many_sweeps_are_counted(tmp_path: Path) -> None:
    roots = [tmp_path / f"sweep{number}" for number in range(8)]
    for number, root in enumerate(roots):
        run_folders.write_run(root / "one", synthetic.lawful_rows(number, 40), number)
        sweep_file.write(root, Sweep(None, {}, (), note=f"note {number}"))
    assert "note 5 and 2 more sweeps 8 runs" in head(*roots)
