"""The diagnose command: a line a run, what its flags say, and what it refuses."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import harness
from benchmarks.diagnose import PLANTS, Plant, flags_of, row
from harness.cli import diagnose as command
from harness.cli import report
from harness.errors import DataError
from harness.law import analysis
from harness.law.diagnosis import fidelity
from harness.law.diagnosis.diagnose import diagnose, diagnose_run
from harness.law.diagnosis.results import FLAGS, MECHANISMS, Sign
from harness.law.io.columns import ColumnOptions
from harness.law.result_parts import SkippedPath
from harness.law.results import Interval
from harness.report.tables import diagnosis as table
from harness.testing.commands import here
from tests.report.html.made_runs import Page
from tests.train.made import brief, go_on, make_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and one whose advantages are shuffled."""
    folder = tmp_path_factory.mktemp("diagnosed") / "runs"
    config = brief(steps=18, conversations=32, conversations_every=3, eval_every=1)
    for name, is_null in (("one", False), ("shuffled", True)):
        algorithm = replace(config.algorithm, null_control=is_null)
        code, _, err = go_on(make_run(folder / name, replace(config, algorithm=algorithm)))
        assert code == 0, err
    return folder


def test_it_prints_a_line_a_run_and_writes_nothing(runs: Path) -> None:
    before = sorted(runs.rglob("*"))
    done = here("diagnose", "runs", cwd=runs.parent)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert f"run {' '.join(MECHANISMS)}" in said
    assert re.search(r"one no flag, \w+ not measured no flag", said)
    assert re.search(r"shuffled noise -?0\.\d+ \[\S+, \S+\] not measured no flag", said)
    assert "noise: advantages are not related to rewards" in said
    assert "`harness probe reliability RUN` measures reliability, for language models" in said
    assert sorted(runs.rglob("*")) == before


def test_of_one_run_all_that_was_looked_at_is_shown(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.diagnose((runs / "one",), as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    for sign in ("advantages follow rewards (correlation) exploration 0.9",
                 "rise of solving (share) direction",
                 "KL to the start (nats an act or token) direction"):  # fmt: skip
        assert sign in said


def test_json_has_every_sign_and_no_nan(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.diagnose((runs,), as_json=True)
    value = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert value["schema"] == 1
    assert value["left_out"] == []
    one, shuffled = value["runs"]
    assert (one["exploration"]["flag"], shuffled["exploration"]["flag"]) == (None, "noise")
    assert shuffled["exploration"]["because"] == "advantages follow rewards"
    silent = one["exploration"]["signs"][0]
    assert silent["low"] <= silent["value"] <= silent["high"]
    assert one["reliability"] == {
        "measured": False, "flag": None, "because": None, "why_not_measured": None, "signs": []
    }  # fmt: skip


def test_an_end_that_is_not_known_is_null(runs: Path) -> None:
    (found,), _ = diagnose([runs / "one"])
    open_ended = Sign("listening", "nats", Interval(0.5, -math.inf, math.inf))
    exploration = replace(found.findings[0], signs=(open_ended,))
    value = command.to_json([replace(found, findings=(exploration,))], [])
    assert value["runs"][0]["exploration"]["signs"] == [
        {"name": "listening", "unit": "nats", "value": 0.5, "low": None, "high": None}
    ]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        command.diagnose((tmp_path,), as_json=False)
    assert str(caught.value) == (
        f"{tmp_path}: needs a finished run, found none: a run holds run.json or metrics.jsonl; no "
        "such folder at or below this one; name the file itself for a log of another program"
    )


def test_names_and_answers_of_others_are_shown_as_they_are(runs: Path) -> None:
    """A run's path and a probe's answer may hold markup and escapes, and are no commands."""
    answer = runs / "one" / fidelity.ANSWER
    answer.parent.mkdir(parents=True, exist_ok=True)
    change = {"value": -0.3, "low": -0.4, "high": -0.2}
    reading = {"quantity": fidelity.TRUE_FACT, "setting": "[bold]\x1b[31mred", "step": 18,
               "change": change}  # fmt: skip
    answer.write_text(json.dumps({"against": "start", "readings": [reading]}))
    try:
        found, _ = diagnose([runs / "one"])
        named = tuple(replace(one, run="runs/[red]\x1b[2Jx") for one in found)
        console = Console(width=140, file=io.StringIO(), record=True)
        table.print_diagnosis(named, [SkippedPath("runs/y", "[link=x]\x1b]0;z")], console)
        said = console.export_text()
    finally:
        answer.unlink()
    assert "\x1b" not in said
    for shown in ("[red]", "[bold]", "[link=x]"):
        assert shown in said
    assert "fewer facts -0.30 [-0.40, -0.20]" in said


def test_an_answer_that_is_none_costs_a_run_its_reliability_alone(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = runs / "one" / fidelity.ANSWER
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text("{")
    rule = f"{answer}: must be JSON; got "
    try:
        assert command.diagnose((runs,), as_json=True) == 0
        value = json.loads(capsys.readouterr().out)
        assert command.diagnose((runs / "one",), as_json=False) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert (
            report.report(report.ReportOptions((runs,), runs.parent / "bad.html"), as_json=True)
            == 0
        )
    finally:
        answer.unlink()
    one, shuffled = sorted(value["runs"], key=lambda run: str(run["run"]))
    assert one["reliability"]["why_not_measured"].startswith(rule)
    assert (one["direction"]["measured"], shuffled["exploration"]["flag"]) == (True, "noise")
    assert f"reliability is not measured in 1 run: {rule}" in printed
    shown = " ".join(Page((runs.parent / "bad.html").read_bytes()).texts)
    assert f"reliability is not measured in 1 run: {rule}" in shown


def test_a_path_that_is_not_there_is_named_and_ends_3(runs: Path) -> None:
    done = here("diagnose", "runs", "nowhere", cwd=runs.parent)
    assert done.returncode == 3
    assert "nowhere left out: no such file or folder" in " ".join(done.stdout.split())


def test_rows_that_are_left_out_are_said(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "one", tmp_path / "one")
    log = tmp_path / "one" / "metrics.jsonl"
    rows = log.read_text().splitlines(keepends=True)
    rows[2] = re.sub(r'"reward": [0-9.]+', '"reward": 0.999', rows[2])
    log.write_text("".join(rows))
    done = here("diagnose", "one", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rows left out of one: 1 checksum" in " ".join(done.stdout.split())


def test_the_report_has_it_as_a_section(runs: Path) -> None:
    out = runs.parent / "page.html"
    assert report.report(report.ReportOptions((runs,), out), as_json=True) == 0
    shown = Page(out.read_bytes())
    assert ("section", {"id": "diagnosis"}) in shown.elements
    said = " ".join(" ".join(shown.texts).split())
    assert "What went wrong in each run" in said
    assert re.search(r"shuffled noise -?0\.\d+ \[", said)


def test_python_gets_a_row_a_run_and_mechanism(runs: Path) -> None:
    frame = harness.diagnose(runs)
    assert len(frame) == 2 * len(MECHANISMS)
    (flagged,) = frame[frame.flag.notna()].to_dict("records")
    assert (Path(flagged["run"]).name, flagged["mechanism"]) == ("shuffled", "exploration")
    assert flagged["low"] < flagged["value"] < flagged["high"] < 0.5
    assert not frame[frame.mechanism == "reliability"].measured.any()
    assert frame.equals(harness.diagnose(harness.load(runs)))


def test_python_and_the_command_refuse_runs_none_of_which_is_finished(
    runs: Path, tmp_path: Path
) -> None:
    shutil.copytree(runs / "one", tmp_path / "one")
    status = json.loads((tmp_path / "one" / "run.json").read_text())
    stopped = status | {"status": "stopped", "reason": "asked to stop"}
    (tmp_path / "one" / "run.json").write_text(json.dumps(stopped))
    said = f"{tmp_path}: needs a finished run, found none: asked to stop"
    with pytest.raises(DataError, match=re.escape(said)):
        harness.diagnose(tmp_path)
    with pytest.raises(DataError, match=re.escape(said)):
        command.diagnose((tmp_path,), as_json=True)


def test_one_reading_serves_the_law_and_the_diagnosis(runs: Path) -> None:
    analysed, members = analysis.analyse_with_members([runs], ColumnOptions(None, None, None))
    alone = analysis.analyse([runs])
    assert analysed.runs == alone.runs
    assert analysed.groups == alone.groups
    assert tuple(map(diagnose_run, members)) == diagnose([runs])[0]


def test_sixty_columns_break_no_word(runs: Path) -> None:
    found, left_out = diagnose([runs])
    console = Console(width=60, record=True, file=io.StringIO())
    table.print_diagnosis(
        [replace(one, run=Path(one.run).name) for one in found], left_out, console
    )
    said = console.export_text()
    for word in ("exploration", "reliability", "direction", "shuffled", "noise"):
        assert re.search(rf"(?<!\S){word}(?!\S)", said), word


def test_runs_of_two_sweeps_are_named_in_one_way(runs: Path) -> None:
    found, left_out = diagnose([runs])
    paths = ("a/0-easy", "b/0-easy", "b/1-hard")
    console = Console(width=140, record=True, file=io.StringIO())
    table.print_diagnosis([replace(found[0], run=path) for path in paths], left_out, console)
    rows = console.export_text().splitlines()
    assert [row.split()[0] for row in rows if row.startswith(("a", "b"))] == list(paths)
    assert not any(row.startswith("1-hard") for row in rows)


def test_every_flag_is_explained() -> None:
    assert {flag for flags in FLAGS.values() for flag in flags} == set(table.MEANS)


def test_a_row_of_the_benchmark_counts_the_right_flag_and_no_other() -> None:
    plant = Plant("shuffled", ("seed=1",), ("noise",))
    found = [("noise",), ("noise",), ("noise", "solving"), ()]
    assert row(plant, found) == (
        "| shuffled (`seed=1`) | noise | 2/4 [7%, 93%] | 1 noise and solving, 1 no flag |"
    )


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_cause_is_found_and_no_other(plant: Plant, tmp_path: Path) -> None:
    assert flags_of(plant, 1, tmp_path / "run") == plant.flags


def test_who_was_asked_in_vain_is_not_told_to_ask(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "one", tmp_path / "one")
    answer = tmp_path / "one" / fidelity.ANSWER
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text(json.dumps({"against": "start", "readings": [], "not_measured": ["no item"]}))
    done = here("diagnose", "one", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "reliability is not measured in 1 run: no item" in said
    assert "measures reliability" not in said
