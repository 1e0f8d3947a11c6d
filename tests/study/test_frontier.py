"""The remedy frontier: its front and verdicts on known truths, what it plans, and going on."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import frontier, frontier_front, frontier_plan
from benchmarks.frontier_front import BEATS, OPEN, QUANTITIES, SHOWN_NOT, Difference, Measured
from harness.compose import planner

SIZE = frontier_plan.Size(("medium", "hard"), (1, 2), 20, 20, 16, 16)
SEEDS = range(1, 6)
TRUTH = {"kept": -1.0, "reward": 0.5, "best_at_16": 0.9, "listening": 0.4, "trainability": 0.2}


def made(
    name: str, rng: np.random.Generator, better: Mapping[str, float] | None = None, sd: float = 0.01
) -> Measured:
    """A cell whose seeds scatter round TRUTH, and `better` by that much."""
    method, _, strength = name.partition("-")
    means = {q: TRUTH[q] + (better or {}).get(q, 0.0) for q in QUANTITIES}
    values = {q: {s: mean + rng.normal(0, sd) for s in SEEDS} for q, mean in means.items()}
    return Measured(name, method, strength, "medium", method == "rate", values)


def rates(rng: np.random.Generator) -> list[Measured]:
    slower = [made(f"rate-{n}", rng, {"reward": -0.1 * n, "kept": 0.2 * n}) for n in (1, 2)]
    return [made("rate-0", rng), *slower]


def test_a_method_that_keeps_entropy_and_loses_nothing_beats_the_best_rate() -> None:
    rng = np.random.default_rng(1)
    cells = [*rates(rng), made("good-1", rng, {"kept": 0.5}), made("good-2", rng, {"kept": 0.6})]
    cells += [made(f"dear-{n}", rng, {"kept": 0.5, "reward": -0.2}) for n in (1, 2)]
    cells += [made(f"same-{n}", rng) for n in (1, 2)]
    best, judged = frontier_front.judge(cells)
    assert best is not None
    assert best.name == "rate-0"
    words = {one.cell.name: one.verdict for one in judged}
    assert words["good-1"] == BEATS
    assert words["dear-1"] == SHOWN_NOT
    assert words["same-1"] in (OPEN, SHOWN_NOT)
    answer = frontier_front.sentence("medium", best, judged)
    assert answer.startswith("On medium good-1, good-2 beat the best rate (0, reward 0.")


def test_it_can_say_that_none_beats_a_better_learning_rate() -> None:
    rng = np.random.default_rng(2)
    cells = [*rates(rng), *(made(f"m-{n}", rng, {"kept": 0.5, "reward": -0.2}) for n in range(9))]
    best, judged = frontier_front.judge(cells)
    assert {one.verdict for one in judged if not one.cell.is_rate} == {SHOWN_NOT}
    answer = frontier_front.sentence("medium", best, judged)
    assert answer.startswith(
        "On medium none is shown to beat a better learning rate, the best rate"
    )
    assert answer.endswith("0 of 9 cells are open at these seeds.")
    assert frontier_front.sentence("hard", None, []).endswith("nothing is judged.")


def test_methods_that_are_the_rate_itself_are_seldom_said_to_beat_it() -> None:
    said = 0
    for world in range(60):
        rng = np.random.default_rng(100 + world)
        cells = [made("rate-0", rng, sd=0.03)]
        cells += [made(f"m{n}-{k}", rng, sd=0.03) for n in range(10) for k in range(5)]
        judged = frontier_front.judge(cells)[1]
        said += any(one.verdict == BEATS for one in judged)
    assert said <= 5  # 5% of worlds, at most, would be 3


def test_a_cell_without_a_quantity_is_judged_by_the_others() -> None:
    rng = np.random.default_rng(3)
    cells = [*rates(rng), made("good-2", rng, {"listening": 0.3})]
    cells += [made("good-1", rng, {"listening": 0.3}), made("lost-1", rng)]
    cells[-2] = replace(cells[-2], values={**cells[-2].values, "trainability": {}})
    cells[-1] = replace(cells[-1], values={})
    judged = {one.cell.name: one for one in frontier_front.judge(cells)[1]}
    assert judged["good-1"].verdict == BEATS
    assert "trainability" not in judged["good-1"].differences
    assert judged["lost-1"].verdict == OPEN
    assert judged["lost-1"].differences == {}


def test_the_front_is_what_nothing_is_better_than_in_all() -> None:
    rng = np.random.default_rng(4)
    cells = [made("rate-0", rng, sd=0), made("up-1", rng, {"kept": 0.1, "reward": -0.1}, sd=0)]
    cells += [made("under-1", rng, {"kept": -0.1}, sd=0), made("alike-1", rng, sd=0)]
    cells += [Measured("diverged-1", "diverged", "1", "medium", False, {})]
    assert frontier_front._front(cells) == {"rate-0", "up-1", "alike-1"}


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ({"reward": Difference(0.1, 0.01, 0.2), "kept": Difference(0, -0.09, 0.09)}, BEATS),
        ({"reward": Difference(0.1, 0.01, 0.2), "kept": Difference(0, -0.11, 0.09)}, OPEN),
        ({"reward": Difference(0.1, 0.01, 0.2), "kept": Difference(-0.3, -0.4, -0.2)}, SHOWN_NOT),
        ({"reward": Difference(-0.02, -0.03, -0.01)}, SHOWN_NOT),
        ({"reward": Difference(0.0, -0.1, 0.1)}, OPEN),
    ],
)
def test_the_rule_of_the_verdict(differences: dict[str, Difference], word: str) -> None:
    assert frontier_front.verdict(differences) == word


def test_runs_of_another_size_are_not_read_as_ones_of_this(tmp_path: Path) -> None:
    (method,) = frontier_plan.methods(["clip_b"], 2)
    cell = frontier_plan.Cell("medium", method, 2)
    (tmp_path / cell.name).mkdir()
    (tmp_path / cell.name / "sweep.json").write_text('{"runs": [{"status": "done"}]}')
    (tmp_path / f"{cell.name}.json").write_text(json.dumps(cell.words(SIZE)))
    frontier_plan.ensure(tmp_path, cell, SIZE)
    (whole,) = frontier_plan.methods(["clip_b"], 5)
    for other, size in (
        (frontier_plan.Cell("medium", whole, 2), SIZE),
        (cell, replace(SIZE, seeds=(3, 4))),
    ):
        assert other.name == cell.name
        with pytest.raises(SystemExit, match="must hold the runs of this size and strength"):
            frontier_plan.ensure(tmp_path, other, size)


@pytest.mark.slow
def test_there_are_twenty_methods_of_five_strengths_and_each_is_planned() -> None:
    methods = frontier_plan.methods()
    assert sum(not method.is_rate for method in methods) >= 20
    assert {len(method.strengths) for method in methods} == {5}
    assert len(frontier_plan.cells(methods, SIZE)) == 10 * len(methods)
    for method in methods:
        cell = frontier_plan.Cell("medium", method, 5)
        words = [word for word in cell.words(SIZE) if not word.startswith("seed=")]
        config = planner.point(words).config
        assert config.trainer.steps == 40
        assert config.curriculum.kind == "staged"


def test_a_smaller_size_keeps_the_ends_of_the_strengths() -> None:
    (bonus,) = frontier_plan.methods(["entropy_bonus"], 2)
    key = "remedy.methods.entropy_bonus.coefficient"
    assert bonus.strengths == ((f"{key}=0.005",), (f"{key}=0.1",))
    with pytest.raises(KeyError, match="nothing"):
        frontier_plan.methods(["nothing"])
    with pytest.raises(
        SystemExit, match=r"a method must be in frontier_methods\.yaml, got 'nothing'"
    ):
        frontier.main(["/nowhere", "--methods", "nothing"])


def test_a_cell_is_done_when_no_run_of_it_is_left(tmp_path: Path) -> None:
    assert not frontier_plan.is_done(tmp_path)
    for statuses, done in ((("done", "running"), False), (("done", "failed"), True)):
        runs = [{"status": status} for status in statuses]
        (tmp_path / "sweep.json").write_text(json.dumps({"runs": runs}))
        assert frontier_plan.is_done(tmp_path) == done


@pytest.mark.slow
def test_a_small_frontier_is_run_read_again_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path / "runs"), "--methods", "rate,clip_b", "--strengths", "1"]
    words += ["--levels", "medium", "--seeds", "1,2", "--steps", "3", "--users", "2"]
    frontier.main(words)
    page = capsys.readouterr().out
    assert "## medium" in page
    assert "1 methods beside plain grpo" in page
    assert "not run" in page
    assert "beat a better learning rate" in page
    (folder,) = (tmp_path / "runs").glob("medium-clip_b-1")
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("metrics.jsonl")}
    frontier.main([*words, "--out", str(tmp_path / "out")])
    assert capsys.readouterr().out.split("\n", 4)[4] == page.split("\n", 4)[4]
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("metrics.jsonl")} == before
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "frontier.csv", "frontier.md", "frontier.png",
    ]  # fmt: skip
