"""A study on the terminal and as a figure: the sentences a user reads, shown literally."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.law.compare.deaf_schedule import DeafComparison
from harness.law.compare.study_outcome import StudyOutcome
from harness.law.results import BoundedEstimate
from harness.records.validity import LevelValidity
from harness.report import write
from harness.report.figures import canvas
from harness.report.figures import study as figure
from harness.report.html import link_chart
from harness.report.tables import study
from harness.report.text import study_notes
from tests.present import present
from tests.study.made import GAIN, HARD, MEDIUM, STEADY, Arms, Course, study_of

WEAK = [Course(gain=0.1 + 0.02 * (n % 3)) for n in range(5)]
ODD = dataclasses.replace(GAIN, name="[red]odd[/red]", direction="more")


def test_the_table_says_what_is_stated_what_was_found_and_what_speaks_against_it(
    tmp_path: Path,
) -> None:
    arms: Arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, [*WEAK[:4], None])}
    found = study_of(tmp_path, arms, [GAIN, ODD], rival="starved", deciding=[GAIN.name])
    stream = io.StringIO()
    study.print_study(found, Console(file=stream, width=150, force_terminal=False))
    said = stream.getvalue()
    assert "gain of reward on eval/medium/reward is less in hard than in medium" in said
    assert "beside: [red]odd[/red]:" in said
    assert "; the opposite holds, p <0.001" in said
    assert "hard: 1 of 5 runs failed or unfinished" in said
    assert "rival explanation, starvation: 0 of 9 runs starved" in said
    assert "made: supported" in said


def test_a_narrow_terminal_shows_each_link_above_its_numbers(tmp_path: Path) -> None:
    arms: Arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, WEAK)}
    found = study_of(tmp_path, arms, [GAIN, ODD], deciding=[GAIN.name])
    stream = io.StringIO()
    study.print_study(found, Console(file=stream, width=80))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    at = lines.index("link")
    assert lines[at + 1 : at + 9] == [
        "  difference [95%]      pairs  p       verdict",
        "─" * 51,
        "hard gains less:",
        "  gain of reward on eval/medium/reward is less in hard than in medium",
        "  -0.20 [-0.22, -0.17]  5      <0.001  supported",
        "beside: [red]odd[/red]:",
        "  gain of reward on eval/medium/reward is more in hard than in medium",
        "  -0.20 [-0.22, -0.17]  5      1.000   contradicted",
    ]


def test_a_p_of_one_beside_an_interval_far_from_0_is_of_the_statement(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"medium": (MEDIUM, STEADY), "hard": (HARD, WEAK)}, [ODD])
    (link,) = found.links
    assert link.judged is not None
    assert link.judged.high < 0
    assert present(link.p).supported == 1.0
    said = " ".join(study_notes.notes(found))
    assert "p is for the stated direction (1 if the difference points the other way)" in said
    assert "of no difference" not in said


def test_an_open_study_ends_with_the_seeds_that_would_decide(tmp_path: Path) -> None:
    wild = [Course(gain=0.3 + 0.2 * (-1) ** n) for n in range(5)]
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, wild)}
    found = study_of(tmp_path, arms, [GAIN])
    assert found.verdict == "undecided"
    needed = found.seeds_needed
    assert study.closing(found) == f"made: undecided; about {needed} seeds would decide"


def test_a_supported_difference_below_its_margin_is_called_small(tmp_path: Path) -> None:
    """Hard gains .10 to .14, and medium .30."""
    arms: Arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, WEAK)}
    small = dataclasses.replace(GAIN, name="small", margin=0.9)
    for links, doubt in (
        ([GAIN], ""),
        ([small], ", by less than its margin"),
        ([GAIN, small], ", 1 of 2 links by less than its margin"),
    ):
        root = tmp_path / str(len(doubt))
        found = study_of(root, arms, links, deciding=[link.name for link in links])
        assert study.closing(found) == f"made: supported{doubt}"
        with canvas.use_style():
            assert figure.draw(found).figure.get_suptitle() == f"made: supported{doubt}"
        shown = io.StringIO()
        study.print_study(found, Console(file=shown, width=150, force_terminal=False))
        assert ("supported, small" in shown.getvalue()) == (small in links)


def test_a_verdict_on_users_who_are_not_valid_says_so(tmp_path: Path) -> None:
    found = study_of(tmp_path, {"medium": (MEDIUM, STEADY), "hard": (HARD, WEAK)}, [GAIN])
    deaf = LevelValidity("lexical", {}, ("the user hears none of cruel replies as hurtful",))
    counts = {**found.counts, "hard": dataclasses.replace(found.counts["hard"], invalid_users=5)}
    invalid = dataclasses.replace(found, counts=counts, validity={"hard": deaf})
    assert study.closing(invalid).startswith(
        "made: supported, with users not valid in 5 of 10 runs"
    )
    assert invalid.to_json()["validity"]["hard"]["problems"] == deaf.problems
    assert invalid.to_json()["arms"]["hard"]["invalid_users"] == 5
    stream = io.StringIO()
    study.print_study(invalid, Console(file=stream, width=150))
    assert stream.getvalue().splitlines()[1].startswith("users not valid, so R is no reward for")


@pytest.mark.slow
def test_the_figure_holds_every_pair_and_the_same_bytes_twice(tmp_path: Path) -> None:
    arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, WEAK)}
    found = study_of(tmp_path / "runs", arms, [GAIN, ODD], deciding=[GAIN.name])
    one, two = (write.write_study(found, tmp_path / name) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    lines = list(csv.DictReader((tmp_path / "one" / "links.csv").read_text().splitlines()))
    seeds = [line for line in lines if line["seed"]]
    assert len(seeds) == 10
    assert [line["kind"] for line in lines if line["verdict"]] == ["link", "beside"]
    page = [panel for (panel,) in link_chart.links(found).columns]
    assert [panel.title.split(": ")[0] for panel in page] == [GAIN.name, "beside"]
    assert [", net of null: " in panel.x.label for panel in page] == [
        judged.link.net_of_null for judged in found.links
    ]
    write.write_study(found, tmp_path / "one", ("pdf",))
    left = {path.name for path in (tmp_path / "one").iterdir()}
    assert left == {"result.json", "links.csv", "links.pdf"}
    by_seed = found.links[0].by_seed
    assert {int(s["seed"]): float(s["value"]) for s in seeds[:5]} == by_seed
    assert all(float(s["of_arm"]) - float(s["of_against"]) == float(s["plain"]) for s in seeds)


def test_a_study_of_policies_below_the_best_deaf_schedule_says_so_first(tmp_path: Path) -> None:
    arms: Arms = {"medium": (MEDIUM, STEADY), "hard": (HARD, WEAK)}
    found = study_of(tmp_path, arms, [GAIN])
    assert study.headline(found) == "Is it so?"
    unknown = "not compared with the best deaf schedule: hard on medium"
    assert any(unknown in note for note in notes(found))
    below = [
        DeafComparison(arm, "medium", BoundedEstimate(gap, gap - 0.02, gap + 0.02), 5, None)
        for arm, gap in (("hard", -0.3), ("medium", 0.01))
    ]
    deaf = dataclasses.replace(found, above_deaf=tuple(below))
    stream = io.StringIO()
    study.print_study(deaf, Console(file=stream, width=150, force_terminal=False))
    said = stream.getvalue()
    assert said.startswith("about a deaf policy: Is it so?")
    minus = "reward at the end minus the best deaf schedule's on medium"
    assert f"hard, {minus}: -0.30 [-0.32, -0.28]" in said
    assert "made: supported, about a deaf policy: no arm is shown to end above" in said
    assert deaf.to_json()["about_deaf_policies"] is True
    assert deaf.to_json()["may_end_above"] == []
    assert deaf.to_json()["above_deaf_schedule"][1]["above"] is False
    unsure = dataclasses.replace(below[1], difference=BoundedEstimate(0.02, -0.08, 0.12), seeds=3)
    few = dataclasses.replace(found, above_deaf=(below[0], unsure))
    first = "about a deaf policy, or too few seeds or users to tell"
    assert study.headline(few) == f"{first}: Is it so?"
    assert study.closing(few) == (
        f"made: supported, {first}: no arm is shown to end above the best deaf schedule; "
        "medium may, by up to 0.12 with 3 seeds"
    )
    assert few.to_json()["about_deaf_policies"] is True
    assert few.to_json()["may_end_above"] == ["medium"]
    heard = dataclasses.replace(below[1], difference=BoundedEstimate(0.1, 0.08, 0.12))
    listens = dataclasses.replace(found, above_deaf=(below[0], heard))
    assert study.headline(listens) == "Is it so?"
    assert study.closing(listens) == "made: supported, medium ends above the best deaf schedule"


def notes(found: StudyOutcome) -> list[str]:
    return list(study_notes.notes(found))
