"""Studies with a link on a crossed table: what is refused, planned, judged and written."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from harness.config.run import RunConfig
from harness.law.compare import other_study
from harness.records import study_file
from harness.records.study_file import FactorialTable, Link
from harness.report.figures import study as figure
from harness.report.text import link_words, study_notes
from harness.study import arms, file
from harness.testing.commands import here
from tests.present import present
from tests.study.made import Arms, Course, config, study_of, written

TABLE = FactorialTable(
    "algorithm", "prior", (("grpo_narrow", "grpo_wide"), ("kto_narrow", "kto_wide"))
)
MORE = Link("prior more", "final_reward", "prior", "algorithm", "more", 0.0025, crossed=TABLE)
STUDY = """
question: Does the prior explain more of the spread?
source: made up
seeds: 1,2,3
words: [policy=tabular, trainer.conversations=8, trainer.steps=16, eval.users=8,
        "eval.levels=[medium]", eval.deaf=false, hydra/launcher=basic]
arms:
  grpo_narrow: [algorithm=grpo, policy.prior_temperature=0.5]
  grpo_wide: [algorithm=grpo, policy.prior_temperature=2]
  kto_narrow: [algorithm=kto, policy.prior_temperature=0.5]
  kto_wide: [algorithm=kto, policy.prior_temperature=2]
  kto_wider: [algorithm=kto, policy.prior_temperature=4]
best:
  kto_best: [kto_wide, kto_wider]
links:
  prior more:
    quantity: final_reward
    arm: prior
    against: algorithm
    direction: more
    margin: 0.0025
    crossed:
      rows: algorithm
      columns: prior
      arms: [[grpo_narrow, grpo_wide], [kto_narrow, kto_wide]]
"""
CELLS = "[[grpo_narrow, grpo_wide], [kto_narrow, kto_wide]]"
REFUSED = {
    "an arm is missing": (
        (CELLS, "[[grpo_narrow, grpo_wide], [kto_narrow]]"),
        "crossed.arms must have an arm in every place, so rows of equal length, got rows of 2, 1",
    ),
    "one row": (
        (CELLS, "[[grpo_narrow, grpo_wide]]"),
        "crossed.arms must be at least two rows of two arms, got 1 of 2",
    ),
    "one column": (
        (CELLS, "[[grpo_narrow], [kto_narrow]]"),
        "crossed.arms must be at least two rows of two arms, got 2 of 1",
    ),
    "an arm twice": (
        (CELLS, "[[grpo_narrow, grpo_wide], [kto_narrow, grpo_wide]]"),
        "crossed.arms must hold each arm once, also as one of `best`, got 'grpo_wide' twice",
    ),
    "an arm twice, once as one of several": (
        (CELLS, "[[grpo_narrow, kto_wider], [kto_narrow, kto_best]]"),
        "crossed.arms must hold each arm once, also as one of `best`, got 'kto_wider' twice",
    ),
    "an arm that is none": (
        (CELLS, "[[grpo_narrow, grpo_wde], [kto_narrow, kto_wide]]"),
        "crossed.arms must be one of grpo_narrow, grpo_wide, kto_narrow, kto_wide, kto_wider, "
        "kto_best, got 'grpo_wde'; nearest: grpo_wide",
    ),
    "no list of rows": (
        (CELLS, "[grpo_narrow, grpo_wide]"),
        "crossed.arms must be a list of rows, each a list of arms, got "
        "['grpo_narrow', 'grpo_wide']",
    ),
    "no table": (
        ("\n      rows: algorithm\n      columns: prior\n      arms: ", " "),
        "crossed must be a mapping of rows, columns, arms, got [['grpo_narrow', 'grpo_wide'], "
        "['kto_narrow', 'kto_wide']]",
    ),
    "a factor that is an arm": (
        ("rows: algorithm", "rows: kto_wide"),
        "crossed.rows must be at most 32 of a-z, 0-9 and '_', and not the name of an arm, got "
        "'kto_wide'",
    ),
    "a factor twice": (
        ("columns: prior", "columns: algorithm"),
        "crossed.columns must be another factor than algorithm, got the same",
    ),
    "no such factor": (
        ("arm: prior", "arm: priors"),
        "arm must be one of algorithm, prior, got 'priors'; nearest: prior",
    ),
    "one factor alone": (
        ("    against: algorithm\n", ""),
        "against must be the other factor of the table, got none",
    ),
    "against itself": (
        ("against: algorithm", "against: prior"),
        "against must be another factor than prior, got the same",
    ),
    "an order of times": (
        ("direction: more", "direction: earlier"),
        "direction must be less or more for variances, got 'earlier'",
    ),
    "a spread of spreads": (
        ("margin: 0.0025", "margin: 0.0025\n    spread: true"),
        "spread must be false with crossed, which compares means, got true",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_cannot_be_right_ends_2_with_a_sentence(case: str, tmp_path: Path) -> None:
    (old, new), said = REFUSED[case]
    assert old in STUDY
    path = written(tmp_path, STUDY.replace(old, new))
    done = here("study", "mine", cwd=tmp_path)
    assert done.returncode == 2
    where = f"harness: {path}: "
    assert done.stderr.removeprefix(where).removeprefix("links.") == f"prior more.{said}\n"
    assert [one.name for one in tmp_path.iterdir()] == ["sweeps"]


def test_a_plan_shows_the_table_and_warns_of_what_will_leave_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(
        tmp_path, STUDY.replace("seeds: 1,2,3", "seeds: 1,2").replace("kto_wide]]", "kto_best]]")
    )
    planned = arms.plan("mine", file.read("mine"), [])
    (link,) = planned.stated.links
    assert link_words.statement_with_margin(link) == (
        "variance of reward at the end on eval/medium/reward is more between levels of prior than "
        "between levels of algorithm; margin 0.0025 (a standard deviation of 0.05)"
    )
    assert link_words.layout(present(link.crossed)) == [
        "algorithm down, prior across:",
        "grpo_narrow  grpo_wide",
        "kto_narrow   kto_best",
    ]
    few, choices = arms.warnings(planned)
    rule = "a crossed table is not decided with fewer than 3 seeds, got 2"
    assert few == f"seed: prior more: {rule}"
    rule = "must choose among the same number of arms in every place, got 1 and 2"
    assert choices.startswith(f"best: prior more: {rule}; if all arms are equal, ")


def made(gains: dict[str, float], seeds: int = 5) -> Arms:
    return {
        arm: (_config(place), [Course(gain=gain + 0.01 * n) for n in range(seeds)])
        for place, (arm, gain) in enumerate(gains.items())
    }


def _config(place: int) -> RunConfig:
    """No two arms alike: runs of one config and seed are taken for the same."""
    one = config("medium", 1, False)
    return dataclasses.replace(
        one, algorithm=dataclasses.replace(one.algorithm, learning_rate=0.1 * (place + 1))
    )


GAINS = {"grpo_narrow": 0.2, "grpo_wide": 0.4, "kto_narrow": 0.22, "kto_wide": 0.42}


def test_a_prior_that_moves_the_end_more_than_the_algorithm_is_seen(tmp_path: Path) -> None:
    found = study_of(tmp_path, made(GAINS), [MORE])
    assert found.verdict == "supported"
    (judged,) = found.links
    assert present(judged.judged).value == pytest.approx(0.018, abs=0.001)
    link = json.loads(json.dumps(found.to_json()))["links"][0]
    assert (link["unit"], link["pairs"]) == ("reward squared", 5)
    assert study_file.crossed_of(link["crossed"]) == TABLE
    assert list(link["own"]) == ["prior", "algorithm", "algorithm x prior"]
    assert link["of_arms"]["kto_wide"]["1"] == pytest.approx(0.6, abs=0.03)
    for seed, value in link["by_seed"].items():
        of = link["own_by_seed"]
        assert value == pytest.approx(of["prior"][seed] - of["algorithm"][seed])
    (notes,) = (line for line in study_notes.notes(found) if line.startswith("prior more: "))
    assert "prior 0.01818 [0.01799, 0.01837], algorithm 0.000191 [" in notes
    assert "as standard deviations: prior 0.135, algorithm 0.014" in notes
    assert notes.endswith("grpo_narrow 0.41, grpo_wide 0.60 | kto_narrow 0.43, kto_wide 0.62")
    assert study_notes.CROSSED in list(study_notes.notes(found))
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "result.json").write_text(json.dumps(found.to_json()))
    assert other_study.read(other, "made", [MORE]).verdict == "supported"
    turned = dataclasses.replace(TABLE, arms=TABLE.arms[::-1])
    with pytest.raises(Exception, match="must state 'prior more' as here"):
        other_study.read(other, "made", [dataclasses.replace(MORE, crossed=turned)])


def test_a_statement_is_read_from_study_json_as_it_was(tmp_path: Path) -> None:
    plain = dataclasses.replace(MORE, name="plain", crossed=None)
    stated = study_of(tmp_path, made(GAINS), [MORE]).stated
    values = study_file.to_plain(dataclasses.replace(stated, links=[MORE, plain]))["links"]
    assert "crossed" not in values["plain"]
    assert study_file.link_of("prior more", values["prior more"]) == MORE


def test_a_run_that_diverged_is_bounded_and_one_that_failed_is_counted(tmp_path: Path) -> None:
    """Of ten seeds that agree, one of a reward from 0 to 1 takes no more than its share."""
    runs = made(GAINS, 10)
    lost = study_of(tmp_path / "diverged", runs, [MORE], diverged=["32-kto_wide-seed3"])
    (judged,) = lost.links
    assert (judged.pairs, list(judged.lost)) == (9, [3])
    low, high = judged.lost[3].low, judged.lost[3].high
    assert low < present(judged.judged).value < high
    assert judged.if_lost_at_worst is not None
    failed = study_of(tmp_path / "failed", runs, [MORE], unfinished=["32-kto_wide-seed3"])
    assert (failed.links[0].pairs, failed.links[0].lost) == (9, {})
    assert failed.verdict == "supported"


def test_a_picture_has_the_difference_of_both_factors_in_its_unit(tmp_path: Path) -> None:
    drawing = figure.draw(study_of(tmp_path, made(GAINS), [MORE]))
    rows = list(drawing.rows)
    assert {row["unit"] for row in rows} == {"reward squared"}
    assert rows[0]["value"] == pytest.approx(rows[0]["of_arm"] - rows[0]["of_against"])
    (label,) = (axes.get_xlabel() for axes in drawing.figure.axes if axes.get_xlabel())
    assert label == ("variance, prior minus algorithm\nreward at the end on eval/medium/reward")


@pytest.mark.slow
def test_a_small_study_is_run_and_judged_whole(tmp_path: Path) -> None:
    written(tmp_path, STUDY)
    done = here("study", "mine", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    (link,) = value["links"]
    assert (link["pairs"], list(link["by_seed"])) == (3, ["1", "2", "3"])
    assert link["difference"] == pytest.approx(sum(link["by_seed"].values()) / 3)
    assert (Path(value["dir"]) / "study" / "links.png").is_file()
    again = here("study", "mine", cwd=tmp_path, COLUMNS="200")
    assert f"mine: {value['verdict']}" in again.stdout
    assert "changed" not in again.stderr
