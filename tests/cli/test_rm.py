"""The rm command: what it removes, and all that it must leave alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.testing.commands import here
from tests.cli.made_lists import HEX, a_sweep, add, made, names
from tests.cli.terminal import on_terminal


def test_a_run_and_a_sweep_are_removed_and_what_is_freed_is_told(tmp_path: Path) -> None:
    made(tmp_path / "one")
    a_sweep(tmp_path / "runs/pilot", "0-a", "1-b")
    (tmp_path / "runs/keep").mkdir()
    done = here("rm", "one", "runs/pilot", "--yes", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        f"removed {tmp_path}/one", f"removed {tmp_path}/runs/pilot",
    ]  # fmt: skip
    assert done.stdout.count(" kB freed") == 2
    assert (names(tmp_path), names(tmp_path / "runs")) == (["runs"], ["keep"])


def test_it_asks_and_anything_but_yes_removes_nothing(tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "0-a", note="keep?")
    for answer in ("\n", "n\n", "no\n", "x\n"):
        shown = on_terminal("rm", "s", cwd=tmp_path, columns=200, answers=answer)
        assert shown.code == 0
        assert f"{tmp_path}/s: sweep, 1 done, " in shown.plain
        assert "keep?" in shown.plain
        assert "permanently? [y/N]" in shown.plain
        assert shown.lines[-1].endswith("nothing was removed")
        assert (tmp_path / "s/0-a/run.json").exists()
    shown = on_terminal("rm", "s", cwd=tmp_path, columns=200, answers="y\n")
    assert shown.code == 0
    assert names(tmp_path) == []


def test_without_anybody_to_ask_it_needs_yes(tmp_path: Path) -> None:
    made(tmp_path / "one")
    done = here("rm", "one", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--yes: must be given if there is no terminal to confirm on" in done.stderr
    assert names(tmp_path) == ["one"]


def _without(run: Path, *gone: str) -> None:
    for name in gone:
        (run / name).unlink()


BROKEN: dict[str, Callable[[Path], object]] = {
    "run.json is no JSON": lambda run: (run / "run.json").write_text("{"),
    "run.json is gone": lambda run: _without(run, "run.json"),
    "all but run.json is gone": lambda run: _without(run, "config.yaml", "metrics.jsonl"),
    "a killed write has left a file": lambda run: (run / f".run.json.{HEX}.tmp").write_text(""),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_run_is_removed(how: str, tmp_path: Path) -> None:
    BROKEN[how](made(tmp_path / "one"))
    done = here("rm", "one", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == []


def test_a_broken_sweep_is_removed_with_its_runs(tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "0-a")
    (tmp_path / "s/sweep.json").write_text("{")
    assert here("rm", "s", "--yes", cwd=tmp_path).returncode == 0
    assert names(tmp_path) == []


def test_answers_of_probes_and_rows_moved_aside_go_with_their_run(tmp_path: Path) -> None:
    run = a_sweep(tmp_path / "s", "0-a") / "0-a"
    add(run, "metrics.superseded.jsonl")
    add(run / "probes" / "alliance", "probe.json")
    done = here("rm", "s", "--yes", cwd=tmp_path)
    assert done.stdout.startswith(f"removed {tmp_path / 's'}: "), done.stderr
    assert names(tmp_path) == []


FOREIGN: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "no folder": (lambda p: None, 65, "there is none"),
    "a file": (lambda p: p.write_text("x"), 65, "must be the folder of a run or a sweep"),
    "an empty folder": (lambda p: p.mkdir(), 65, "neither a run nor a sweep"),
    "a log alone": (lambda p: add(p, "metrics.jsonl"), 65, "neither a run nor a sweep"),
    "a config alone": (lambda p: add(p, "config.yaml"), 65, "neither a run nor a sweep"),
    "a run and notes": (
        lambda p: add(made(p), "notes.txt"), 2, "holds 'notes.txt', which is not part of a run",
    ),
    "a sweep and a thesis": (
        lambda p: add(a_sweep(p, "0-a") / "thesis", "t.tex"), 2, "holds 'thesis', which",
    ),
    "a sweep with notes in a run": (
        lambda p: add(a_sweep(p, "0-a") / "0-a", "notes.txt"), 2, "holds '0-a', which is not part",
    ),
    "a folder of runs": (lambda p: made(p / "one"), 65, "neither a run nor a sweep"),
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_not_ours_alone_is_left_as_it_is(what: str, tmp_path: Path) -> None:
    make, code, rule = FOREIGN[what]
    make(tmp_path / "it")
    made(tmp_path / "other")
    before = sorted(tmp_path.rglob("*"))
    done = here("rm", "other", "it", "--yes", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert rule in done.stderr
    assert sorted(tmp_path.rglob("*")) == before  # nor was the other one removed


def test_links_are_not_followed(tmp_path: Path) -> None:
    work, away = tmp_path / "work", tmp_path / "away"
    made(away / "run")
    (away / "kept.txt").write_text("keep me")
    work.mkdir()
    (work / "link").symlink_to(away / "run")
    done = here("rm", "link", "--yes", cwd=work)
    assert done.returncode == 2
    assert "links and their targets are not removed" in done.stderr
    run = made(work / "one")
    (run / "conversations").symlink_to(away)
    (run / "train.log").symlink_to(away / "kept.txt")
    assert here("rm", "one", "--yes", cwd=work).returncode == 0
    assert names(work) == ["link"]
    assert (away / "kept.txt").read_text() == "keep me"
    assert (away / "run/run.json").exists()
    sweep = a_sweep(work / "s", "0-a")
    (sweep / "1-b").symlink_to(away / "run")
    assert here("rm", "s", "--yes", cwd=work).returncode == 2
    assert (away / "run/run.json").exists()


def test_the_folder_one_is_in_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "one")
    for cwd, word in ((tmp_path / "one", "."), (tmp_path / "one/conversations", "..")):
        cwd.mkdir(exist_ok=True)
        done = here("rm", word, "--yes", cwd=cwd)
        assert done.returncode == 2
        assert "is the current folder" in done.stderr


def test_a_run_that_was_copied_into_a_sweep_is_asked_about_by_its_name(tmp_path: Path) -> None:
    root = a_sweep(tmp_path / "s", "0-a")
    made(root / "keep-me", "stopped")
    done = here("rm", "s", "--yes", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"harness: {root}: also has keep-me, not part of this sweep; nothing was removed; move "
        f"them, or name them too: `harness rm {root} {root}/keep-me --yes`\n"
    )
    shown = on_terminal("rm", "s", cwd=tmp_path, columns=200, answers="y\nn\n")
    assert "  keep-me: not of this sweep; run, step 3/100, stopped" in shown.plain
    assert f"Remove keep-me too, which is not of the sweep in {root}? [y/N]" in shown.plain
    assert shown.lines[-1].endswith("nothing was removed")
    assert (root / "keep-me/run.json").exists()
    assert (root / "0-a/run.json").exists()
    assert here("rm", "s", "s/keep-me", "--yes", cwd=tmp_path).returncode == 0
    assert names(tmp_path) == []


def test_a_folder_that_is_named_twice_is_removed_once(tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "0-a")
    done = here("rm", "s", "s/", "s/0-a", "--yes", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("removed")) == (0, 1)


def test_a_disk_that_cannot_be_written_is_74_and_everything_stays(tmp_path: Path) -> None:
    made(tmp_path / "shut/one")
    (tmp_path / "shut").chmod(0o500)
    try:
        if os.access(tmp_path / "shut", os.W_OK):
            pytest.skip("this user may write everywhere")
        done = here("rm", "shut/one", "--yes", cwd=tmp_path)
        assert done.returncode == 74
        assert (tmp_path / "shut/one/run.json").exists()
    finally:
        (tmp_path / "shut").chmod(0o700)
