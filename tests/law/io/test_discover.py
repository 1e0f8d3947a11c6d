"""Which paths are runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.law.io.discover import Discovery, discover
from harness.law.result_parts import SkippedPath
from harness.testing import run_folders, synthetic

ROWS = synthetic.rows(synthetic.lawful(1, 20, synthetic.NONE))


def names(found: Discovery, below: Path) -> list[str]:
    return [str(Path(r.run).relative_to(below)) for r in found.runs]


def problems(found: Discovery) -> dict[str, str]:
    return {Path(r.run).name: r.problem.kind for r in found.runs if r.problem}


def test_runs_at_any_depth_in_the_order_of_their_names(tmp_path: Path) -> None:
    ordered = ["a/0-run", "a/deep/er/run", "b/2-run", "b/10-run"]
    for name in reversed(ordered):
        run_folders.write_rows(tmp_path / name, ROWS)
    assert names(discover([tmp_path]), tmp_path) == ordered


def test_run_json_alone_is_a_run_without_rows(tmp_path: Path) -> None:
    run = run_folders.write_run(tmp_path / "sweep" / "0-easy", ROWS, status="planned")
    (run / "metrics.jsonl").unlink()
    (found,) = discover([tmp_path]).runs
    assert found.problem is not None
    assert found.problem.kind == "missing_file"
    assert "only run.json is there so far" in found.problem.message


def test_a_named_file_is_a_run(tmp_path: Path) -> None:
    run = run_folders.write_run(tmp_path / "r", ROWS)
    (found,) = discover([run / "metrics.jsonl"]).runs
    assert found.run == str(run / "metrics.jsonl")
    assert found.folder == run


@pytest.mark.parametrize("inner", ["checkpoints", "conversations", ".hidden"])
def test_folders_that_are_never_entered(tmp_path: Path, inner: str) -> None:
    run_folders.write_rows(tmp_path / "run", ROWS)
    run_folders.write_rows(tmp_path / "run" / inner / "step-1", ROWS)
    assert names(discover([tmp_path]), tmp_path) == ["run"]


def test_the_results_of_a_study_beside_its_runs_are_no_run(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path / "run", ROWS)
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "result.json").write_text("{}")
    assert names(discover([tmp_path]), tmp_path) == ["run"]


def test_a_folder_of_results_is_no_run_and_a_run_that_is_one_too_is_said(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path / "run", ROWS)
    for name in ("law", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "law.json").write_text("{}")
    run_folders.write_rows(tmp_path / "kept", ROWS)
    found = discover([tmp_path])
    assert names(found, tmp_path) == ["run"]
    assert found.skipped == (SkippedPath(str(tmp_path / "kept"), "holds law.json"),)


def test_runs_below_a_folder_that_holds_results_too_are_found(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path / "sweep" / "run", ROWS)
    (tmp_path / "sweep" / "law.json").write_text("{}")
    assert names(discover([tmp_path]), tmp_path) == ["sweep/run"]


def test_a_named_folder_is_entered_even_with_results_in_it(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path / "run", ROWS)
    (tmp_path / "law.json").write_text("{}")
    assert names(discover([tmp_path]), tmp_path) == ["run"]


def test_leaf_folders_below_a_named_one_that_hold_no_run_are_missing(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path / "good", ROWS)
    (tmp_path / "empty").mkdir()
    (tmp_path / "deeper" / "empty-too").mkdir(parents=True)
    found = discover([tmp_path])
    assert names(found, tmp_path) == ["empty", "good"]
    assert problems(found) == {"empty": "missing_file"}


def test_a_folder_of_another_program_s_logs_says_to_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-60").mkdir()
    (tmp_path / "checkpoint-60" / "trainer_state.json").write_text("{}")
    (message,) = [run.problem.message for run in discover([tmp_path]).runs if run.problem]
    assert message == (
        f"{tmp_path}/checkpoint-60: a run holds run.json or metrics.jsonl; this folder holds "
        "neither; name the file itself for a log of another program"
    )


def test_inside_a_run_a_leaf_folder_is_no_missing_run(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, ROWS)
    (tmp_path / "notes").mkdir()
    assert problems(discover([tmp_path])) == {}


def test_an_empty_folder_and_a_path_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = discover([tmp_path / "empty", tmp_path / "gone"])
    assert problems(found) == {"empty": "missing_file", "gone": "missing_file"}
    messages = [r.problem.message for r in found.runs if r.problem]
    assert "no such folder at or below this one" in messages[0]
    assert "no such file or folder" in messages[1]


def test_links_are_followed_once_and_never_in_a_circle(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path / "runs" / "one", ROWS)
    (tmp_path / "runs" / "one" / "up").symlink_to(tmp_path / "runs")
    (tmp_path / "runs" / "same").symlink_to(tmp_path / "runs" / "one")
    (tmp_path / "runs" / "broken").symlink_to(tmp_path / "nowhere")
    assert names(discover([tmp_path / "runs"]), tmp_path) == ["runs/one"]


def test_a_link_to_itself_hides_no_run_beside_it(tmp_path: Path) -> None:
    run = run_folders.write_rows(tmp_path / "loop" / "run", ROWS)
    (tmp_path / "loop" / "self").symlink_to("self")
    (run / "self").symlink_to("self")
    found = discover([tmp_path / "loop"])
    assert (names(found, tmp_path), problems(found)) == (["loop/run"], {})


def test_a_named_link_to_itself_is_a_path_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to("self")
    (found,) = discover([tmp_path / "self"]).runs
    assert found.problem is not None
    assert "no such file or folder" in found.problem.message


def test_a_run_named_twice_is_one_run(tmp_path: Path) -> None:
    run = run_folders.write_rows(tmp_path / "run", ROWS)
    for paths in ([tmp_path, run, run], [tmp_path, tmp_path], [run, tmp_path]):
        assert names(discover(paths), tmp_path) == ["run"]
