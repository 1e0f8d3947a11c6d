"""One study on two simulated users: which effects keep their sign, and what is refused."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from harness.errors import DataError
from harness.law.compare import link_tests, other_study
from harness.law.compare.other_study import FLIPS, OPEN, SAME, ComparedEffect
from harness.law.compare.study_outcome import StudyOutcome
from harness.law.results import Interval
from harness.report import write
from harness.report.figures import study as study_figure
from harness.report.html import link_chart
from harness.report.tables import other_study as effects_table
from harness.report.tables import study
from harness.report.text import wording
from harness.testing.commands import here
from tests.present import present
from tests.study.made import GAIN, HARD, MEDIUM, STEADY, Course, study_of, written

LESS = [Course(gain=0.1 + 0.02 * (n % 3)) for n in range(5)]
MORE = [Course(gain=0.6 + 0.02 * (n % 3)) for n in range(5)]
WILD = [Course(gain=0.3 + 0.2 * (-1) ** n) for n in range(5)]


def judged(folder: Path, hard: list[Course], words: tuple[str, ...] = ()) -> StudyOutcome:
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, hard)}
    outcome = study_of(folder, arms, [GAIN], words=words)
    write.write_study(outcome, folder / "study")
    return outcome


def test_an_effect_has_the_same_sign_flips_or_is_open() -> None:
    below, above, over_0 = Interval(-2, -3, -1), Interval(2, 1, 3), Interval(0.5, -1, 2)
    assert ComparedEffect("x", below, below).sign == SAME
    assert ComparedEffect("x", above, below).sign == FLIPS
    assert ComparedEffect("x", below, over_0).sign == OPEN
    assert ComparedEffect("x", None, below).sign == OPEN
    assert ComparedEffect("x", Interval(1, 0, 2), above).sign == OPEN


def test_two_sizes_are_told_apart_by_the_interval_of_their_difference() -> None:
    change = ComparedEffect("x", Interval(5, 2, 6), Interval(1, 0, 5)).change
    assert change == Interval(4, 4 - math.hypot(3, 4), 4 + math.hypot(1, 1))  # by hand: MOVER
    assert not ComparedEffect("x", Interval(5, 2, 6), Interval(1, 0, 5)).is_different
    assert ComparedEffect("x", Interval(5, 4, 6), Interval(1, 0, 2)).is_different
    assert ComparedEffect("x", Interval(1, 0, 2), Interval(5, 4, 6)).is_different
    assert ComparedEffect("x", None, Interval(5, 4, 6)).change is None
    assert not ComparedEffect("x", Interval(5, 4, 6), None).is_different


@pytest.mark.parametrize(("seeds", "spreads"), [((5, 5), (1, 1)), ((10, 7), (1, 4))])
def test_the_interval_of_a_difference_of_sizes_holds_it_as_often_as_it_says(
    seeds: tuple[int, int], spreads: tuple[float, float]
) -> None:
    rng, held = np.random.default_rng(5), 0
    for _ in range(2000):
        here, other = (
            present(link_tests.paired_estimate(rng.normal(mean, spread, n).tolist())).interval()
            for mean, spread, n in zip((0.3, -0.2), spreads, seeds, strict=True)
        )
        change = present(ComparedEffect("x", here, other).change)
        held += change.low <= 0.5 <= change.high
    assert 0.94 <= held / 2000 <= 0.985  # two t quantiles for one of more degrees: never short


@pytest.mark.parametrize(("elsewhere", "sign"), [(LESS, SAME), (MORE, FLIPS), (WILD, OPEN)])
def test_effects_are_shown_beside_those_of_the_other_user(
    tmp_path: Path, elsewhere: list[Course], sign: str
) -> None:
    judged(tmp_path / "second", elsewhere, ("simulator=second",))
    outcome = judged(tmp_path / "first", LESS)
    other = other_study.read(tmp_path / "second", "made", [GAIN])
    both = dataclasses.replace(
        outcome, comparison=other_study.compare_studies(outcome.links, other)
    )
    value = json.loads(write.study_json(both))["beside"]
    assert [link["sign"] for link in value["links"]] == [sign]
    assert value["words"] == ["simulator=second"]
    stream = io.StringIO()
    study.print_study(both, Console(file=stream, width=150))
    said = stream.getvalue()
    path = tmp_path / "second" / "study" / "result.json"
    assert f"compared with {path} (verdict: {other.verdict}); overrides only here: none; " in said
    assert "only there: simulator=second" in said
    assert sign in said
    change = present(other_study.compare_studies(outcome.links, other).effects[0].change)
    assert value["links"][0]["change"] == {
        "difference": change.value, "low": change.low, "high": change.high
    }  # fmt: skip
    assert wording.interval(change) in said
    (count,) = (line for line in said.splitlines() if line.startswith("of 1 effect, "))
    told = {SAME: "1 has", FLIPS: "1 flips", OPEN: "1 is open"}[sign]
    assert told in count


def test_a_narrow_terminal_shows_each_effect_above_its_numbers() -> None:
    effect = ComparedEffect(
        "hard keeps less", Interval(0.2, 0.15, 0.25), Interval(-0.2, -0.25, -0.15)
    )
    other = other_study.OtherStudy("there", "supported", (), (1,), {})
    stream = io.StringIO()
    table = effects_table.table(other_study.StudyComparison(other, (effect,)))
    Console(file=stream, width=80).print(table)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == [
        "effect",
        "  here [95%]         there [95%]           sign           here minus there [95%]",
        "─" * 80,
        "hard keeps less",
        "  0.20 [0.15, 0.25]  -0.20 [-0.25, -0.15]  flips: of the  0.40 [0.33, 0.47]",
        "                                           simulator",
    ]


def test_the_figure_and_its_data_show_the_other_study(tmp_path: Path) -> None:
    judged(tmp_path / "second", WILD)
    outcome = judged(tmp_path / "first", LESS)
    other = other_study.read(tmp_path / "second", "made", [GAIN])
    both = dataclasses.replace(
        outcome, comparison=other_study.compare_studies(outcome.links, other)
    )
    (there,) = other.effects.values()
    assert there is not None
    drawn = study_figure.draw(both)
    (mean,) = (row for row in drawn.rows if "verdict" in row)
    assert [mean[c] for c in ("other", "other_low", "other_high")] == [
        there.value, there.low, there.high
    ]  # fmt: skip
    panel = drawn.figure.axes[0]
    assert [there.low, there.high] in [
        np.asarray(line.get_xdata()).tolist() for line in panel.lines
    ]
    left, right = panel.get_xlim()
    assert left <= there.low <= there.high <= right
    assert link_chart.links(both).legend[-1].text == study_figure.OTHER
    assert study_figure.OTHER not in {entry.text for entry in link_chart.links(outcome).legend}
    assert all("other" not in row for row in study_figure.draw(outcome).rows)


def test_a_result_without_its_runs_is_read_as_well(tmp_path: Path) -> None:
    judged(tmp_path / "second", LESS)
    found = other_study.read(tmp_path / "second" / "study", "made", [GAIN])
    assert found.seeds == (1, 2, 3, 4, 5)


def test_another_study_is_refused(tmp_path: Path) -> None:
    judged(tmp_path, LESS)
    with pytest.raises(DataError, match="study: must be 'another', got 'made'"):
        other_study.read(tmp_path, "another", [GAIN])


def test_a_link_that_is_stated_otherwise_is_refused_before_a_run_is_made(tmp_path: Path) -> None:
    judged(tmp_path, LESS)
    turned = dataclasses.replace(GAIN, arm="medium", against="hard")
    with pytest.raises(DataError) as error:
        other_study.read(tmp_path, "made", [turned])
    assert f"must state '{GAIN.name}' as here, quantity gain, " in str(error.value)
    assert "arm hard, against medium" in str(error.value).split("got")[1]


def test_a_link_on_the_spread_is_not_compared_with_one_on_the_mean(tmp_path: Path) -> None:
    judged(tmp_path, LESS)
    with pytest.raises(DataError, match=r"spread True.*, got .*spread False"):
        other_study.read(tmp_path, "made", [dataclasses.replace(GAIN, spread=True)])


def result(low: str = "-1", seed: str = "1") -> str:
    """A result.json with one link and no check."""
    stated = (
        '"quantity": "gain", "evaluation": "x", "arm": "a", "against": "b", "net_of_null": false'
    )
    link = f'{{"name": "l", {stated}, "difference": 0, "low": {low}, "high": 1}}'
    rest = f'"study": "made", "verdict": "supported", "words": [], "seeds": [{seed}], "checks": []'
    return f'{{"links": [{link}], {rest}}}'


def test_a_result_by_hand_is_read(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(result())
    assert other_study.read(tmp_path, "made", [GAIN]).effects == {"l": Interval(0, -1, 1)}


ODD = [result(low="NaN"), result(low="-1e400"), result(low="1" + "0" * 400), result(seed="1e400")]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"links": 3}', "[" * 10**5, *ODD])
def test_a_damaged_result_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(DataError, match="must be what harness study writes, got") as error:
        other_study.read(tmp_path, "made", [GAIN])
    assert str(error.value).startswith(f"{tmp_path / 'result.json'}: cannot be read: ")


def test_a_folder_without_a_result_is_refused(tmp_path: Path) -> None:
    rule = "--beside: must be the folder of a study that was judged, with study/result.json in it"
    with pytest.raises(DataError) as error:
        other_study.read(tmp_path, "made", [GAIN])
    assert str(error.value) == f"{rule}, got {str(tmp_path)!r}"


def test_a_study_is_not_compared_with_itself(tmp_path: Path) -> None:
    written(tmp_path)
    for beside in ("runs/mine", "runs/mine/study"):
        done = here("study", "mine", "--dir", "runs/mine", "--beside", beside, cwd=tmp_path)
        rule = "--beside must not be the folder of the study's own runs"
        assert (done.returncode, done.stderr) == (2, f"harness: {rule}, got {beside!r}\n")
    assert not (tmp_path / "runs").exists()


COMMITTED = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize(
    "path", sorted(COMMITTED.glob("*/result.json")), ids=lambda p: p.parent.name
)
def test_results_of_older_versions_are_read_with_the_words_of_their_time(path: Path) -> None:
    value = json.loads(path.read_text())
    found = other_study.read(path.parent, value["study"], [])
    assert found.verdict == value["verdict"]
    assert len(found.effects) == len(value["links"]) + len(value["checks"])
    assert found.older_words is ("p_no_effect" not in value["links"][0])
