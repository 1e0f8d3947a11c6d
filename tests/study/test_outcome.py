"""From runs of known courses to the links, the verdict and what speaks against it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from harness.law.compare import study_outcome
from harness.records.study_file import Link
from harness.report.text import study_notes
from tests.present import present
from tests.study.made import GAIN, HARD, MEDIUM, STEADY, Arms, Course, config, study_of

LOST = Link("falls further", "entropy_lost", "hard", "medium", "more", 0.1)
ONSET = Link("falls earlier", "probe_onset", "hard", "medium", "earlier", 0.1)
LEAD = Link("fall first", "lead", "hard", None, "more", 0.05)


def test_the_study_of_a_collapse_that_explains(tmp_path: Path) -> None:
    collapsing = [Course(gain=0.1, fall_at=0.3 + 0.02 * n, stop_at=0.6) for n in range(5)]
    late = [Course(gain=0.3, fall_at=0.7 + 0.02 * (n % 2), stop_at=0.8) for n in range(5)]
    arms = {"medium": (MEDIUM, late), "hard": (HARD, collapsing)}
    found = study_of(tmp_path, arms, [GAIN, LOST, LEAD])
    assert found.verdict == "supported"
    gain, lost, lead = (present(link.judged) for link in found.links)
    assert gain.value == pytest.approx(-0.2, abs=0.03)
    assert lead.value == pytest.approx(0.26, abs=0.1)
    assert lost.low > 0.3
    assert found.seeds_needed is None


def test_a_level_that_does_the_same_has_no_effect_and_one_that_does_more_contradicts(
    tmp_path: Path,
) -> None:
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, STEADY)}
    assert study_of(tmp_path / "same", arms, [GAIN]).verdict == "no effect"
    more = {
        "medium": (MEDIUM, STEADY),
        "hard": (HARD, [Course(gain=0.5 + 0.01 * n) for n in range(5)]),
    }
    assert study_of(tmp_path / "more", more, [GAIN]).verdict == "contradicted"


@pytest.mark.slow
def test_a_gain_that_the_null_control_has_too_is_no_gain(tmp_path: Path) -> None:
    """hard's null control loses as much against medium's as hard does against medium."""
    link = Link("hard gains less", "gain", "hard", "medium", "less", 0.05, net_of_null=True)
    weak = [Course(gain=0.1 + 0.01 * n) for n in range(5)]
    nulls = {
        "medium_null": (config("medium", 1, True), STEADY),
        "hard_null": (config("hard", 1, True), weak),
    }
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, weak)}
    found = study_of(tmp_path / "with", arms | nulls, [link])
    assert found.verdict == "no effect"
    assert present(found.links[0].plain).high < -0.15
    without = study_of(tmp_path / "without", arms, [link])
    assert (without.verdict, without.links[0].pairs) == ("undecided", 0)


def test_runs_without_an_onset_count_with_the_whole_of_the_run(tmp_path: Path) -> None:
    falls = [Course(fall_at=at, stop_at=at or 1.0) for at in (0.5, None, 0.6, 0.5)]
    arms = {"medium": (MEDIUM, [Course()] * 4), "hard": (HARD, falls)}
    (judged,) = study_of(tmp_path, arms, [ONSET]).links
    assert judged.censored == 5
    assert judged.by_seed[2] == 0.0
    assert judged.by_seed[1] == pytest.approx(-0.5, abs=0.1)


def test_a_fall_that_does_not_stop_the_reward_leads_nothing(tmp_path: Path) -> None:
    falls = [Course(fall_at=0.3 + 0.02 * n) for n in range(5)]
    (judged,) = study_of(tmp_path, {"hard": (HARD, falls)}, [LEAD]).links
    assert set(judged.by_seed.values()) == {0.0}
    assert judged.verdict == "undecided"


def test_without_any_onset_nothing_is_said_of_it(tmp_path: Path) -> None:
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, STEADY)}
    (judged,) = study_of(tmp_path, arms, [ONSET]).links
    assert (judged.verdict, judged.why) == ("undecided", "no run collapses")


def test_an_inactive_remedy_is_kept_out_and_counted(tmp_path: Path) -> None:
    remedied = [Course(gain=0.3, acted=0.0), *(Course(gain=0.3, acted=0.1) for _ in range(4))]
    hard = [Course(gain=0.1 + 0.01 * n) for n in range(5)]
    arms = {"hard": (HARD, hard), "cured": (config("hard", 1, False, "clip_cov"), remedied)}
    link = Link("restores", "gain", "cured", "hard", "more", 0.05)
    found = study_of(tmp_path, arms, [link])
    assert found.counts["cured"].inactive == 1
    assert found.links[0].pairs == 4
    assert 1 not in found.links[0].by_seed
    assert found.verdict == "supported"


def test_a_failed_run_is_counted_and_its_pair_is_missing(tmp_path: Path) -> None:
    hard = [None, *(Course(gain=0.1 + 0.01 * n) for n in range(4))]
    arms: Arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, hard)}
    found = study_of(tmp_path, arms, [GAIN])
    assert (found.counts["hard"].failed, found.links[0].pairs) == (1, 4)


def test_a_null_control_that_failed_takes_nothing_off(tmp_path: Path) -> None:
    """It has rows enough to be read, and is not done."""
    link = dataclasses.replace(GAIN, net_of_null=True)
    arms = {
        "medium": (MEDIUM, STEADY),
        "hard": (HARD, STEADY),
        "medium_null": (config("medium", 1, True), STEADY),
        "hard_null": (config("hard", 1, True), STEADY),
    }
    found = study_of(tmp_path, arms, [link], unfinished=("1-medium-seed2", "18-hard_null-seed4"))
    assert found.links[0].by_seed.keys() == {1, 3, 5}
    assert found.counts["hard_null"].failed == 1


def test_starved_runs_are_the_rival_explanation(tmp_path: Path) -> None:
    starved = [Course(gain=0.0, end=1.85, silent=0.8) for _ in range(5)]
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, starved)}
    found = study_of(tmp_path, arms, [GAIN], rival="starved")
    assert found.counts["hard"].starved == 5
    assert found.to_json()["rival"] == {"regime": "starved", "runs": 5, "of": 10}


def test_starvation_is_counted_in_the_arms_that_decide(tmp_path: Path) -> None:
    """Whichever arm a `best` is, and not in those of a link beside."""
    starved = [Course(gain=0.0, end=1.85, silent=0.8) for _ in range(2)]
    slow = dataclasses.replace(HARD, algorithm=dataclasses.replace(HARD.algorithm, learning_rate=1))
    arms = {
        "medium": (MEDIUM, STEADY[:2]),
        "hard": (HARD, starved),
        "hard_slow": (slow, STEADY[:2]),
        "easy": (config("easy", 1, False), starved),
    }
    links = [
        dataclasses.replace(GAIN, arm="hard_best"),
        dataclasses.replace(GAIN, name="beside", arm="easy"),
    ]
    best = {"hard_best": ["hard", "hard_slow"]}
    found = study_of(tmp_path, arms, links, best=best, deciding=[GAIN.name], rival="starved")
    assert found.chosen == {"hard_best": "hard_slow"}
    assert found.starved == (0, 4)


@pytest.mark.slow
def test_each_level_at_its_own_best_rate(tmp_path: Path) -> None:
    """hard is better at the slow rate; held against that, medium's lead is nothing."""
    courses = {"medium": 0.3, "medium_slow": 0.1, "hard": 0.1, "hard_slow": 0.3}
    made = {"medium": MEDIUM, "hard": HARD}
    for level in ("medium", "hard"):
        slow = dataclasses.replace(made[level].algorithm, learning_rate=0.01)
        made[f"{level}_slow"] = dataclasses.replace(made[level], algorithm=slow)
    arms = {
        arm: (made[arm], [Course(gain=gain + 0.01 * n) for n in range(5)])
        for arm, gain in courses.items()
    }
    best = {"medium_best": ["medium", "medium_slow"], "hard_best": ["hard", "hard_slow"]}
    at_best = dataclasses.replace(GAIN, name="at best", arm="hard_best", against="medium_best")
    found = study_of(tmp_path, arms, [GAIN, at_best], best=best)
    assert found.chosen == {"medium_best": "medium", "hard_best": "hard_slow"}
    assert [judged.verdict for judged in found.links] == ["supported", "no effect"]
    assert found.verdict == "no effect"
    only = study_of(tmp_path / "only", arms, [GAIN, at_best], best=best, deciding=[GAIN.name])
    assert only.verdict == "supported"


def test_the_result_has_the_promised_keys_first_and_is_strict_json(tmp_path: Path) -> None:
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, STEADY)}
    value = study_of(tmp_path, arms, [GAIN, ONSET]).to_json()
    keys = ["schema", "study", "question", "verdict", "links", "seeds_needed", "dir"]
    assert list(value)[:7] == keys
    for link in value["links"]:
        assert list(link)[:5] == ["name", "verdict", "difference", "low", "high"]
    assert value["links"][1]["difference"] is None
    json.dumps(value, allow_nan=False)


def test_arms_that_learnt_little_are_alike_and_the_table_says_so(tmp_path: Path) -> None:
    idle = [Course(gain=0.002 * n) for n in (-2, -1, 0, 1, 2)]
    arms = {"medium": (MEDIUM, idle), "hard": (HARD, idle)}
    found = study_of(tmp_path / "idle", arms, [GAIN])
    own = found.to_json()["links"][0]["own"]
    assert list(own) == ["hard", "medium"]
    assert own["hard"]["low"] < 0 < own["hard"]["high"]
    (said,) = [line for line in study_notes.notes(found) if line.startswith(GAIN.name)]
    least = "neither arm gains 0.05 or more with an interval above 0"
    assert said.endswith(f"; nothing was learnt: {least}")
    assert found.verdict == "undecided"

    learnt = study_of(tmp_path / "learnt", {**arms, "medium": (MEDIUM, STEADY)}, [GAIN, LEAD])
    assert present(learnt.links[0].own["medium"]).value == pytest.approx(0.29, abs=0.03)
    assert "nothing was learnt" not in (learnt.links[0].why or "")
    assert learnt.links[1].own == {}


def test_a_run_that_diverged_is_named_and_its_pair_bounds_the_word(tmp_path: Path) -> None:
    """hard gains 0.2 less in four pairs; the fifth could have gained all there is."""
    hard: list[Course | None] = [Course(gain=0.1 + 0.01 * n) for n in range(4)]
    arms: Arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, [*hard, None])}
    failed = study_of(tmp_path / "failed", arms, [GAIN])
    assert (failed.verdict, failed.links[0].lost) == ("supported", {})
    found = study_of(tmp_path / "diverged", arms, [GAIN], diverged=["9-hard-seed5"])
    assert found.verdict == "undecided"
    (link,) = found.links
    medium = study_of(tmp_path / "whole", {**arms, "hard": (HARD, STEADY)}, [GAIN])
    partner = medium.links[0].own_by_seed["medium"][5]
    assert (link.lost[5].low, link.lost[5].high) == pytest.approx((-1 - partner, 1 - partner))
    assert any(
        "1 of them diverged: 9-hard-seed5 at step 0" in line for line in study_notes.notes(found)
    )
    (said,) = [line for line in study_notes.notes(found) if line.startswith(GAIN.name)]
    assert "the verdict would be undecided instead of supported with the least" in said
    assert "1 pair missing because a run diverged (9-hard-seed5 at step 0); with their" in said
    value = found.to_json()
    assert value["arms"]["hard"]["diverged_runs"] == ["9-hard-seed5 at step 0"]
    assert value["links"][0]["if_diverged_at_worst"]["verdict"] == "undecided"


def test_a_null_control_that_diverged_bounds_what_is_net_of_it(tmp_path: Path) -> None:
    link = dataclasses.replace(GAIN, net_of_null=True)
    idle = [Course(gain=0.002 * n) for n in range(5)]
    arms: Arms = {
        "medium": (MEDIUM, STEADY),
        "hard": (HARD, [Course(gain=0.1 + 0.01 * n) for n in range(5)]),
        "medium_null": (config("medium", 1, True), idle),
        "hard_null": (config("hard", 1, True), idle),
    }
    found = study_of(tmp_path, arms, [link], diverged=["18-hard_null-seed4"])
    (judged,) = found.links
    assert list(judged.lost) == [4]
    assert judged.lost[4].plain is None
    assert judged.verdict == "undecided"
    assert found.counts["hard_null"].diverged == 1


def test_seeds_that_are_added_are_a_second_look_and_the_same_again_is_none(tmp_path: Path) -> None:
    hard = [Course(gain=0.2 + 0.03 * (n % 3)) for n in range(5)]
    three: Arms = {"medium": (MEDIUM, STEADY[:3]), "hard": (HARD, hard[:3])}
    first = study_of(tmp_path / "first", three, [GAIN])
    look = present(study_outcome.new_look(first, []))
    assert look.spent == {GAIN.name: pytest.approx(0.025)}
    again = study_of(tmp_path / "again", three, [GAIN], looks=[look])
    assert study_outcome.new_look(again, [look]) is None
    assert again.to_json()["links"] == first.to_json()["links"]
    five: Arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, hard)}
    alone = study_of(tmp_path / "alone", five, [GAIN])
    names = {f"{n + 5}-hard-seed{n + 1} {n}-medium-seed{n + 1}" for n in range(5)}
    assert alone.links[0].seen == names
    shown = sorted(names)[:3]
    earlier = dataclasses.replace(look, pairs={GAIN.name: shown})
    more = study_of(tmp_path / "more", five, [GAIN], looks=[earlier])
    assert (more.links[0].looks, alone.links[0].looks) == ((3, 5), (5,))
    assert present(more.links[0].p).no_effect >= present(alone.links[0].p).no_effect
    assert any("earlier looks had 3 pairs" in line for line in study_notes.notes(more))
    part = dataclasses.replace(look, pairs={GAIN.name: [*look.pairs[GAIN.name], "another"]})
    (judged,) = study_of(tmp_path / "part", three, [GAIN], looks=[part]).links
    assert (judged.verdict, judged.seeds_needed) == ("undecided", None)
    assert str(judged.why).startswith("no error is left for this look: these pairs were")


def test_an_arm_whose_seeds_all_end_alike_is_told_by_its_number(tmp_path: Path) -> None:
    starved = Link("starves more", "starved_share", "hard", "medium", "more", 0.1)
    differ = [Course(silent=0.5 + 0.1 * n) for n in range(3)]
    arms = {"medium": (MEDIUM, [Course(silent=0.1)] * 3), "hard": (HARD, differ)}
    found = study_of(tmp_path, arms, [starved])
    told = f"{starved.name}: hard 0.60 [0.35, 0.85], medium 0.10 in each of 3 seeds"
    assert told in list(study_notes.notes(found))
    own = found.to_json()["links"][0]["own"]["medium"]
    assert own == {"mean": pytest.approx(0.1), "low": None, "high": None}
