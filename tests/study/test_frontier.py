"""The remedy frontier: its front and verdicts on known truths, what it plans, and going on."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import frontier, frontier_front, frontier_plan, frontier_rates
from benchmarks.frontier_front import (
    ABOVE,
    BEATS,
    BELOW,
    OPEN,
    OUTSIDE,
    QUANTITIES,
    SHOWN_NOT,
    Difference,
    Judged,
)
from benchmarks.frontier_measured import Measured
from harness.compose import planner

SIZE = frontier_plan.Size(("medium", "hard"), (1, 2), 20, 20, 16, 16)
SEEDS = range(1, 6)
TRUTH = {"entropy": 0.5, "reward": 0.5, "best_at_16": 0.9, "listening": 0.4, "trainability": 0.2}


def made(
    name: str, rng: np.random.Generator, better: Mapping[str, float] | None = None, sd: float = 0.01
) -> Measured:
    """A cell whose seeds scatter round TRUTH, and `better` by that much."""
    method, _, strength = name.partition("-")
    means = {q: TRUTH[q] + (better or {}).get(q, 0.0) for q in QUANTITIES}
    values = {q: {s: mean + rng.normal(0, sd) for s in SEEDS} for q, mean in means.items()}
    return Measured(name, method, strength, "medium", method == "rate", values)


def rates(rng: np.random.Generator) -> list[Measured]:
    slower = [made(f"rate-{n}", rng, {"reward": -0.1 * n, "entropy": 0.2 * n}) for n in (1, 2)]
    return [made("rate-0", rng), *slower]


def test_a_method_that_keeps_entropy_and_loses_nothing_beats_the_best_rate() -> None:
    rng = np.random.default_rng(1)
    cells = [
        *rates(rng),
        made("good-1", rng, {"entropy": 0.5}),
        made("good-2", rng, {"entropy": 0.6}),
    ]
    cells += [made(f"dear-{n}", rng, {"entropy": 0.5, "reward": -0.2}) for n in (1, 2)]
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
    cells = [
        *rates(rng),
        *(made(f"m-{n}", rng, {"entropy": 0.5, "reward": -0.2}) for n in range(9)),
    ]
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
    cells = [made("rate-0", rng, sd=0), made("up-1", rng, {"entropy": 0.1, "reward": -0.1}, sd=0)]
    cells += [made("under-1", rng, {"entropy": -0.1}, sd=0), made("alike-1", rng, sd=0)]
    cells += [Measured("diverged-1", "diverged", "1", "medium", False, {})]
    assert frontier_front._front(cells) == {"rate-0", "up-1", "alike-1"}


def point(name: str, entropy: float, rewards: list[float]) -> Measured:
    """A cell of two seeds."""
    by_seed = {"entropy": [entropy] * len(rewards), "reward": rewards}
    values = {q: dict(enumerate(numbers, start=1)) for q, numbers in by_seed.items()}
    return Measured(name, name, "1", "hard", name.startswith("rate"), values)


HULL = [point("rate-1", 1.8, [0.1, 0.2]), point("rate-9", 0.4, [0.4, 0.4])]
UNDER = [point("rate-27", 0.2, [0.3, 0.4]), point("rate-2", 1.2, [0.2, 0.2])]


def test_the_curve_is_the_upper_hull_of_the_rates_and_ends_at_the_best() -> None:
    steep = point("rate-3", 1.1, [0.34, 0.36])
    assert [r.name for r in frontier_rates.curve([*HULL, *UNDER])] == ["rate-9", "rate-1"]
    names = [r.name for r in frontier_rates.curve([steep, *UNDER, *HULL])]
    assert names == ["rate-9", "rate-3", "rate-1"]
    assert frontier_rates.curve([Measured("rate-4", "rate", "4", "hard", True, {})]) == []
    better_at_as_much = point("rate-5", 0.4, [0.41, 0.41])
    assert frontier_rates.curve([*HULL, better_at_as_much])[0] is better_at_as_much


@pytest.mark.parametrize(
    ("entropy", "less"),
    [
        (1.8, [0.1, 0.2]),
        (1.1, [0.25, 0.3]),  # half way between the two rates
        (0.3, [0.4, 0.4]),  # below the best rate's: flat
        (1.9, None),
    ],
)
def test_a_cell_is_held_against_the_rates_at_its_own_entropy(
    entropy: float, less: list[float] | None
) -> None:
    found = frontier_rates.beside(point("clip_b-1", entropy, [0.5, 0.5]), HULL[::-1])
    assert found == pytest.approx([] if less is None else [0.5 - one for one in less])


def on_the_curve(
    rng: np.random.Generator, name: str, entropy: float, more: float = 0.0
) -> Measured:
    """A cell of five seeds whose true reward is `more` above the rates' at its entropy."""
    method, _, strength = name.partition("-")
    reward = 0.45 - 0.1 * entropy**2 + more
    values = {"entropy": {s: entropy + rng.normal(0, 0.02) for s in SEEDS}}
    values["reward"] = {s: reward + rng.normal(0, 0.025) for s in SEEDS}
    return Measured(name, method, strength, "hard", method == "rate", values)


def level(rng: np.random.Generator, more: float = 0.0) -> list[Judged]:
    rates = [on_the_curve(rng, f"rate-{n}", h) for n, h in enumerate(np.linspace(0.1, 1.8, 10))]
    cells = [
        on_the_curve(rng, f"m{n}-{k}", h, more)
        for n in range(14)
        for k, h in enumerate((0.3, 0.7, 1.0, 1.3, 1.6))
    ]
    return frontier_front.judge([*rates, *cells])[1]


def test_methods_on_the_curve_of_the_rates_are_seldom_told_from_it() -> None:
    worlds = [level(np.random.default_rng(300 + world)) for world in range(40)]
    words = [{one.beside_rates for one in judged} for judged in worlds]
    assert sum(ABOVE in one for one in words) <= 2
    assert sum(BELOW in one for one in words) <= 8  # the hull favours the rates


def test_a_method_above_the_curve_is_told_and_named() -> None:
    judged = level(np.random.default_rng(7), more=0.1)
    words = [one.beside_rates for one in judged if not one.cell.is_rate]
    assert words.count(ABOVE) > 60
    said = frontier_front.sentence_at_equal_entropy("hard", judged)
    assert said.startswith(
        "At the entropy that they leave, more reward than a rate that leaves as much: m0-0, "
    )
    assert "Less: no cell." in said
    far = frontier_front.judge([*HULL, point("era-1", 1.9, [0.5, 0.5])])[1]
    assert [one.beside_rates for one in far] == ["", "", OUTSIDE]
    for cells in ([point("era-1", 1.9, [0.5, 0.5])], [*HULL, point("era-1", 1.0, [0.5])]):
        assert frontier_front.judge(cells)[1][-1].beside_rates == ""  # not known


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ({"reward": Difference(0.1, 0.01, 0.2), "entropy": Difference(0, -0.09, 0.09)}, BEATS),
        ({"reward": Difference(0.1, 0.01, 0.2), "entropy": Difference(0, -0.11, 0.09)}, OPEN),
        (
            {"reward": Difference(0.1, 0.01, 0.2), "entropy": Difference(-0.3, -0.4, -0.2)},
            SHOWN_NOT,
        ),
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
