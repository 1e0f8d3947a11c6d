"""The status command, once and --watch, and what a named sweep shows."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from harness.records import sweep_file
from harness.testing import commands
from harness.testing.commands import TABULAR, command, harness, here
from tests.cli.made_lists import a_sweep, made
from tests.cli.terminal import on_terminal

SHORT = (*TABULAR, "difficulty=easy", "trainer.steps=200", "difficulty.turn_cap=2")


def test_a_sweep_shows_its_name_and_note_first(tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "0-a", name="pilot", note="is it on?")
    done = here("status", "s", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "pilot: is it on?"
    assert json.loads(here("status", "s", "--json", cwd=tmp_path).stdout)["note"] == "is it on?"


def test_lines_are_wrapped_between_words_on_a_terminal_alone(tmp_path: Path) -> None:
    made(tmp_path / "one", "running")
    whole = here("status", "one", cwd=tmp_path).stdout.splitlines()
    (line,) = whole
    died = "process died without writing a status (killed or crashed)"
    advice = f"{died}; continue with `harness resume one`"
    assert line == f"one: crashed, 3/100 steps, H 1.25, batch R 0.44, {advice}"
    shown = on_terminal("status", "one", cwd=tmp_path, columns=40, NO_COLOR="1")
    assert max(map(len, shown.lines)) <= 40
    assert shown.plain.split() == " ".join(whole).split()
    assert "`harness resume one`" in " ".join(shown.plain.split())


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("status", "my runs"), "`harness status 'my runs/s'`"),
        (("view", "my runs/s"), "`harness view 'my runs/s/0-a'`"),
        (("export", "my runs/s", "a model"), "`harness export 'my runs/s/0-a' 'a model'`"),
        (("probe", "drift", "my runs/s/0-a", "--against", "my runs/s"),
         "`harness probe drift 'my runs/s/0-a' --against 'my runs/s/0-a'`"),
    ],
)  # fmt: skip
def test_an_advised_command_can_be_pasted_where_a_folder_has_a_blank(
    words: tuple[str, ...], advice: str, tmp_path: Path
) -> None:
    a_sweep(tmp_path / "my runs/s", "0-a")
    done = here(*words, cwd=tmp_path)
    assert done.returncode == 65
    assert advice in done.stderr


@pytest.mark.parametrize(
    ("written", "word"), [("running", "crashed"), ("stopped", "stopped"), ("done", "damaged")]
)
def test_every_command_tells_a_status_by_the_same_word(
    written: str, word: str, tmp_path: Path
) -> None:
    run = a_sweep(tmp_path / "s", "0-a") / "0-a"
    values = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**values, "status": written}))
    if word == "damaged":
        (run / "metrics.jsonl").write_text("")
    for of in ("s", "s/0-a"):
        assert f"0-a: {word}, " in here("status", of, cwd=tmp_path).stdout
        told = json.loads(here("status", of, "--json", cwd=tmp_path).stdout)
        assert (told["runs"][0] if of == "s" else told)["status"] == word
    assert here("list", "s", cwd=tmp_path).stdout.splitlines()[1].split()[1] == word
    assert f"1 {word}" in here("list", cwd=tmp_path).stdout
    assert f"s/0-a: {word}, " in here("watch", "s", "--once", cwd=tmp_path).stdout
    assert f" {word} " in on_terminal("status", "s", "--watch", cwd=tmp_path).plain


def test_an_error_is_wrapped_between_words_on_a_terminal_alone(tmp_path: Path) -> None:
    whole = here("status", "nowhere", cwd=tmp_path).stderr
    assert whole.count("\n") == 1
    shown = on_terminal("status", "nowhere", cwd=tmp_path, columns=40)
    assert shown.code == 65
    assert max(map(len, shown.lines)) <= 40
    assert shown.plain.split() == whole.split()


def test_status_words_are_coloured_where_they_are_seen(tmp_path: Path) -> None:
    made(tmp_path / "one")
    assert "one: \x1b[32mdone\x1b[0m, 3/100" in on_terminal("status", "one", cwd=tmp_path).text
    assert "\x1b" not in on_terminal("status", "one", cwd=tmp_path, NO_COLOR="1").text


def test_watch_follows_a_run_to_its_end(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("train", *SHORT, "--dir", "one"), cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as training:
        commands.wait_until(lambda: commands.rows(tmp_path / "one") > 1, "a row")
        shown = on_terminal("status", "one", "--watch", cwd=tmp_path, columns=60)
        assert training.wait(60) == 0
    assert shown.code == 0
    assert "running" in shown.plain
    *_, last, legend = shown.lines
    assert last.split()[:3] == ["one", "done", "200/200"]
    assert legend.startswith("H, R, emotion: last batch")


def test_ctrl_c_ends_a_watch_and_nothing_else(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=100000", "difficulty.turn_cap=2")
    with subprocess.Popen(
        command("train", *words, "--dir", "one"), cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as training:
        try:
            commands.wait_until(lambda: commands.rows(tmp_path / "one") > 1, "a row")
            began = time.monotonic()
            shown = on_terminal(
                "status", "one", "--watch", cwd=tmp_path, interrupt=lambda text: "running" in text
            )
            assert shown.code == 0
            assert time.monotonic() - began < 30
            assert training.poll() is None
        finally:
            training.kill()  # `with` waits for it


def test_watch_of_what_is_over_ends_at_once_piped_as_status_prints_it(tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "0-a", "1-b")
    watched = here("status", "s", "--watch", cwd=tmp_path)
    assert (watched.returncode, watched.stdout) == (0, here("status", "s", cwd=tmp_path).stdout)


def test_watch_of_nothing_is_65_and_with_json_2(tmp_path: Path) -> None:
    done = here("status", ".", "--watch", cwd=tmp_path)
    assert done.returncode == 65
    assert "neither a run nor a sweep" in done.stderr
    made(tmp_path / "pilot")
    for word in ("status", "resume"):
        assert "no such folder; nearest: pilot" in here(word, "pliot", cwd=tmp_path).stderr
    made(tmp_path / "one")
    done = here("status", "one", "--watch", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert "--watch: cannot be combined with --json" in done.stderr


def test_a_named_sweep_has_its_folder_below_runs_and_no_other_takes_it(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=2", "--name", "pilot")
    first = harness("sweep", *words, "--note", "is it on?", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    root = tmp_path / "runs/pilot"
    kept = sweep_file.read(root)
    assert (kept.name, kept.note) == ("pilot", "is it on?")
    again = here("sweep", *words, cwd=tmp_path)
    assert again.returncode == 2
    advice = f"continue it with `harness resume {root}`, or choose another name or folder"
    assert again.stderr == f"harness: {root}: already holds a sweep; {advice}\n"
    assert here("resume", "runs/pilot", cwd=tmp_path).returncode == 0
    assert sweep_file.read(root).note == "is it on?"


def test_the_next_command_can_be_pasted_where_a_folder_has_a_blank(tmp_path: Path) -> None:
    root = a_sweep(tmp_path / "my runs", "0-a")
    done = here("resume", "my runs", cwd=tmp_path)
    assert f"next: `harness fit-entropy-law '{root}'`" in done.stderr
    again = here("sweep", *TABULAR, "--dir", "my runs", cwd=tmp_path)
    assert f"continue it with `harness resume '{root}'`" in again.stderr


def test_a_sweep_in_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    done = harness("sweep", *TABULAR, "trainer.steps=2", "--dir", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sweep_file.read(tmp_path / "mine").name is None
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        ("notes.txt", "a sweep needs an empty folder, found 'notes.txt'"),
        ("run.json", "already holds a run"),
        ("sweep.json", "already holds a sweep"),
    ],
)
def test_a_folder_that_holds_something_is_refused_and_left_alone(
    found: str, rule: str, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / found).write_text("keep me")
    done = here("sweep", *TABULAR, "--dir", "mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert rule in done.stderr
    assert [path.read_text() for path in (tmp_path / "mine").iterdir()] == ["keep me"]


def test_a_file_or_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert here("sweep", *TABULAR, "--dir", "file", cwd=tmp_path).returncode == 2
    (tmp_path / "runs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs/pilot").symlink_to(tmp_path / "elsewhere")
    done = here("sweep", *TABULAR, "--name", "pilot", cwd=tmp_path)
    assert done.returncode == 65
    assert "got a link to" in done.stderr
    assert not list((tmp_path / "elsewhere").iterdir())
