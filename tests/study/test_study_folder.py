"""What a study remembers of what it stated, and how it goes on, without a run being trained."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli import status
from harness.config.run import EvalConfig, PolicyConfig, RunConfig, TrainerConfig
from harness.errors import ConfigError, DataError
from harness.execution import ledger
from harness.records import study_file
from harness.records.sweep_file import Sweep
from harness.study import arms, cost, file, folder
from tests.study.made import SMALL, planned, written


def test_runs_are_planned_seed_by_seed_so_that_fewer_seeds_are_whole_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    runs = [(point.config.seed, arm) for arm, point in planned().distinct().values()]
    assert runs == [(1, "medium"), (1, "hard"), (2, "medium"), (2, "hard")]


def test_links_that_no_run_could_decide_are_named_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    assert list(arms.warnings(planned())) == [
        "trainer.steps: a link on gain needs 16 evaluations to be decided, got 3 in 3 steps "
        "evaluated every 1"
    ]
    assert list(arms.warnings(planned("trainer.steps=100", "trainer.eval_every=10"))) == [
        "trainer.steps: a link on gain needs 16 evaluations to be decided, got 11 in 100 steps "
        "evaluated every 10"
    ]
    assert list(arms.warnings(planned("trainer.steps=16"))) == []
    assert list(arms.warnings(planned("trainer.steps=100"))) == []


@pytest.mark.slow
def test_what_was_stated_first_is_kept_and_what_is_new_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    first = planned()
    root = folder.default(first)
    assert folder.create_or_complete(first, root).changed == []
    names = ["0-medium-seed1", "1-hard-seed1", "2-medium-seed2", "3-hard-seed2"]
    assert [row.name for row in ledger.read(root).runs] == names
    assert folder.create_or_complete(planned(), root).changed == []

    more = "  harder: [difficulty=hard, difficulty.threshold=2]\nlinks:"
    text = SMALL.replace("links:", more).replace("direction: less", "direction: more")
    written(tmp_path, text)
    again = folder.create_or_complete(planned("seed=1,2,3"), root)
    assert folder.default(planned("seed=1,2,3")) == root
    assert again.changed == [
        "seeds: 1 2 became 1 2 3",
        "arms.harder: added, difficulty=hard difficulty.threshold=2",
        "links.hard gains less.direction: less became more",
    ]
    assert again.stated["links"]["hard gains less"]["direction"] == "less"
    assert [row.name for row in ledger.read(root).runs][:4] == names
    assert len(ledger.read(root).runs) == 9
    assert again.arms["hard"] == {"1": names[1], "2": names[3], "3": "7-hard-seed3"}

    written(tmp_path)
    assert folder.create_or_complete(planned(), root).changed == again.changed  # it stays said
    assert study_file.read(root).arms.keys() == {"medium", "hard"}


@pytest.mark.slow
def test_another_word_is_another_folder_and_in_the_same_one_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    short, long = planned(), planned("trainer.steps=4")
    assert folder.default(short) != folder.default(long)
    folder.create_or_complete(short, tmp_path / "here")
    record = folder.create_or_complete(long, tmp_path / "here")
    (said,) = record.changed
    assert said.startswith("words: policy=tabular trainer.conversations=8")
    assert "-medium-seed1" in record.arms["medium"]["1"]
    assert len(record.runs) == 8


@pytest.mark.slow
def test_a_plan_that_was_killed_half_way_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    root = tmp_path / "here"
    folder.create_or_complete(planned(), root)
    (root / "sweep.json").unlink()
    (root / "1-hard-seed1" / "run.json").unlink()
    assert folder.create_or_complete(planned(), root).changed == []
    assert [row.status for row in ledger.read(root).runs] == ["planned"] * 4
    assert (root / "1-hard-seed1" / "run.json").is_file()


def test_seeds_that_are_none_are_named_where_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, SMALL.replace("seeds: 1,2", "seeds: 1..3"))
    with pytest.raises(ConfigError) as caught:
        planned()
    assert str(caught.value).endswith("mine.yaml: seeds: seed must be a whole number, got '1..3'")
    assert planned("seed=1,2").stated.seeds == [1, 2]
    written(tmp_path)
    with pytest.raises(ConfigError) as caught:
        planned("seed=1..3")
    assert str(caught.value) == "command line: seed must be a whole number, got '1..3'"


@pytest.mark.slow
def test_a_folder_of_another_study_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    written(tmp_path, name="other")
    folder.create_or_complete(planned(), tmp_path / "here")
    other = arms.plan("other", file.read("other"), [])
    with pytest.raises(ConfigError, match="holds the study mine, not other"):
        folder.create_or_complete(other, tmp_path / "here")


@pytest.mark.slow
def test_a_damaged_study_json_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    root = Path("here")
    folder.create_or_complete(planned(), root)
    (root / "study.json").write_text("{")
    with pytest.raises(Exception, match=r"study\.json: cannot be read"):
        folder.create_or_complete(planned(), root)
    (root / "study.json").write_text(json.dumps({"study": "mine"}))
    with pytest.raises(Exception, match="missing key stated"):
        folder.create_or_complete(planned(), root)


def test_the_cost_is_that_of_all_runs_or_not_known() -> None:
    trainer = dataclasses.replace(RunConfig().trainer, steps=300, conversations=8)
    tabular = PolicyConfig(name="tabular", kind="tabular")
    a_run = 1.7 + 21 * 2 * 0.11 + 300 * 8 * 1.0e-3
    configs = [RunConfig(policy=tabular, trainer=trainer)] * 4
    assert cost.cpu_hours(configs) == pytest.approx(4 * a_run / 3600)
    assert "(1 ms a conversation and 0.11 s an evaluation" in cost.sentence(configs)
    other = [*configs, RunConfig(policy=PolicyConfig(name="mine"))]
    said = "not known, since policy=mine, simulator=scripted has not been measured"
    assert said in cost.sentence(other)
    tiny = RunConfig(policy=PolicyConfig())
    assert "tabular: 1 ms a conversation" in cost.sentence([*configs, tiny])
    for wider in (PolicyConfig(hidden_size=1024), PolicyConfig(max_turn_tokens=256)):
        said = "policy=tiny, simulator=scripted in this shape, or on a GPU, has not been measured"
        assert said in cost.sentence([tiny, RunConfig(policy=wider)])


def test_a_link_that_is_added_or_taken_away_is_one_sentence() -> None:
    link = {"quantity": "gain", "arm": "hard", "margin": 0.05, "given": None}
    before, now = {"links": {"old": link}}, {"links": {"new": {**link, "arm": "medium"}}}
    assert folder.changes(before, now) == [
        "links.new: added, quantity gain, arm medium, margin 0.05, given none",
        "links.old: removed, was quantity gain, arm hard, margin 0.05, given none",
    ]


def test_one_seed_decides_nothing_and_a_study_says_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    assert next(arms.warnings(planned("seed=1"))) == (
        "seed: no link is decided with fewer than 2 seeds, got 1"
    )


def test_arms_that_are_the_same_runs_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, SMALL.replace("links:", "  easier: [difficulty=medium]\nlinks:"))
    enough = planned("trainer.steps=16", "trainer.eval_every=1")
    said = "arms: medium and easier are the same runs, so they cannot differ"
    assert list(arms.warnings(enough)) == [said]


def test_a_best_of_more_arms_than_the_other_side_has_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = "  harder: [difficulty=hard, difficulty.threshold=2]\nlinks:"
    best = f"{more[:-6]}best: {{at_best: [hard, harder], as_good: [medium, harder]}}\nlinks:"
    for against, said in (("medium", ["best: hard gains less: must choose"]), ("as_good", [])):
        link = {"arm: hard,": "arm: at_best,", "against: medium": f"against: {against}"}
        text = SMALL.replace("links:", best)
        for old, new in link.items():
            assert old in text
            text = text.replace(old, new)
        written(tmp_path, text)
        found = list(arms.warnings(planned("trainer.steps=16", "trainer.eval_every=1")))
        assert [sentence[: len("best: hard gains less: must choose")] for sentence in found] == said
        assert all("on either side, got 2 and 1; if all arms are equal" in f for f in found)


def test_the_links_that_decide_are_told_of_only_where_they_are_named() -> None:
    link = {"quantity": "gain"}
    both = {"links": {"a b": link, "c": link}, "deciding": ["a b", "c"]}
    assert folder.without_implied({"links": {"c": link}, "deciding": ["c"]}) == {
        "links": {"c": link}
    }
    assert "deciding" not in folder.without_implied(both)
    named = {**both, "deciding": ["c"]}
    assert folder.changes(
        folder.without_implied(named), folder.without_implied({**named, "deciding": ["c", "a b"]})
    ) == ["deciding: c became c, a b"]


def test_after_the_runs_of_a_study_comes_its_judgement(tmp_path: Path) -> None:
    done = Sweep(str(tmp_path), {}, [], ())
    assert list(status.closing_lines(done, 0))[-1] == f"next: `harness fit-entropy-law {tmp_path}`"
    (tmp_path / study_file.FILE).touch()
    assert list(status.closing_lines(done, 0))[-1] == (
        "next: repeat the `harness study` command that planned these runs, to judge them"
    )


@pytest.mark.parametrize(
    ("trainer", "size", "count", "share"),
    [
        ({"steps": 21, "eval_every": 10}, {}, 3, 2),
        ({"steps": 21, "eval_every": 10}, {"deaf": False}, 3, 1),
        ({"steps": 21, "eval_every": 0}, {}, 0, 1),
        ({"steps": 100}, {"deaf": False}, 21, 1),
        ({"steps": 25, "eval_every": 10}, {"at_start": False, "users": 16}, 3, 1 / 2),
        ({"steps": 25, "eval_every": 10}, {"levels": ["hard"], "repeats": 2}, 4, 4 / 3),
    ],
)
def test_an_evaluation_costs_what_its_size_says(
    trainer: dict[str, Any], size: dict[str, Any], count: int, share: float
) -> None:
    tabular = PolicyConfig(name="tabular", kind="tabular")
    config = RunConfig(policy=tabular, trainer=TrainerConfig(**trainer), eval=EvalConfig(**size))
    assert cost.evaluations(config) == count
    rung = cost.MEASURED["tabular"]
    talk = config.trainer.steps * config.trainer.conversations * rung.conversation
    spent = rung.start + talk + count * share * rung.evaluation
    assert cost.cpu_hours([config]) == pytest.approx(spent / 3600)


@pytest.mark.slow
def test_looks_that_are_damaged_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    folder.create_or_complete(planned(), tmp_path / "here")
    path = tmp_path / "here" / "study.json"
    for looks, said in (
        ([{"pairs": {}}], "missing key looks[0].spent"),
        ([{"pairs": {"x": [1]}, "spent": {}}], "looks[0].pairs.x must be a list of text"),
    ):
        path.write_text(json.dumps({**json.loads(path.read_text()), "looks": looks}))
        with pytest.raises(DataError) as error:
            study_file.read(tmp_path / "here")
        assert said in str(error.value)


def test_the_most_seeds_that_are_stated_are_a_number_and_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, SMALL.replace("links:", "most_seeds: 3\nlinks:"))
    enough = planned("trainer.steps=16", "trainer.eval_every=1")
    assert enough.stated.most_seeds == 3
    assert list(arms.warnings(enough)) == []
    beyond = planned("trainer.steps=16", "trainer.eval_every=1", "seed=range(1,6)")
    assert next(arms.warnings(beyond)) == (
        "most_seeds: the last look was stated to be at 3 seeds; a later one decides no link, got 5 "
        "seeds"
    )
    for bad in ("1", "many", "2.5", "true"):
        written(tmp_path, SMALL.replace("links:", f"most_seeds: {bad}\nlinks:"))
        with pytest.raises(ConfigError, match="most_seeds must be a whole number from 2 to 1000"):
            planned()


def test_a_most_that_is_not_stated_is_no_change() -> None:
    before = {"links": {"c": {}}, "deciding": ["c"]}
    now = {**before, "most_seeds": None}
    assert folder.without_implied(before) == folder.without_implied(now)
    assert folder.changes(
        folder.without_implied(before), folder.without_implied({**now, "most_seeds": 9})
    ) == ["most_seeds: added, 9"]
