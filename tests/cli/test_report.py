"""The report command: what it writes, prints and refuses."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from harness.cli import report as command
from harness.cli.report import ReportOptions
from harness.errors import ConfigError
from harness.report.html.page import GENERATOR_TAG
from harness.testing import run_folders, synthetic
from harness.testing.commands import here
from tests.report.html.made_runs import Page, sweep


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("runs"), ("easy",), 2)


def made(path: Path, out: Path | None = None, *, as_json: bool = False) -> int:
    return command.report(ReportOptions((path,), out), as_json=as_json)


def undated(content: bytes) -> bytes:
    """A page without the time at which it was made."""
    dated, found = re.subn(rb"<time>report made [-0-9 :]+ UTC</time>", b"", content)
    assert found == 1
    return dated


def test_one_file_is_written_and_its_path_printed(runs: Path, tmp_path: Path) -> None:
    before = sorted(runs.rglob("*"))
    out = tmp_path / "new" / "mine.html"
    done = here("report", str(runs), "--out", str(out), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}\n"
    assert "2 runs, " in done.stderr
    assert "open it in a browser" in done.stderr
    assert [path.name for path in out.parent.iterdir()] == ["mine.html"]
    assert sorted(runs.rglob("*")) == before
    assert "2 runs: law" in Page(out.read_bytes()).text


def test_without_out_it_lies_in_the_folder_and_is_no_part_of_the_next(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made(runs) == 0
    first = (runs / "report.html").read_bytes()
    assert capsys.readouterr().out == f"{runs / 'report.html'}\n"
    assert made(runs) == 0
    assert undated((runs / "report.html").read_bytes()) == undated(first)
    (runs / "report.html").unlink()


def test_json_says_what_is_in_it(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(runs, tmp_path / "one.html", as_json=True)
    value = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert value["runs"] == 2
    assert value["bytes"] == (tmp_path / "one.html").stat().st_size
    assert value["conversations"] > 8
    assert value["figures"][:2] == ["entropy_law", "entropy_curves"]
    assert value["notes"][0].startswith("The worst, the middle and the best")


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("report", "--out: must name a file that ends in .html"),
        ("run.json", "--out: must name a file that ends in .html"),
        ("folder.html", "--out: must name a file, got the folder"),
    ],
)
def test_what_is_no_page_is_refused(runs: Path, tmp_path: Path, out: str, said: str) -> None:
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ConfigError, match=said):
        made(runs, tmp_path / out)


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE html>\n<title>thesis</title>",
        b"<!DOCTYPE html>\n<title>notes on x: harness report</title>",
        b"",
        b"\xff",
    ],
)
def test_a_file_that_is_no_report_is_not_overwritten(
    runs: Path, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "thesis.html").write_bytes(content)
    said = "--out: must be a new file or an earlier report of harness, since it is overwritten, got"
    with pytest.raises(ConfigError, match=rf"{said} '.*thesis\.html', which is another file"):
        made(runs, tmp_path / "thesis.html")
    assert (tmp_path / "thesis.html").read_bytes() == content


def test_the_default_file_too_is_kept_where_it_is_no_report(tmp_path: Path) -> None:
    root = sweep(tmp_path / "runs", ("easy",), 1)
    (root / "report.html").write_text("<p>my own notes</p>")
    with pytest.raises(ConfigError, match=r"report\.html', which is another file"):
        made(root)


def test_a_pipe_is_not_waited_for(runs: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.html")
    with pytest.raises(ConfigError, match=r"pipe\.html': must be a regular file"):
        made(runs, tmp_path / "pipe.html")


def test_an_earlier_report_is_overwritten(runs: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert made(runs, tmp_path / "one.html") == 0


def test_a_report_of_a_version_that_did_not_tag_its_pages_is_overwritten(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "one.html"
    assert made(runs, out) == 0
    untagged = out.read_bytes().replace(f"{GENERATOR_TAG}\n".encode(), b"")
    assert GENERATOR_TAG.encode() not in untagged
    out.write_bytes(untagged)
    capsys.readouterr()
    assert made(runs, out) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert GENERATOR_TAG.encode() in out.read_bytes()


def test_a_link_that_nobody_named_is_not_written_through(tmp_path: Path) -> None:
    root = sweep(tmp_path / "runs", ("easy",), 1)
    (root / "report.html").symlink_to(tmp_path / "elsewhere.html")
    with pytest.raises(ConfigError, match="name a file with --out"):
        made(root)
    assert not (tmp_path / "elsewhere.html").exists()


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_where_no_run_can_be_read_nothing_is_written(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert made(tmp_path / name) == 65
    assert "no run could be read, so nothing was written" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.html"))


def test_a_run_that_cannot_be_read_is_named_and_the_code_is_3(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("easy",), 2)
    (root / "1-easy-seed2" / "metrics.jsonl").write_text("{nothing")
    assert made(root, tmp_path / "x.html") == 3
    assert "1 run could not be read" in Page((tmp_path / "x.html").read_bytes()).text


def test_a_study_to_which_two_paths_lead_is_shown_once(tmp_path: Path) -> None:
    root = sweep(tmp_path / "runs" / "study", ("easy",), 1)
    (root / "study.json").write_text("{}")
    paths = (tmp_path / "runs", root, tmp_path / "runs" / ".." / "runs" / "study")
    wanted = ReportOptions(paths, tmp_path / "x.html")
    assert command.report(wanted, as_json=False) == 0
    text = Page((tmp_path / "x.html").read_bytes()).text
    assert text.count("a study cannot be read") == 1


def test_a_damaged_study_is_said(tmp_path: Path) -> None:
    root = sweep(tmp_path, ("easy",), 2)
    (root / "study.json").write_text("{}")
    assert made(root, tmp_path / "x.html") == 0
    assert "a study cannot be read" in Page((tmp_path / "x.html").read_bytes()).text


def test_columns_of_other_programs_are_named(tmp_path: Path) -> None:
    rows = synthetic.lawful_rows(1, 60)
    lines = [{"step": r["step"], "h": r["entropy"], "score": r["reward"]} for r in rows]
    log = run_folders.write_rows(tmp_path / "log", lines) / "metrics.jsonl"
    wanted = ReportOptions((log,), tmp_path / "x.html", reward="score", entropy="h")
    assert command.report(wanted, as_json=False) == 0
    text = Page((tmp_path / "x.html").read_bytes()).text
    assert "(score)" in text
    assert str(tmp_path) not in text.split("Left out")[0].replace(str(log), "")
