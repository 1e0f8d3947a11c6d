"""Rows that went wrong are put back, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.law.analysis import analyse
from harness.law.estimate import onset, spikes
from harness.testing import cells, run_folders, synthetic, turning
from harness.testing.promises import HOLDS
from harness.testing.synthetic import HIGH, LOW, NONE, Floats, Noise
from tests.present import present

RUNS = 20
finite = st.floats(-1e6, 1e6, allow_nan=False)


def calm(n: int = 200) -> Floats:
    return 1.0 + 0.03 * np.random.default_rng(1).normal(size=n)


@pytest.mark.parametrize("at", [[0], [60], [60, 61, 62], [60, 61, 63, 66, 67], [198, 199]])
@pytest.mark.parametrize("value", [0.01, 15.0])
def test_lone_rows_and_bursts_go_back_among_their_neighbours(at: list[int], value: float) -> None:
    spoiled = calm()
    spoiled[at] = value
    found = spikes.without_glitches(spoiled)
    assert spikes.glitch_count(spoiled, found) == len(at)
    assert np.abs(found[at] - 1.0).max() < 0.2
    kept = np.delete(np.arange(200), at)
    np.testing.assert_array_equal(found[kept], spoiled[kept])


@pytest.mark.parametrize("tau", [0.8, 2.0, 5.0, 30.0])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_the_steep_start_of_a_run_is_kept(tau: float, noise: float) -> None:
    steps = np.arange(200.0)
    course = 0.5 + 1.5 * np.exp(-steps / tau)
    course *= 1 + noise * np.random.default_rng(2).normal(size=200)
    assert spikes.glitch_count(course, spikes.without_glitches(course)) == 0


@pytest.mark.parametrize(
    "course",
    [
        np.abs(np.arange(200.0) - 90),
        np.where(np.arange(200) < 90, 1.0, 3.0) + 0.01 * calm(),
        np.zeros(200),
        np.where(np.arange(200) % 40 == 0, 1.0, 0.0),
        np.arange(30.0) ** 3,
    ],
    ids=["a sharp turn", "a step", "nothing", "rare successes", "too few rows"],
)
def test_what_is_no_glitch_stays_as_it_is(course: Floats) -> None:
    assert spikes.without_glitches(course) is course


@pytest.mark.parametrize("noise", [LOW, HIGH])
def test_noise_is_hardly_ever_a_glitch(noise: Noise) -> None:
    logs = [synthetic.kink(seed, 2000, noise) for seed in range(RUNS)]
    for series in ("entropy", "reward"):
        courses = [getattr(log, series) for log in logs]
        assert np.mean([spikes.glitch_count(c, spikes.without_glitches(c)) for c in courses]) < 0.3


@given(st.lists(finite, max_size=60), st.floats(0.01, 100), st.floats(-100, 100))
def test_no_value_leaves_the_range_and_the_unit_does_not_matter(
    values: list[float], scale: float, shift: float
) -> None:
    series = np.array(values)
    found = spikes.without_glitches(series)
    assert found.shape == series.shape
    if len(values):
        assert series.min() <= found.min()
        assert found.max() <= series.max()
    near = spikes.without_glitches(np.round(series) * 2.0**3) / 2.0**3
    np.testing.assert_array_equal(near, spikes.without_glitches(np.round(series)))


@pytest.mark.parametrize("value", [0.01, 15.0])
@pytest.mark.parametrize("regime", ["law", "kink_flat", "unrelated"])
def test_no_verdict_turns_on_one_row_in_a_hundred(regime: str, value: float) -> None:
    same = []
    for seed in range(RUNS):
        log = cells.REGIMES[regime](seed, 1000, LOW)
        spoiled = turning.add_glitches(log, seed, value, burst=seed % 2 == 0)
        same.append(cells.judge_run(spoiled).word == cells.judge_run(log).word)
    assert np.mean(same) >= 0.95


def test_the_onset_is_found_beneath_them() -> None:
    log = synthetic.kink(3, 300, LOW)
    spoiled = turning.add_glitches(log, 3, 15.0, burst=True)
    clean, found = (
        onset.bin_entropy(steps, entropy)
        for steps, entropy in ((log.steps, log.entropy), (spoiled.steps, spoiled.entropy))
    )
    assert clean is not None
    assert found is not None
    np.testing.assert_allclose(found.log_h, clean.log_h, atol=0.2)


def test_a_run_counts_what_was_put_back(tmp_path: Path) -> None:
    log = synthetic.lawful(1, 300, NONE)
    log.entropy[[50, 120, 121]] = 15.0
    log.reward[200] = -40.0
    run_folders.write_rows(tmp_path, synthetic.rows(log))
    (run,) = analyse([tmp_path]).runs
    assert run.spikes is not None
    assert (run.spikes.entropy, run.spikes.reward) == (3, 1)
    assert run.verdict in HOLDS


def test_in_a_run_evaluated_seldom_they_are_sought_among_all_its_rows(tmp_path: Path) -> None:
    """Its 21 evaluations are too few to tell a glitch by themselves."""
    log = synthetic.lawful(2, 400, NONE)
    evaluated = [log.reward[at] if at % 20 == 0 else None for at in range(400)]
    rows = [
        {**row, "eval/reward": r} for row, r in zip(synthetic.rows(log), evaluated, strict=True)
    ]
    whole = run_folders.write_rows(tmp_path / "whole", rows)
    spoiled = run_folders.write_rows(
        tmp_path / "spoiled",
        [{**row, "entropy": 12.0} if row["step"] == 201 else row for row in rows],
    )
    runs = analyse([whole, spoiled], reward="eval/reward").runs
    a, of_spoiled = (present(run.a).value for run in runs)
    assert of_spoiled == pytest.approx(a, rel=0.02)
    assert [present(run.spikes).entropy for run in runs] == [0, 1]
