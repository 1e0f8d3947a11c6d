"""A study as it was last judged, read from its folder without another look."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.law.compare import other_study
from harness.law.compare.study_outcome import StudyOutcome
from harness.records import study_file
from harness.records.study_file import Link
from harness.report.html import answer
from harness.report.html.answer import ReportedStudy
from harness.report.tables import other_study as other_study_table
from harness.study import last_look
from tests.present import present
from tests.study.made import Arms, Course, config, record_of, study_of

LESS = Link("hard gains less", "gain", "hard", "medium", "less", 0.05)


def arms(seeds: int) -> Arms:
    return {
        "medium": (config("medium", 1, False), [Course(gain=0.5)] * seeds),
        "hard": (config("hard", 1, False), [Course(gain=0.2)] * seeds),
    }


def written(root: Path, seeds: int = 4) -> StudyOutcome:
    """A study that was judged once, with all its files."""
    outcome = study_of(root, arms(seeds), [LESS])
    record_of(root, outcome, seeds)
    (root / "study").mkdir(exist_ok=True)
    (root / "study" / "result.json").write_text(json.dumps(outcome.to_json()))
    return outcome


def test_it_is_the_outcome_that_was_written(tmp_path: Path) -> None:
    outcome = written(tmp_path)
    found = last_look.read(tmp_path)
    assert found.notes == []
    assert found.outcome is not None
    assert found.outcome.verdict == outcome.verdict == "supported"
    again = json.loads(json.dumps(found.outcome.to_json()))
    assert again == json.loads((tmp_path / "study" / "result.json").read_text())


def test_the_other_study_is_told_as_it_was_beside_the_verdict(tmp_path: Path) -> None:
    written(tmp_path / "second", 5)
    outcome = written(tmp_path / "first")
    other = other_study.read(tmp_path / "second", "made", [LESS])
    both = replace(outcome, comparison=other_study.compare_studies(outcome.links, other))
    (tmp_path / "first" / "study" / "result.json").write_text(json.dumps(both.to_json()))
    found = last_look.read(tmp_path / "first")
    assert present(found.outcome).comparison == both.comparison
    told = answer.of_study(ReportedStudy(found.study, found.stated, found.outcome, found.notes))
    assert told.tables[1].caption == "The same study elsewhere"
    assert other_study_table.agreement(present(both.comparison)) in told.sentences


def test_what_is_kept_of_another_study_and_damaged_is_refused(tmp_path: Path) -> None:
    damaged = {**written(tmp_path).to_json(), "beside": {"path": "elsewhere"}}
    (tmp_path / "study" / "result.json").write_text(json.dumps(damaged))
    rule = "result.json: must hold what a study states; got KeyError: 'links'"
    with pytest.raises(DataError, match=rule):
        last_look.read(tmp_path)


@pytest.mark.parametrize("before", [{}, {"top": ["hard"]}])
def test_arms_of_best_that_were_added_later_are_those_that_were_judged(
    tmp_path: Path, before: dict[str, list[str]]
) -> None:
    made = {**arms(4), "easy": (config("easy", 1, False), [Course(gain=0.7)] * 4)}
    link = Link("top ends higher", "final_reward", "top", "medium", "more", 0.05)
    best = {"top": ["hard", "easy"]}
    outcome = study_of(tmp_path, made, [link], best=best, rival="starved")
    record_of(tmp_path, outcome, 4)
    record = study_file.read(tmp_path)
    first = {**record.stated, "best": before, "rival": None, "source": "somebody else"}
    study_file.write(tmp_path, replace(record, stated=first))
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "result.json").write_text(json.dumps(outcome.to_json()))
    found = last_look.read(tmp_path)
    assert present(found.outcome).chosen == {"top": "easy"}
    assert present(found.outcome).links[0].judged == outcome.links[0].judged
    assert (found.stated.best, found.stated.rival, found.stated.source) == (
        best, "starved", "made up"
    )  # fmt: skip


def test_reading_spends_no_error(tmp_path: Path) -> None:
    written(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    last_look.read(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


def test_runs_that_finished_since_are_counted_and_not_judged(tmp_path: Path) -> None:
    outcome = written(tmp_path, 4)
    study_of(tmp_path / "more", {"medium": arms(6)["medium"], "hard": arms(6)["hard"]}, [LESS])
    for arm in ("medium", "hard"):
        for seed in (5, 6):
            (source,) = (tmp_path / "more").glob(f"*-{arm}-seed{seed}")
            number = len(list(tmp_path.glob("*-seed*")))
            shutil.move(source, tmp_path / f"{number}-{arm}-seed{seed}")
    shutil.rmtree(tmp_path / "more")
    record_of(tmp_path, outcome, 6)
    found = last_look.read(tmp_path)
    assert found.outcome is not None
    assert found.outcome.links[0].pairs == 4
    assert found.notes[0].startswith("4 runs have finished since the last look")


@pytest.mark.parametrize("kept", [("medium", "hard"), ("medium",)])
def test_a_study_planned_otherwise_since_then_is_not_judged_on_a_part(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    written(tmp_path, 6)
    record = study_file.read(tmp_path)
    fewer = {arm: {seed: record.arms[arm][seed] for seed in ("1", "2", "3")} for arm in kept}
    study_file.write(tmp_path, replace(record, arms=fewer))
    found = last_look.read(tmp_path)
    assert found.outcome is None
    assert found.notes == [
        "planned with other seeds or arms since it was judged: supported, in study/result.json; "
        "`harness study made` judges it as it is planned now"
    ]


def test_before_it_is_judged_only_what_was_stated_is_told(tmp_path: Path) -> None:
    outcome = study_of(tmp_path, arms(4), [LESS])
    record_of(tmp_path, outcome, 4, judged_at=False)
    found = last_look.read(tmp_path)
    assert found.outcome is None
    told = answer.of_study(ReportedStudy(found.study, found.stated, None, found.notes))
    assert told.verdict == "not judged"
    assert told.sentences[0].startswith("not judged yet: `harness study made`")
    assert any("hard gains less: gain of reward" in note for note in told.notes)


def test_what_this_version_finds_otherwise_is_said(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "study" / "result.json"
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "verdict": "contradicted"}))
    (note,) = last_look.read(tmp_path).notes
    assert note == (
        "study/result.json says contradicted, this version finds supported on the same runs"
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("study.json", "{}"),
        ("study.json", '{"schema": 1, "study": "x", "stated": {}, "changed": [], "arms": {}}'),
        ("sweep.json", "no"),
    ],
)
def test_damage_is_said_by_file_and_rule(tmp_path: Path, file: str, text: str) -> None:
    written(tmp_path)
    (tmp_path / file).write_text(text)
    with pytest.raises(DataError, match=re.escape(file)):
        last_look.read(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("arms", 3), ("links", [{"name": "x"}]), ("deciding", None), ("seeds", 5), ("best", ["z"])],
)
def test_a_result_of_another_shape_is_no_bug(tmp_path: Path, key: str, value: object) -> None:
    written(tmp_path)
    path = tmp_path / "study" / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    try:
        found = last_look.read(tmp_path)
    except DataError:
        return
    assert found.outcome is not None


def test_a_damaged_result_is_as_one_that_is_not_there(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "study" / "result.json").write_text("{")
    assert last_look.read(tmp_path).outcome is None


def test_the_page_of_a_study_opens_with_its_verdict(tmp_path: Path) -> None:
    written(tmp_path)
    found = last_look.read(tmp_path)
    told = answer.of_study(ReportedStudy(found.study, found.stated, found.outcome, found.notes))
    assert (told.verdict, told.kind) == ("supported", "yes")
    assert told.title.endswith("Is it so?")
    (links,) = told.tables
    assert links.rows[0].cells[-1].lines == ("supported",)
    (chart,) = told.charts
    assert len(chart.columns[0][0].hovered[0].x) == 4
