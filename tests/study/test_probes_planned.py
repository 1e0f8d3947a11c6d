"""Probes of a study before they are asked: what is refused, and of which runs they are asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ConfigError, StoppedError
from harness.execution import stop_requests
from harness.records.study_file import LinkProbe
from harness.study import answers, arms, file
from harness.study.answers import RequiredProbe
from tests.study.made import SMALL, written

READING = "{probe: grounding, quantity: question, arm: hard, against: medium, direction: less, "
GAIN = "{quantity: gain, arm: hard, against: medium, direction: less, "
REFUSED = {
    "no such probe": (
        READING.replace("grounding", "groundng"), "",
        "links.hard gains less.probe must be one of alliance, drift, grounding, novelty, "
        "reliability, understanding, width, got 'groundng'; nearest: grounding",
    ),
    "no such reading": (
        READING.replace("question", "questions"), "",
        "links.hard gains less: arms.hard: quantity must be one of acts of grounding, question, "
        "restate, reflect, solving, solving just after a feeling, told after a question, told "
        "after other replies, got 'questions'; nearest: question",
    ),
    "no such level": (
        READING + "level: own, ", "",
        "links.hard gains less: arms.hard: level must be one of easy, medium, hard, got 'own'",
    ),
    "a policy that cannot be asked": (
        READING.replace("grounding", "reliability"), "",
        "links.hard gains less: arms.hard: probe reliability has nothing to ask: "
        "policy.kind=tabular: it chooses strategies, and the phrase grammar",
    ),
    "nothing that training left out": (
        READING.replace("grounding", "novelty"), "",
        "links.hard gains less: arms.hard: quantity must be one of \"reward, kinds of training\", "
        "\"unfamiliar minus familiar persona, kinds of training\", got 'question'; not measured: "
        "other intentions, other temperaments: training has all of difficulty.intentions and "
        "difficulty.temperaments",
    ),
    "an evaluation": (
        READING + "evaluation: eval/hard/reward, ", "",
        "links.hard gains less.evaluation cannot be combined with probe; use the key level, got "
        "'eval/hard/reward'",
    ),
    "a level without a probe": (
        GAIN + "level: hard, ", "",
        "links.hard gains less.level needs the key probe; other links have the key evaluation, "
        "got 'hard'",
    ),
    "an onset": (
        READING.replace("less", "earlier"), "",
        "links.hard gains less.direction must be less or more, except for an onset, got 'earlier'",
    ),
    "too few users": (
        READING, "probes: {grounding: {users: 2}}\n",
        "links.hard gains less: arms.hard: users must be at least 3, got 2",
    ),
    "items of a probe that meets users": (
        READING, "probes: {grounding: {first: 5}}\n",
        "arms.hard: first must be given with another probe, since grounding uses users, got 5",
    ),
    "more tries than there are": (
        READING.replace("grounding, quantity: question", "width, quantity: best of 8"),
        "probes: {width: {repeats: 4}}\n",
        "links.hard gains less: arms.hard: quantity ... got 'best of 8'; nearest: best of 4",
    ),
    "options of a probe that no link names": (
        GAIN, "probes: {grounding: {users: 8}}\n",
        "probes must name probes of the links, which name none, got 'grounding'",
    ),
    "an option that there is not": (
        READING, "probes: {grounding: {user: 8}}\n",
        "probes.grounding: a key must be one of users, repeats, first, got 'user'; nearest: users",
    ),
    "no number of users": (
        READING, "probes: {grounding: {users: many}}\n",
        "probes.grounding.users must be a whole number above 0, got 'many'",
    ),
    "net of no null": (
        READING + "net_of_null: true, ", "",
        "hard gains less: net_of_null needs null controls of hard and medium, got no such",
    ),
}  # fmt: skip


def planned(cwd: Path, link: str, top: str, monkeypatch: pytest.MonkeyPatch) -> arms.PlannedStudy:
    """The study SMALL with another link, planned in `cwd`."""
    text = SMALL.replace(GAIN, link)
    assert link == GAIN or text != SMALL
    written(cwd, text.replace("links:", f"{top}links:"))
    monkeypatch.chdir(cwd)
    return arms.plan("mine", file.read("mine"), [])


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_run_could_answer_is_refused_before_anything_is_made(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, top, said = REFUSED[case]
    with pytest.raises(ConfigError) as refused:
        planned(tmp_path, link, top, monkeypatch)
    for part in said.split(" ... "):
        assert part in str(refused.value)
    assert "mine.yaml: " in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["sweeps"]


@pytest.mark.parametrize(
    ("users", "probe", "said"),
    [
        ("simulator=second", "{probe: alliance, quantity: bond, ",
         "quantity must be one of goal, task, alliance, got 'bond'; not measured: bond: a user of "
         "simulator=second has no trust"),
        ("simulator=served", "{probe: novelty, quantity: question, ",
         "simulator.kind must be one that answers in this process for novelty, since its groups"),
    ],
)  # fmt: skip
def test_users_who_cannot_be_asked_are_refused(
    users: str, probe: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, SMALL.replace("{quantity: gain, ", probe))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as refused:
        arms.plan("mine", file.read("mine"), [users])
    assert said in str(refused.value)


def test_a_link_is_completed_by_what_its_runs_will_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = "probes: {grounding: {users: 8, repeats: 2}}\n"
    (link,) = planned(tmp_path, READING + "level: hard, ", top, monkeypatch).stated.links
    assert link.probe == LinkProbe("grounding", "hard", "per 100 replies", 8, 2, None)
    assert link.evaluation == "eval/hard/reward"


def test_null_controls_are_asked_too_where_a_link_is_net_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(tmp_path, READING, "null_controls: true\n", monkeypatch)
    assert list(answers.probes_of_arms(plan)) == ["hard", "medium"]
    net = READING + "net_of_null: true, "
    plan = planned(tmp_path, net, "null_controls: true\n", monkeypatch)
    assert set(answers.probes_of_arms(plan)) == {"hard", "medium", "hard_null", "medium_null"}


def test_nothing_is_asked_once_a_stop_was_asked_for(tmp_path: Path) -> None:
    stop_requests.request(tmp_path, stop_requests.STOP_RUNS)
    with pytest.raises(StoppedError, match="stopped while probes were asked"):
        answers.answer(tmp_path, RequiredProbe(tmp_path / "none", "grounding", 8, 1, None))


def test_a_probe_that_fails_on_a_run_is_a_sentence(tmp_path: Path) -> None:
    why = answers.answer(tmp_path, RequiredProbe(tmp_path / "none", "grounding", 8, 1, None))
    assert why is not None
    assert str(tmp_path / "none") in why
