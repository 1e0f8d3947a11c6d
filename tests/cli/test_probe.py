"""The probe command: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest

from harness.cli import probe as command
from harness.records.run_folder import RunFolder
from harness.testing.commands import here, start_command
from tests.train.made import brief, go_on, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    made = make_run(tmp_path_factory.mktemp("probed") / "one", brief(steps=6))
    code, _, err = go_on(made)
    assert code == 0, err
    return made


def asked(run: RunFolder, *words: str) -> tuple[int, str, str]:
    done = here("probe", *words, cwd=run.path.parent)
    return done.returncode, done.stdout, done.stderr


def test_it_prints_a_table_a_level_and_writes_all_of_it(run: RunFolder) -> None:
    code, out, err = asked(run, "grounding", "one", "--users", "5", "--format", "png")
    assert code == 0, err
    said = " ".join(out.split())
    assert "one: 5 held-out users x 4 conversations a level and policy" in said
    for level in ("easy", "medium", "hard"):
        assert f"{level} start step 6 change people" in said
    assert said.count("acts of grounding") == 3
    folder = run.path / "probes" / "grounding"
    assert "results in one/probes/grounding" in err
    written = {path.name for path in folder.iterdir()}
    assert written == {"probe.json", "readings.csv", "probe.csv", "probe.png"}
    table = pd.read_csv(folder / "readings.csv")
    assert set(table.policy) == {"start", "run"}
    assert set(table.step) == {0, 6}
    value = json.loads((folder / "probe.json").read_text(), parse_constant=pytest.fail)
    assert value["schema"] == 1
    assert value["conversations"] == 2 * 5 * 4 * 3


def test_json_is_what_is_written(run: RunFolder, tmp_path: Path) -> None:
    words = ("drift", "one", "--users", "3", "--json", "--out", str(tmp_path / "out"))
    code, out, err = asked(run, *words)
    assert code == 0, err
    assert json.loads(out) == json.loads((tmp_path / "out" / "probe.json").read_text())


def test_what_takes_more_conversations_than_there_are_is_not_measured(run: RunFolder) -> None:
    code, out, err = asked(run, "width", "one", "--users", "4", "--repeats", "2")
    assert code == 0, err
    assert "best of 2 (reward)" in out
    assert "best of 4 (reward)" not in out
    assert "\nnot measured: best of 4, best of 8, best of 16, best of 32, a success in 8, " in out
    assert "a success in 32, all succeed of 4: take up to 32 conversations with a user" in out
    assert out.count("not measured") == 1
    assert ", and --repeats is 2\n" in out


def test_what_a_policy_cannot_show_is_said_with_the_reason(run: RunFolder) -> None:
    code, out, err = asked(run, "reliability", "one")
    assert code == 0, err
    said = " ".join(out.split())
    assert "not measured: policy.kind=tabular: it chooses strategies" in said
    assert "95% over" not in said
    value = json.loads((run.path / "probes" / "reliability" / "probe.json").read_text())
    assert (value["items"], value["readings"], len(value["not_measured"])) == (0, [], 1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("truth", "one"),
         "NAME must be one of alliance, drift, grounding, novelty, reliability, understanding, "
         "width, got 'truth'"),
        (("drift", "one", "--step", "6", "--along"),
         "--along asks every step, so --step cannot be given, got 6"),
        (("reliability", "one", "--users", "8"),
         "--users must be given with another probe, since reliability uses items, got 8"),
        (("drift", "one", "--first", "8"),
         "--first must be given with another probe, since drift uses users, got 8"),
        (("reliability", "one", "--items", "mine.jsonl"),
         "--items must go with a model that knows of the world (policy.kind=hf), got mine.jsonl "
         "for tabular"),
        (("drift", "one", "--step", "4"), "--step must be a step whose checkpoint was kept"),
        (("drift", "one", "--format", "gif"), "--format: must be some of png, svg, pdf, got 'gif'"),
    ],
)  # fmt: skip
def test_a_mistake_ends_with_2_and_a_sentence(
    run: RunFolder, words: tuple[str, ...], sentence: str
) -> None:
    code, out, err = asked(run, *words)
    assert (code, out) == (2, "")
    assert sentence in " ".join(err.split())


def test_a_folder_that_is_no_run_is_named(run: RunFolder, tmp_path: Path) -> None:
    code, _, err = asked(run, "drift", str(tmp_path))
    assert code == 65, err
    assert f"{tmp_path}: must be the folder of a run: has no run.json" in " ".join(err.split())


def test_a_checkpoint_is_told_from_its_run(run: RunFolder) -> None:
    checkpoint = "one/checkpoints/step-00005"
    code, _, err = asked(run, "drift", checkpoint)
    rule = "must be the folder of a run, got one of its checkpoints"
    assert (code, err) == (
        65, f"harness: {checkpoint}: {rule}; `harness probe drift one --step 5`\n"
    )  # fmt: skip
    code, _, err = asked(run, "drift", "one", "--against", checkpoint)
    hint = "`harness probe drift one --against one`"
    assert (code, err) == (65, f"harness: --against {checkpoint}: {rule}; {hint}\n")


def test_nothing_that_is_held_against_is_said_so(run: RunFolder) -> None:
    code, _, err = asked(run, "drift", "one", "--against", "nowhere")
    rule = "must be the folder of a run: no such folder"
    assert (code, err) == (65, f"harness: --against nowhere: {rule}\n")


def test_progress_is_said_once_there_is_some(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "EVERY_S", 0.0)
    code, _, err = asked(run, "drift", "one", "--users", "3")
    assert (code, err) == (0, "harness: results in one/probes/drift\n")
    code, _, err = asked(run, "drift", "one", "--users", "200")
    assert code == 0
    assert re.search(r"harness: step 6: [1-9]\d* of \d+\n", err)
    assert ": 0 of" not in err


@pytest.mark.slow
def test_one_interrupt_ends_it(run: RunFolder) -> None:
    words = ("probe", "width", "one", "--users", "4000", "--out", "interrupted")
    with start_command(*words, cwd=run.path.parent) as child:
        assert child.stderr is not None
        assert "the start, greedy: " in child.stderr.readline()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert child.returncode in (130, -signal.SIGINT)
    assert err.endswith("harness: interrupted\n")
    assert not (run.path.parent / "interrupted").exists()


def damaged(run: RunFolder, to: Path, *steps: int) -> RunFolder:
    """A copy of the run in which the checkpoints of these steps are cut short."""
    mine = RunFolder(shutil.copytree(run.path, to))
    for step in steps:
        table = mine.checkpoints / f"step-{step:05d}" / "table.npy"
        table.write_bytes(table.read_bytes()[:100])
    return mine


DAMAGED = "checkpoints/step-00006: table.npy differs from its manifest"


def test_a_damaged_last_checkpoint_is_passed_over_and_said(run: RunFolder, tmp_path: Path) -> None:
    mine = damaged(run, tmp_path / "one", 6)
    code, out, err = asked(mine, "drift", "one", "--users", "3")
    assert code == 3
    assert f"harness: one/{DAMAGED}; step 5 is used instead\n" in err
    assert "medium start step 5 change" in " ".join(out.split())
    value = json.loads((mine.path / "probes" / "drift" / "probe.json").read_text())
    assert (value["steps"], value["passed_over"]) == ([5], [f"one/{DAMAGED}"])


def test_so_is_that_of_the_run_which_it_is_held_against(run: RunFolder, tmp_path: Path) -> None:
    damaged(run, tmp_path / "other", 6)
    words = ("drift", str(run.path), "--users", "3", "--against", "other", "--out", "out")
    code, _, err = asked(RunFolder(tmp_path / "other"), *words)
    assert code == 3
    assert f"harness: other/{DAMAGED}; step 5 is used instead\n" in err


@pytest.mark.parametrize(
    ("steps", "words", "sentence"),
    [
        ((5, 6), (), "step-00005: a checkpoint must be as it was saved, got: table.npy differs "
                     "from its manifest; no other is undamaged"),
        ((6,), ("--step", "6"), "step-00006: a checkpoint must be as it was saved, got: table.npy "
                                "differs from its manifest"),
        ((6,), ("--along",), "step-00006: a checkpoint must be as it was saved, got: table.npy "
                             "differs from its manifest"),
    ],
)  # fmt: skip
def test_where_nothing_whole_can_be_asked_it_ends_with_65(
    run: RunFolder, tmp_path: Path, steps: tuple[int, ...], words: tuple[str, ...], sentence: str
) -> None:
    mine = damaged(run, tmp_path / "one", *steps)
    code, out, err = asked(mine, "drift", "one", *words)
    assert (code, out) == (65, "")
    assert err.endswith(f"harness: one/checkpoints/{sentence}\n")


def test_so_it_does_without_any_checkpoint(run: RunFolder, tmp_path: Path) -> None:
    mine = damaged(run, tmp_path / "one")
    shutil.rmtree(mine.checkpoints)
    code, out, err = asked(mine, "drift", "one")
    rule = "must hold a checkpoint, saved every 5 steps (trainer.checkpoint_every), got none"
    assert (code, out, err) == (65, "", f"harness: one/checkpoints: {rule}\n")


@pytest.mark.parametrize("name", ["probe.json", "readings.csv", "probe.png"])
def test_a_file_of_somebody_is_not_written_over(run: RunFolder, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("precious")
    words = ("--users", "3", "--out", "mine", "--format", "png")
    code, out, err = asked(RunFolder(tmp_path / "one"), "drift", str(run.path), *words)
    assert (code, out) == (2, "")
    assert err == (
        "harness: --out: must be without such files, or hold a probe's earlier answer, which is "
        f"overwritten, got 'mine', whose {name} is another file\n"
    )
    assert (tmp_path / "mine" / name).read_text() == "precious"


def test_an_earlier_answer_is(run: RunFolder, tmp_path: Path) -> None:
    for users in ("3", "4"):
        words = ("drift", "one", "--users", users, "--out", str(tmp_path))
        code, _, err = asked(run, *words)
        assert code == 0, err
    assert json.loads((tmp_path / "probe.json").read_text())["users"] == 4


@pytest.mark.parametrize("named", ["afile", "afile/inner"])
def test_a_file_is_no_folder_to_write_to(run: RunFolder, tmp_path: Path, named: str) -> None:
    (tmp_path / "afile").write_text("precious")
    code, out, err = asked(RunFolder(tmp_path / "x"), "drift", str(run.path), "--out", named)
    rule = "must name a folder that exists or can be created, and 'afile' is not one"
    assert (code, out, err) == (2, "", f"harness: --out: {rule}; got {named!r}: name another\n")
