"""The probe command: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.records.run_folder import RunFolder
from harness.testing.commands import here
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
    row = next(line for line in out.splitlines() if line.startswith("best of 4 (reward)"))
    assert row.split() == ["best", "of", "4", "(reward)", "-", "-", "not", "measured"]


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
         "--along asks every step, so it goes without --step, got 6"),
        (("reliability", "one", "--users", "8"),
         "--users must go with another probe, since reliability meets items, got 8"),
        (("drift", "one", "--first", "8"),
         "--first must go with another probe, since drift meets users, got 8"),
        (("reliability", "one", "--items", "mine.jsonl"),
         "--items must go with a model that knows of the world (policy.kind=hf), got mine.jsonl "
         "for tabular"),
        (("drift", "one", "--step", "4"), "--step must be one whose checkpoint was kept"),
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
