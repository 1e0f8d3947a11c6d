"""Contrasts beside null controls: gains whose part without any signal is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law import advice
from harness.law.analysis import analyse
from harness.law.compare import quantities, random_effects
from harness.law.estimate.null_control import gain_minus_nulls
from harness.law.group_results import Analysis, Contrast
from harness.law.io.clean import Points
from harness.report.tables import contrasts
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW
from tests.present import interval

COMMON = "eval/medium/reward"
N = 200
SEEDS = (1, 2, 3, 4)
SEEN = 0.9
"""Of a reward that rises in a line, last tenth minus first."""


def points(rng: np.random.Generator, gain: float, noise: float = 0.02) -> Points:
    """R rises by `gain` in a line; runs differ in that by 0.005 and their R is noisy."""
    u = np.arange(N) / N
    rises = gain + 0.005 * rng.normal()
    reward = 0.3 + rises * u + noise * rng.normal(size=N)
    return Points(np.arange(1.0, N + 1), 1 - 0.5 * u, reward)


def rows(gain: float, draw: tuple[int, ...], own: bool) -> list[dict[str, Any]]:
    """The gain is on the common evaluation; a run's reward stays where it is, but for its `own`."""
    p = points(np.random.default_rng(draw), gain)
    lines = zip(p.steps, p.entropy, p.reward, strict=True)
    return [
        {"step": int(s), "entropy": h, "reward": r if own else 0.5 + 0.01 * (s % 7), COMMON: r}
        for s, h, r in lines
    ]


def study(
    folder: Path,
    gains: Mapping[str, tuple[float, float]],
    null_name: str = "null",
    own: bool = False,
) -> Path:
    """Level -> gain of its runs and of their null controls; one of each a seed."""
    for place, (level, (real, null)) in enumerate(gains.items()):
        for seed in SEEDS:
            name = f"{level}-{seed}"
            real_rows = rows(real, (place, seed, 0), own)
            null_rows = rows(null, (place, seed, 1), own)
            run_folders.write_run(folder / f"{name}-real", real_rows, seed=seed, level=level)
            run_folders.write_run(
                folder / f"{name}-{null_name}", null_rows, seed=seed, level=level, null_control=True
            )
    return folder


def of_levels(found: Analysis, quantity: str = "gain") -> Contrast:
    """The contrast of the two levels' runs."""
    (one,) = [
        c
        for g in found.groups
        for c in g.contrasts
        if c.quantity == quantity and c.baseline["difficulty"] != g.key["difficulty"]
    ]
    return one


def test_a_difference_that_only_the_null_controls_hide_is_given_net_of_them(tmp_path: Path) -> None:
    found = analyse([study(tmp_path, {"easy": (0.4, 0.3), "hard": (0.4, 0.1)})])
    gain = of_levels(found)
    assert gain.decision == "equivalent"
    assert gain.on == COMMON
    net = interval(gain.net_of_null)
    assert 0.1 < net.low < SEEN * 0.2 < net.high
    assert "; net of the null 0." in contrasts.decision(gain)
    assert of_levels(found, "ceiling").net_of_null is None


def test_a_difference_that_the_null_controls_have_too_is_none_net_of_them(tmp_path: Path) -> None:
    gain = of_levels(analyse([study(tmp_path, {"easy": (0.5, 0.3), "hard": (0.3, 0.1)})]))
    assert gain.decision == "differs"
    assert gain.difference == pytest.approx(-SEEN * 0.2, abs=0.05)
    net = interval(gain.net_of_null)
    assert net.low < 0 < net.high
    assert net.high - net.low < 0.2


def test_the_interval_net_of_the_null_holds_the_truth() -> None:
    rng, held = np.random.default_rng(5), []
    for _ in range(200):
        one, other = quantities.samples(
            "gain",
            [
                [gain_minus_nulls(points(rng, real), [points(rng, null)], N) for _ in SEEDS]
                for real, null in ((0.4, 0.1), (0.4, 0.3))
            ],
        )
        estimate = random_effects.difference(one, other)
        assert estimate is not None
        net = estimate.interval()
        held.append(net.low <= SEEN * 0.2 <= net.high)
    assert np.mean(held) >= 0.92


def test_without_a_null_control_of_its_seed_for_every_run_nothing_is_net(tmp_path: Path) -> None:
    study(tmp_path, {"easy": (0.4, 0.3), "hard": (0.4, 0.1)})
    (tmp_path / "hard-3-null" / "config.yaml").unlink()
    gain = of_levels(analyse([tmp_path]))
    assert gain.net_of_null is None
    assert gain.difference is not None
    assert "net of the null" not in contrasts.decision(gain)


@pytest.mark.parametrize("null_name", ["a", "z"])
def test_a_run_is_held_against_its_null_control_whichever_comes_first(
    tmp_path: Path, null_name: str
) -> None:
    study(tmp_path, {"easy": (0.4, 0.1), "hard": (0.3, 0.1)}, null_name, own=True)
    found = analyse([tmp_path])
    against = [
        (g.key["difficulty"], c.difference)
        for g in found.groups
        for c in g.contrasts
        if c.quantity == "gain" and c.baseline["algorithm.null_control"]
    ]
    assert [level for level, _ in against] == ["easy", "hard"]
    assert [d for _, d in against] == pytest.approx([SEEN * 0.3, SEEN * 0.2], abs=0.05)
    nulls = [g for g in found.groups if g.key["algorithm.null_control"]]
    assert [list(g.contrasts) for g in nulls] == [[], []]
    notes = " ".join(contrasts.notes(found))
    assert "1 comparison between two null controls omitted" in notes
    assert "2 pairs of groups not compared" in notes


@pytest.mark.parametrize(("planned", "advised"), [(10, 2), (None, 3)])
def test_a_compared_on_too_few_evaluations_asks_for_more_of_them(
    tmp_path: Path, planned: int | None, advised: int
) -> None:
    """Of 300 steps planned without a number each 15th is evaluated."""
    for level, end in (("easy", 0.05), ("hard", 0.6)):
        for seed in SEEDS:
            log = synthetic.lawful(seed, 300, LOW, synthetic.exponential(end))
            lines = synthetic.rows(log)
            for line in lines:
                line[COMMON] = line["reward"] if line["step"] % 10 == 1 else None
            run = run_folders.write_run(tmp_path / f"{level}{seed}", lines, seed=seed, level=level)
            run_folders.planned_with(run, "trainer", steps=300, eval_every=planned)
    found = analyse([tmp_path])
    a = next(c for g in found.groups for c in g.contrasts if c.quantity == "a")
    assert a.decision == "not_comparable"
    assert advice.what_would_decide(found)[-1] == (
        "With more frequent evaluations a may be comparable on eval/medium/reward: "
        f"add trainer.eval_every={advised}."
    )


def test_the_range_of_h_that_a_is_drawn_over_is_that_of_runs_with_a_signal(tmp_path: Path) -> None:
    """Null controls whose H keeps its level would leave no range to compare the others over."""
    for level in ("easy", "medium"):
        for seed in (1, 2, 3):
            lawful = synthetic.rows(synthetic.lawful(seed, 300, LOW))
            still = synthetic.rows(synthetic.flat(seed, 300, LOW))
            name = f"{level}-{seed}"
            run_folders.write_run(tmp_path / name, lawful, seed=seed, level=level)
            run_folders.write_run(
                tmp_path / f"{name}-null", still, seed=seed, level=level, null_control=True
            )
    compared = [group.compared for group in analyse([tmp_path]).groups]
    assert len(compared) == 4
    for group in compared:
        assert group is not None
        assert group.shared_range
        if not group.seeds[0].run.endswith("null"):
            assert interval(group.a).low <= synthetic.TRUE_A <= interval(group.a).high
