"""The best of several arms, and whether it lies at the edge of their grid."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from harness.config.run import RunConfig
from harness.law.compare.study_outcome import StudyOutcome
from harness.records.study_file import EVALUATION
from harness.report.text import study_notes
from tests.study.made import GAIN as LINK
from tests.study.made import HARD, MEDIUM, ON_HARD, Course, study_of

CANDIDATES = ["slow", "middle", "fast"]
RATES = dict(zip(CANDIDATES, (1.0, 3.0, 9.0), strict=True))


def at_rate(rate: float, conversations: int = 64) -> RunConfig:
    return dataclasses.replace(
        HARD,
        algorithm=dataclasses.replace(HARD.algorithm, learning_rate=rate),
        trainer=dataclasses.replace(HARD.trainer, conversations=conversations),
    )


def judged(folder: Path, best: str, made: dict[str, RunConfig]) -> StudyOutcome:
    """Judge a study of two seeds in which the arm `best` gains most."""
    arms = {
        name: (config, [Course(gain=0.3 if name == best else 0.1)] * 2)
        for name, config in made.items()
    }
    link = dataclasses.replace(LINK, arm="hard_best")
    return study_of(
        folder,
        {"medium": (MEDIUM, [Course()] * 2), **arms},
        [link],
        best={"hard_best": CANDIDATES},
    )


@pytest.mark.parametrize(
    ("best", "side", "note"),
    [
        ("slow", "smallest", "; it has the smallest algorithm.learning_rate of these, 1, so a "),
        ("middle", None, ""),
        ("fast", "largest", "; it has the largest algorithm.learning_rate of these, 9, so a "),
    ],
)
def test_a_best_arm_at_the_edge_of_its_grid_is_named(
    tmp_path: Path, best: str, side: str | None, note: str
) -> None:
    outcome = judged(tmp_path, best, {name: at_rate(rate) for name, rate in RATES.items()})
    assert outcome.chosen == {"hard_best": best}
    edge = {"key": "algorithm.learning_rate", "value": RATES[best], "side": side}
    assert outcome.to_json()["best_at_edge"] == ({"hard_best": edge} if side else {})
    rest = "better one may lie beyond" if side else ""
    said = f"hard_best is {best}, the best of slow, middle, fast on {EVALUATION}{note}{rest}"
    assert said in list(study_notes.notes(outcome))


@pytest.mark.parametrize(("evaluation", "best"), [(EVALUATION, "slow"), (ON_HARD, "fast")])
def test_the_best_arm_is_chosen_on_the_evaluation_of_its_first_link(
    tmp_path: Path, evaluation: str, best: str
) -> None:
    courses = {
        "slow": Course(gain=0.3, gain_on_hard=0.1),
        "middle": Course(gain=0.2, gain_on_hard=0.2),
        "fast": Course(gain=0.1, gain_on_hard=0.3),
    }
    links = [
        dataclasses.replace(LINK, arm="hard_best", evaluation=evaluation),
        dataclasses.replace(LINK, name="beside", arm="hard_best"),
    ]
    arms = {name: (at_rate(rate), [courses[name]] * 2) for name, rate in RATES.items()}
    medium = (MEDIUM, [Course(gain_on_hard=0.3)] * 2)
    outcome = study_of(tmp_path, {"medium": medium, **arms}, links, best={"hard_best": CANDIDATES})
    assert outcome.chosen == {"hard_best": best}
    notes = "\n".join(study_notes.notes(outcome))
    assert f"hard_best is {best}, the best of slow, middle, fast on {evaluation};" in notes


def test_arms_that_differ_in_more_than_one_number_have_no_edge(tmp_path: Path) -> None:
    made = {name: at_rate(rate) for name, rate in RATES.items()}
    outcome = judged(tmp_path, "fast", {**made, "fast": at_rate(9.0, conversations=32)})
    assert outcome.chosen == {"hard_best": "fast"}
    assert outcome.edges == {}
