"""Requests that fit-entropy-law refuses before it analyses anything."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli.fit import FitOptions, fit
from harness.errors import ConfigError
from harness.testing import run_folders, synthetic
from harness.testing.commands import here

ROWS = synthetic.rows(synthetic.lawful(3, 40, synthetic.LOW))


def wanted(
    run: Path, out: Path | None = None, reward: str | None = None, entropy: str | None = None
) -> FitOptions:
    return FitOptions((run,), out, reward, entropy, "none", pool_unlike=False)


@pytest.mark.parametrize(
    ("option", "reward", "entropy"), [("reward", "", None), ("entropy", None, "")]
)
def test_an_empty_column_name_is_refused(
    tmp_path: Path, option: str, reward: str | None, entropy: str | None
) -> None:
    run = run_folders.write_rows(tmp_path / "run", ROWS)
    with pytest.raises(ConfigError, match=rf"^--{option}: must name a column of .*, got ''$"):
        fit(wanted(run, None, reward, entropy), as_json=True, explain=False)


@pytest.mark.parametrize("out", ["file", "file/below", "dangling", "dangling/below"])
def test_a_path_that_cannot_hold_results_is_refused_before_the_analysis(
    tmp_path: Path, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_folders.write_rows(tmp_path / "run", ROWS)
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    taken = tmp_path / out.split("/")[0]
    with pytest.raises(ConfigError) as refused:
        fit(wanted(run, tmp_path / out), as_json=True, explain=False)
    assert str(refused.value) == (
        f"--out: must name a folder that exists or can be created, and '{taken}' is not one; "
        f"got '{tmp_path / out}': name another"
    )
    assert capsys.readouterr().out == ""


def test_results_are_not_put_into_a_run_which_later_fits_would_set_aside(tmp_path: Path) -> None:
    run = run_folders.write_rows(tmp_path / "run", ROWS)
    with pytest.raises(ConfigError, match=rf"^--out: must not be .*; got the run '{run}'$"):
        fit(wanted(run, run), as_json=True, explain=False)
    assert [path.name for path in run.iterdir()] == ["metrics.jsonl"]


def test_a_folder_for_results_is_made_with_those_above_it(tmp_path: Path) -> None:
    run = run_folders.write_rows(tmp_path / "run", ROWS)
    assert fit(wanted(run, tmp_path / "a" / "b"), as_json=True, explain=False) == 0
    assert (tmp_path / "a" / "b" / "law.json").is_file()


def test_where_no_run_can_be_read_nothing_is_made(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    assert fit(wanted(run, tmp_path / "a" / "b"), as_json=True, explain=False) == 65
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not list(run.iterdir())


@pytest.fixture
def nobody_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """stdout is a pipe whose other end is closed, as behind `| true`."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        yield


@pytest.mark.usefixtures("nobody_reads")
@pytest.mark.parametrize("as_json", [True, False])
def test_results_are_written_though_nobody_reads_what_is_printed(
    tmp_path: Path, as_json: bool
) -> None:
    run_folders.write_rows(tmp_path / "run", ROWS)
    asked = FitOptions(
        (tmp_path / "run", tmp_path / "none"), tmp_path / "law", None, None, "none", False
    )
    assert fit(asked, as_json=as_json, explain=False) == 3
    assert (tmp_path / "law" / "law.json").is_file()


def test_a_paper_has_pdfs_tables_and_captions(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "run", synthetic.lawful_rows(seed=1, n=60))
    words = ("fit-entropy-law", "run", "--out", "paper", "--style", "paper")
    assert here(*words, cwd=tmp_path).returncode == 0
    kept = {path.name for path in (tmp_path / "paper").iterdir()}
    assert {"entropy_law.pdf", "entropy_law.caption.txt", "law.tex", "law.md", "law.csv"} <= kept
    assert not any(name.endswith((".png", ".svg")) for name in kept)


def test_formats_are_named_at_once_or_one_by_one(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "run", synthetic.lawful_rows(seed=1, n=60))
    words = ("fit-entropy-law", "run", "--out", "law", "--format", "svg,pdf", "--format", "md")
    assert here(*words, cwd=tmp_path).returncode == 0
    endings = {path.name.partition(".")[2] for path in (tmp_path / "law").iterdir()}
    assert endings == {"svg", "pdf", "md", "csv", "json"}


def test_a_format_that_is_none_is_refused_before_the_analysis(tmp_path: Path) -> None:
    done = here("fit-entropy-law", "none", "--format", "pgn", cwd=tmp_path)
    assert done.returncode == 2
    assert "--format: must be some of png, svg, pdf, tex, md, got 'pgn'" in done.stderr
