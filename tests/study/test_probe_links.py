"""Links on what a probe found: planted answers of known numbers, and answers that are missing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError
from harness.law.compare import other_study, quantities
from harness.law.compare.study_outcome import StudyOutcome
from harness.probes import answer_files
from harness.probes.over_users import ProbeEstimate
from harness.probes.results import START, ProbeReading, ProbeResult
from harness.records import probe_answer, provenance, study_file
from harness.records.study_file import Link, LinkProbe
from harness.report import write
from harness.report.text import link_words, study_notes
from harness.study import folder, last_look
from tests.present import present
from tests.study.made import Arms, Course, N, config, record_of, study_of

SAD = "takes up a true fact, sad"
ASKED = LinkProbe("reliability", "told facts", "share of replies", 0, 0, 200)
LESS = Link("less true", SAD, "trait", "behaviour", "less", 0.05, probe=ASKED)
CHANGES: Mapping[str, Mapping[int, float]] = {
    "trait": {1: -0.20, 2: -0.22, 3: -0.18, 4: -0.21},
    "behaviour": {1: 0.01, 2: 0.03, 3: 0.00, 4: 0.02},
    "trait_null": {1: -0.02, 2: -0.01, 3: 0.01, 4: 0.0},
    "behaviour_null": {1: 0.01, 2: 0.0, 3: -0.01, 4: 0.02},
}


def probed(change: float | None, step: int = N, **other: Any) -> ProbeResult:
    """What the probe would say of a run whose fidelity changed by so much."""
    moved = (
        ProbeEstimate(None)
        if change is None
        else ProbeEstimate(change, change - 0.05, change + 0.05)
    )
    before = ProbeEstimate(0.4, 0.3, 0.5)
    place = ("told facts", "takes up a true fact", "sad", "share of replies")
    after = ProbeEstimate(None) if change is None else ProbeEstimate(0.4 + change, None, None)
    return replace(
        ProbeResult(
            "reliability", "Is it true?", "run", "start", (ProbeReading(*place, START, before),),
            (step,), 0, 0, 0, (ProbeReading(*place, step, after, moved),), items=200,
            checkpoints={str(step): "0" * 64}, made_by=provenance.current_versions(),
        ),
        **other,
    )  # fmt: skip


def study(
    root: Path, link: Link = LESS, answer: Callable[[str, int], ProbeResult | None] | None = None
) -> StudyOutcome:
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
    def answer(arm: str, seed: int) -> ProbeResult | None:
        return probed(CHANGES[arm][seed], 40 if (arm, seed) == ("trait_null", 2) else N)

    (judged,) = study(tmp_path, replace(LESS, net_of_null=True), answer).links
    assert set(judged.by_seed) == {1, 3, 4}
    (name,) = judged.unanswered
    assert "trait_null-seed2" in name
    assert judged.unanswered[name] == (f"the probe was asked at step 40, but step {N} is compared")


def test_what_is_not_answered_as_stated_is_missing_counted_and_named(tmp_path: Path) -> None:
    told: dict[tuple[str, int], ProbeResult | None] = {
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
        "the probe was asked differently from what is stated: items 40 instead of 200",
        "the probe measured no such change",
    ]
    remark = next(line for line in study_notes.notes(outcome) if line.startswith("less true: "))
    assert "no number for 3 runs: 0-trait-seed1: the probe was not asked, or failed; " in remark
    assert outcome.to_json()["links"][0]["unanswered"] == judged.unanswered


def test_a_damaged_answer_is_missing_and_says_what_it_must_be(tmp_path: Path) -> None:
    study(tmp_path)
    path = probe_answer.path_of(tmp_path / "0-trait-seed1", "reliability")
    value = json.loads(path.read_text())
    value["readings"][0]["change"]["value"] = "much"
    path.write_text(json.dumps(value))

    def keep(arm: str, seed: int) -> ProbeResult | None:
        return None if (arm, seed) == ("trait", 1) else probed(CHANGES[arm][seed])

    (judged,) = study(tmp_path, answer=keep).links
    (why,) = judged.unanswered.values()
    assert why.startswith(f"{path}: must be what `harness probe` writes, got ")
    assert why.endswith("a change must be a finite number or null, got 'much'")
    assert judged.pairs == 3


def test_the_statement_the_picture_and_its_table_name_probe_and_unit(tmp_path: Path) -> None:
    outcome = study(tmp_path, replace(LESS, net_of_null=True))
    words = "change of 'takes up a true fact, sad' (reliability, told facts)"
    assert link_words.statement(outcome.links[0].link) == (
        f"{words} is less in trait than in behaviour, net of the null controls"
    )
    assert link_words.measured_quantity(outcome.links[0].link) == f"{words}, share of replies"
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
    stated = study_file.StudyStatement("?", "us", [1], [], {"a": []}, [plain], [], ["l"], {}, None)
    values = study_file.to_plain(stated)["links"]["l"]
    assert list(values) == [
        "quantity", "arm", "against", "direction", "margin", "evaluation", "net_of_null", "given",
        "spread",
    ]  # fmt: skip
    assert folder.changes({"links": {"l": values}}, {"links": {"l": values}}) == []
    assert quantities.of_link(plain) is quantities.QUANTITIES["gain"]
