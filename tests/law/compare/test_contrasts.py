"""Groups of runs compared: synthetic levels that differ in a known way, or only seem to."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.compare import random_effects
from harness.law.compare.claims import DEFAULT_MARGINS, p_differs
from harness.law.compare.families import PRIMARY_SHARE
from harness.report.tables import contrasts
from harness.report.write import write_results
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW, SyntheticRun
from tests.law.compared import COMMON, contrast, law_with, levels, rows
from tests.present import interval, present


def test_a_higher_ceiling_is_found_with_its_sign_and_size(tmp_path: Path) -> None:
    levels(tmp_path, {"hard": law_with(0.3, 1.0), "easy": law_with(0.3, 1.1)})
    found = analyse([tmp_path])
    ceiling = contrast(found, "ceiling")
    assert (ceiling.decision, ceiling.why, ceiling.on) == ("differs", None, COMMON)
    assert interval(ceiling).low < -0.1 < interval(ceiling).high
    assert ceiling.baseline == {"difficulty": "easy"}
    hard = next(g for g in found.groups if g.key == {"difficulty": "hard"})
    assert [c.quantity for c in hard.contrasts] == [
        "a",
        "ceiling",
        "onset",
        "gain",
        "fall",
    ]
    groups = law_json.from_analysis(found)["groups"]
    written = [c for g in groups for c in g["contrasts"] if c["quantity"] == "ceiling"]
    assert written[0]["with"] == {"difficulty": "easy"}
    assert [written[0][name] for name in ("difference", "low", "high")] == [
        ceiling.difference, ceiling.low, ceiling.high
    ]  # fmt: skip


def test_levels_that_are_the_same_are_equivalent_where_the_seeds_can_tell(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": law_with(0.3, 1.1), "hard": law_with(0.3, 1.1)}, seeds=5)
    found = analyse([tmp_path])
    assert contrast(found, "ceiling").decision == "equivalent"
    assert contrast(found, "a").decision == "equivalent"
    assert present(contrast(found, "ceiling").p_equivalent) < 0.05
    tighter = analyse([tmp_path], margins={**DEFAULT_MARGINS, "ceiling": 0.003})
    undecided = contrast(tighter, "ceiling")
    assert undecided.decision == "undecided"
    assert present(undecided.seeds_needed) > 5
    assert present(undecided.minimum_detectable) > 0.003


def test_a_steeper_law_over_the_same_range_differs(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": law_with(0.2, 1.0), "hard": law_with(0.4, 1.2)})
    a = contrast(analyse([tmp_path]), "a")
    assert a.decision == "differs"
    assert interval(a).low < 0.2 < interval(a).high
    assert a.margin == pytest.approx(0.2 * 0.3, rel=0.1)


def along_a_line(end: float) -> Callable[[int], SyntheticRun]:
    """One line of R over H for every level: its slope over exp(H) hangs on the range of H."""
    course = synthetic.exponential(end)
    return lambda seed: synthetic.lawful(seed, 600, LOW, course, follows=lambda h: 1 - 0.5 * h)


def test_a_that_differs_only_because_the_range_of_h_does_is_not_called_different(
    tmp_path: Path,
) -> None:
    levels(tmp_path, {"easy": along_a_line(0.05), "hard": along_a_line(0.5)}, seeds=5)
    found = analyse([tmp_path])
    easy, hard = (
        random_effects.unweighted([r.a.value for r in found.runs if r.level == level and r.a])
        for level in ("easy", "hard")
    )
    naive = random_effects.difference(hard, easy)
    assert naive is not None
    assert p_differs(naive) < 0.001
    a = contrast(found, "a")
    assert a.decision != "differs"
    assert interval(a).low < 0 < interval(a).high
    assert abs(interval(a).value) < 0.25 * abs(naive.value)


def test_levels_without_an_h_in_common_have_no_a_to_compare(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": law_with(0.3, 1.1, 0.7, 2.0), "hard": law_with(0.3, 1.1)})
    a = contrast(analyse([tmp_path]), "a")
    assert (a.decision, a.difference, a.p_holm) == ("not_comparable", None, None)
    assert a.why == "no H in common: there is no range of H that every run passes through"


def test_on_each_levels_own_reward_ceilings_are_on_different_scales(tmp_path: Path) -> None:
    logs = {"easy": law_with(0.3, 1.1), "hard": law_with(0.3, 0.9)}
    levels(tmp_path, logs, lines=synthetic.rows)
    found = analyse([tmp_path])
    for quantity in ("ceiling", "gain"):
        assert contrast(found, quantity).decision == "not_comparable"
    said = contrasts.decision(contrast(found, "ceiling"))
    assert said.startswith("not comparable: different scales: each on its own users' reward")


def test_one_seed_decides_nothing_and_says_why(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": law_with(0.3, 1.1), "hard": law_with(0.3, 0.8)}, seeds=1)
    found = analyse([tmp_path])
    for quantity in ("a", "ceiling", "onset", "gain"):
        one = contrast(found, quantity)
        assert (one.decision, one.difference, one.p_holm) == ("undecided", None, None)
        assert one.why == "difficulty=hard has one seed: seeds are the replicates, not steps"
        assert present(one.seeds_needed) >= 3
    assert "needs at least" in contrasts.decision(contrast(found, "a"))


def test_levels_whose_conversations_fail_unlike_often_are_flagged(tmp_path: Path) -> None:
    def lines(log: SyntheticRun) -> list[dict[str, Any]]:
        return rows(log, **{"sim/failed": 4 if next(count) >= 3 else 0})

    count = iter(range(6))
    logs = {"easy": law_with(0.3, 1.1), "hard": law_with(0.3, 1.1)}
    found = analyse([levels(tmp_path, logs, seeds=3, lines=lines)])
    ceiling = contrast(found, "ceiling")
    asked = (found.runs[0].config or {})["trainer"]["conversations"]
    assert ceiling.unlike_failures == pytest.approx([4 / asked, 0.0])
    assert "of conversations failed, against 0.0%" in contrasts.decision(ceiling)


def test_runs_whose_remedy_never_acted_are_marked_in_what_they_are_compared_with(
    tmp_path: Path,
) -> None:
    def lines(log: SyntheticRun) -> list[dict[str, Any]]:
        return rows(log, **{"remedy/acted": [None, 0.0, 0.01][next(count) // 3]})

    count = iter(range(9))
    logs = {"easy": law_with(0.3, 1.1), "medium": law_with(0.3, 1.0), "hard": law_with(0.3, 1.1)}
    found = analyse([levels(tmp_path, logs, seeds=3, lines=lines)])
    assert sorted(str(run.remedy_acted) for run in found.runs) == sorted(
        [*["None"] * 3, *["0.0"] * 3, *["0.01"] * 3]
    )
    marked = [c.remedy_inactive for group in found.groups for c in group.contrasts]
    assert sorted(set(marked)) == [0, 3]
    said = [contrasts.decision(c) for g in found.groups for c in g.contrasts]
    inactive = "the remedy was inactive (acted on no token) in 3 of the runs"
    assert sum(inactive in sentence for sentence in said) == 2 * 5


def test_unlike_cards_are_not_compared_unless_told_to(tmp_path: Path) -> None:
    for level, tokens in (("easy", "acts"), ("hard", "own tokens")):
        for seed in (1, 2, 3):
            lines = rows(law_with(0.3, 1.1)(seed + len(level + tokens)))
            card = {"entropy": {"tokens": tokens}}
            where = tmp_path / f"{level}{seed}"
            run_folders.write_run(where, lines, seed=seed, level=level, measurement=card)
    a = contrast(analyse([tmp_path]), "a")
    assert a.decision == "not_comparable"
    assert a.why == "measured in different ways: measurement.entropy.tokens"
    assert contrast(analyse([tmp_path], pool_unlike=True), "a").difference is not None


@pytest.mark.parametrize(
    ("policies", "why"),
    [
        (("tiny", "tiny"), "measured in different ways: measurement.start_model"),
        (("tiny", "narrow"), None),
    ],
)
def test_start_models_may_differ_where_policies_are_compared(
    policies: tuple[str, str], why: str | None, tmp_path: Path
) -> None:
    """Arms of one policy that began with unlike weights differ by these too."""
    for index, (policy, start) in enumerate(zip(policies, ("a" * 64, "b" * 64), strict=True)):
        for seed in (1, 2, 3):
            where = tmp_path / f"{index}-{seed}"
            level = ("easy", "hard")[index] if why else "easy"
            lines = rows(law_with(0.3, 1.1)(seed + 10 * index))
            run_folders.write_run(where, lines, seed=seed, level=level, start_model=start)
            run_folders.planned_with(where, "policy", name=policy)
    assert contrast(analyse([tmp_path]), "a").why == why


def test_levels_that_differ_in_something_else_too_are_not_compared(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": law_with(0.3, 1.1), "hard": law_with(0.3, 1.1)}, seeds=2)
    for run in tmp_path.glob("hard-*"):
        run_folders.planned_with(run, "algorithm", learning_rate=0.5)
    ceiling = contrast(analyse([tmp_path]), "ceiling")
    assert ceiling.decision == "not_comparable"
    assert ceiling.why == "differ in 2 axes: algorithm.learning_rate, difficulty"


def test_pairs_that_differ_in_several_axes_are_left_out_and_counted(tmp_path: Path) -> None:
    for level in ("easy", "hard"):
        for null in (False, True):
            for seed in (1, 2):
                run_folders.write_run(
                    tmp_path / f"{level}{null}{seed}",
                    rows(law_with(0.3, 1.1)(seed)), seed=seed, level=level, null_control=null,
                )  # fmt: skip
    found = analyse([tmp_path])
    pairs = {(str(g.key), str(c.baseline)) for g in found.groups for c in g.contrasts}
    assert len(pairs) == 3
    notes = " ".join(contrasts.notes(found))
    assert "2 pairs of groups not compared: they differ in several axes" in notes


def test_holm_counts_every_pair_of_a_quantity_and_no_other_quantity(tmp_path: Path) -> None:
    logs = {"easy": law_with(0.3, 1.1), "hard": law_with(0.3, 1.0)}
    two = contrast(analyse([levels(tmp_path, logs, seeds=3)]), "ceiling")
    levels(tmp_path, {"medium": law_with(0.3, 1.05)}, seeds=3)
    three = analyse([tmp_path])
    same = [
        c
        for g in three.groups
        for c in g.contrasts
        if c.quantity == "ceiling" and c.baseline == {"difficulty": "easy"}
    ]
    hard = next(c for c in same if c.difference == two.difference)
    assert present(two.p_holm) == pytest.approx(present(two.p) / PRIMARY_SHARE)
    assert present(hard.p_holm) == pytest.approx(3 * present(hard.p) / PRIMARY_SHARE)


def test_contrasts_csv_holds_what_the_json_does_and_goes_when_they_go(tmp_path: Path) -> None:
    runs = levels(tmp_path / "runs", {"easy": law_with(0.3, 1.1), "hard": law_with(0.3, 1.0)})
    found, out = analyse([runs]), tmp_path / "law"
    write_results(found, out, "none")
    with (out / "contrasts.csv").open(newline="") as file:
        lines = {line["quantity"]: line for line in csv.DictReader(file)}
    ceiling = contrast(found, "ceiling")
    assert float(lines["ceiling"]["difference"]) == ceiling.difference
    assert lines["ceiling"]["with"] == "difficulty=easy"
    assert lines["onset"]["on"] == ""
    groups = tuple(dataclasses.replace(group, contrasts=()) for group in found.groups)
    write_results(dataclasses.replace(found, groups=groups), out, "none")
    assert not (out / "contrasts.csv").exists()


ODD = {
    "constant": np.full(20, 0.5),
    "zero": np.zeros(20),
    "line": np.linspace(1, 0, 20),
    "huge": np.full(20, 1e99),
    "jumps": np.resize([0.0, 1e-300, 1e99, -1e99, 1.0], 20),
}


@pytest.mark.parametrize(
    ("entropy", "reward"),
    [
        ("constant", "zero"),
        ("zero", "huge"),
        ("line", "line"),
        ("huge", "jumps"),
        ("jumps", "line"),
    ],
)
def test_whatever_the_rows_hold_contrasts_are_json(
    tmp_path: Path, entropy: str, reward: str
) -> None:
    steps = np.arange(1.0, 21)
    line = SyntheticRun(steps, ODD["line"], 1 - ODD["line"])
    levels(tmp_path, {"easy": lambda _: line}, seeds=2)
    levels(tmp_path, {"hard": lambda _: SyntheticRun(steps, ODD[entropy], ODD[reward])}, seeds=2)
    json.dumps(law_json.from_analysis(analyse([tmp_path])), allow_nan=False)
