"""Links on what a probe found: planted answers of known numbers, and what is refused or missing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ConfigError, DataError, StoppedError
from harness.execution import stop_requests
from harness.law.compare import other_study, quantities
from harness.law.compare.study_outcome import Outcome
from harness.probes import answer_files
from harness.probes.over_users import Estimate
from harness.probes.results import START, Probed, Reading
from harness.records import probe_answer, provenance, study_file
from harness.records.study_file import Link, OfProbe
from harness.report import write
from harness.report.tables import study as table
from harness.study import answers, arms, file, folder, last_look
from harness.study.answers import Wanted
from tests.present import present
from tests.study.made import Arms, Course, N, config, study_of
from tests.study.test_last_look import record_of
from tests.study.test_study_command import SMALL, written

SAD = "takes up a true fact, sad"
ASKED = OfProbe("reliability", "told facts", "share of replies", 0, 0, 200)
LESS = Link("less true", SAD, "trait", "behaviour", "less", 0.05, probe=ASKED)
CHANGES: Mapping[str, Mapping[int, float]] = {
    "trait": {1: -0.20, 2: -0.22, 3: -0.18, 4: -0.21},
    "behaviour": {1: 0.01, 2: 0.03, 3: 0.00, 4: 0.02},
    "trait_null": {1: -0.02, 2: -0.01, 3: 0.01, 4: 0.0},
    "behaviour_null": {1: 0.01, 2: 0.0, 3: -0.01, 4: 0.02},
}


def probed(change: float | None, step: int = N, **other: Any) -> Probed:
    """What the probe would say of a run whose fidelity changed by so much."""
    moved = Estimate(None) if change is None else Estimate(change, change - 0.05, change + 0.05)
    before = Estimate(0.4, 0.3, 0.5)
    place = ("told facts", "takes up a true fact", "sad", "share of replies")
    after = Estimate(None) if change is None else Estimate(0.4 + change, None, None)
    return replace(
        Probed(
            "reliability", "Is it true?", "run", "start", (Reading(*place, START, before),),
            (step,), 0, 0, 0, (Reading(*place, step, after, moved),), items=200,
            checkpoints={str(step): "0" * 64}, made_by=provenance.now(),
        ),
        **other,
    )  # fmt: skip


def study(
    root: Path, link: Link = LESS, answer: Callable[[str, int], Probed | None] | None = None
) -> Outcome:
    """Four arms of four seeds whose answers lie in their folders, written as the probe does."""

    def beside(run: Path, arm: str, seed: int) -> None:
        own = probed(CHANGES[arm][seed]) if answer is None else answer(arm, seed)
        if own is not None:
            answer_files.write(own, run / "probes" / "reliability", ())

    made: Arms = {
        arm: (config("medium" if "trait" in arm else "hard", 1, "null" in arm), [Course()] * 4)
        for arm in CHANGES
    }
    return study_of(root, made, [link], beside=beside)


def test_the_difference_is_that_of_the_planted_changes(tmp_path: Path) -> None:
    outcome = study(tmp_path)
    (judged,) = outcome.links
    expected = {s: CHANGES["trait"][s] - CHANGES["behaviour"][s] for s in range(1, 5)}
    assert judged.by_seed == pytest.approx(expected)
    assert (judged.verdict, judged.pairs, judged.unanswered) == ("supported", 4, {})
    assert present(judged.own["trait"]).value == pytest.approx(-0.2025)
    (link,) = outcome.to_json()["links"]
    assert (link["quantity"], link["unit"]) == (SAD, "share of replies")
    assert link["probe"] == {
        "name": "reliability", "level": "told facts", "unit": "share of replies", "users": 0,
        "repeats": 0, "items": 200,
    }  # fmt: skip


def test_null_controls_are_taken_off_as_of_any_other_quantity(tmp_path: Path) -> None:
    (judged,) = study(tmp_path, replace(LESS, net_of_null=True)).links
    net = {
        s: (CHANGES["trait"][s] - CHANGES["trait_null"][s])
        - (CHANGES["behaviour"][s] - CHANGES["behaviour_null"][s])
        for s in range(1, 5)
    }
    assert judged.by_seed == pytest.approx(net)
    assert present(judged.plain_by_seed)[1] == pytest.approx(-0.21)


def test_a_null_control_that_ended_early_leaves_its_pair_without_a_number(tmp_path: Path) -> None:
    def answer(arm: str, seed: int) -> Probed | None:
        return probed(CHANGES[arm][seed], 40 if (arm, seed) == ("trait_null", 2) else N)

    (judged,) = study(tmp_path, replace(LESS, net_of_null=True), answer).links
    assert set(judged.by_seed) == {1, 3, 4}
    (name,) = judged.unanswered
    assert "trait_null-seed2" in name
    assert judged.unanswered[name] == (f"the probe was asked of step 40, and step {N} is compared")


def test_what_is_not_answered_as_stated_is_missing_counted_and_named(tmp_path: Path) -> None:
    told: dict[tuple[str, int], Probed | None] = {
        ("trait", 1): None,
        ("trait", 2): probed(-0.2, items=40),
        ("behaviour", 3): probed(None),
    }
    outcome = study(
        tmp_path, answer=lambda arm, seed: told.get((arm, seed), probed(CHANGES[arm][seed]))
    )
    (judged,) = outcome.links
    assert set(judged.by_seed) == {4}
    assert list(judged.unanswered.values()) == [
        "the probe was not asked, or failed",
        "the probe was asked otherwise than stated, items 40 instead of 200",
        "the probe measured no such change",
    ]
    remark = next(line for line in table.notes(outcome) if line.startswith("less true: "))
    assert "no number of 3 runs: 0-trait-seed1: the probe was not asked, or failed; " in remark
    assert outcome.to_json()["links"][0]["unanswered"] == judged.unanswered


def test_a_damaged_answer_is_missing_and_says_what_it_must_be(tmp_path: Path) -> None:
    study(tmp_path)
    path = probe_answer.path_of(tmp_path / "0-trait-seed1", "reliability")
    value = json.loads(path.read_text())
    value["readings"][0]["change"]["value"] = "much"
    path.write_text(json.dumps(value))

    def keep(arm: str, seed: int) -> Probed | None:
        return None if (arm, seed) == ("trait", 1) else probed(CHANGES[arm][seed])

    (judged,) = study(tmp_path, answer=keep).links
    (why,) = judged.unanswered.values()
    assert why.startswith(f"{path}: must be what `harness probe` writes, got ")
    assert why.endswith("a change must be a finite number or null, got 'much'")
    assert judged.pairs == 3


def test_the_statement_the_picture_and_its_table_name_probe_and_unit(tmp_path: Path) -> None:
    outcome = study(tmp_path, replace(LESS, net_of_null=True))
    words = "change of 'takes up a true fact, sad' (reliability, told facts)"
    assert table.statement(outcome.links[0].link) == (
        f"{words} of trait is less than that of behaviour, net of the null controls"
    )
    assert table.measured(outcome.links[0].link) == f"{words}, share of replies"
    write.write_study(outcome, tmp_path / "study", ("png",))
    with (tmp_path / "study" / "links.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert row["link"] == "less true"
    told = [row[key] for key in ("unit", "probe", "level")]
    assert told == ["share of replies", "reliability", "told facts"]


@pytest.mark.parametrize("link", [LESS, replace(LESS, spread=True)])
def test_the_last_look_judges_the_answers_in_the_folder_again(link: Link, tmp_path: Path) -> None:
    outcome = study(tmp_path, link)
    record_of(tmp_path, outcome, 4)
    write.write_study(outcome, tmp_path / "study", ())
    found = last_look.read(tmp_path).outcome
    assert found is not None
    assert found.links[0].link == link
    assert found.links[0].by_seed == outcome.links[0].by_seed
    assert found.to_json() == outcome.to_json()


def test_a_study_on_other_users_is_set_beside_one_of_the_same_reading(tmp_path: Path) -> None:
    outcome = study(tmp_path / "here")
    write.write_study(outcome, tmp_path / "here" / "study", ())
    other = other_study.read(tmp_path / "here", "made", [LESS])
    assert other.effects == {"less true": outcome.links[0].judged}
    level = replace(LESS, probe=replace(ASKED, level="another"))
    with pytest.raises(DataError, match="must state 'less true' as here"):
        other_study.read(tmp_path / "here", "made", [level])


def test_a_statement_is_read_back_as_it_was(tmp_path: Path) -> None:
    stated = study_file.to_plain(study(tmp_path).stated)
    (values,) = stated["links"].values()
    assert study_file.link_of("less true", values) == LESS


def test_a_link_without_a_probe_is_written_as_before_there_were_any() -> None:
    plain = Link("l", "gain", "a", "b", "less", 0.1)
    stated = study_file.Stated("?", "us", [1], [], {"a": []}, [plain], [], ["l"], {}, None)
    values = study_file.to_plain(stated)["links"]["l"]
    assert list(values) == [
        "quantity", "arm", "against", "direction", "margin", "evaluation", "net_of_null", "given",
        "spread",
    ]  # fmt: skip
    assert folder.changes({"links": {"l": values}}, {"links": {"l": values}}) == []
    assert quantities.of_link(plain) is quantities.QUANTITIES["gain"]


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
        "other intentions, other temperaments: difficulty.intentions and difficulty.temperaments "
        "leave none out that training did not meet",
    ),
    "an evaluation": (
        READING + "evaluation: eval/hard/reward, ", "",
        "links.hard gains less.evaluation goes without probe, whose link has its level, got "
        "'eval/hard/reward'",
    ),
    "a level without a probe": (
        GAIN + "level: hard, ", "",
        "links.hard gains less.level goes with probe; another link has its evaluation, got 'hard'",
    ),
    "an onset": (
        READING.replace("less", "earlier"), "",
        "links.hard gains less.direction must be less or more but of an onset, got 'earlier'",
    ),
    "too few users": (
        READING, "probes: {grounding: {users: 2}}\n",
        "links.hard gains less: arms.hard: users must be at least 3, got 2",
    ),
    "items of a probe that meets users": (
        READING, "probes: {grounding: {first: 5}}\n",
        "arms.hard: first must go with another probe, since grounding meets users, got 5",
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
        "hard gains less: net_of_null needs null controls of hard and medium, which no arm is",
    ),
}  # fmt: skip


def planned(cwd: Path, link: str, top: str, monkeypatch: pytest.MonkeyPatch) -> arms.Planned:
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
         "simulator=second keeps no account of trust"),
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
    assert link.probe == OfProbe("grounding", "hard", "per 100 replies", 8, 2, None)
    assert link.evaluation == "eval/hard/reward"


def test_null_controls_are_asked_too_where_a_link_is_net_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(tmp_path, READING, "null_controls: true\n", monkeypatch)
    assert list(answers.of_arms(plan)) == ["hard", "medium"]
    net = READING + "net_of_null: true, "
    plan = planned(tmp_path, net, "null_controls: true\n", monkeypatch)
    assert set(answers.of_arms(plan)) == {"hard", "medium", "hard_null", "medium_null"}


def test_nothing_is_asked_once_a_stop_was_asked_for(tmp_path: Path) -> None:
    stop_requests.request(tmp_path, stop_requests.STOP_RUNS)
    with pytest.raises(StoppedError, match="stopped while probes were asked"):
        answers.answer(tmp_path, Wanted(tmp_path / "none", "grounding", 8, 1, None))


def test_a_probe_that_fails_on_a_run_is_a_sentence(tmp_path: Path) -> None:
    why = answers.answer(tmp_path, Wanted(tmp_path / "none", "grounding", 8, 1, None))
    assert why is not None
    assert str(tmp_path / "none") in why
