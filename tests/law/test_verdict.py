"""The verdict on regimes that are known; and its reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.law import law_json
from harness.law import verdict as verdict
from harness.law.analysis import analyse
from harness.law.estimate import identifiability, onset, regime
from harness.law.estimate.onset import BinnedEntropy
from harness.law.reasons import REASONS
from harness.law.results import Identifiability, Interval, Onset
from harness.testing import cells, promises, run_folders, synthetic
from harness.testing.synthetic import HIGH, LOW, Noise, SyntheticRun

RUNS = 40
HOLDS = "holds, whatever the form"
Make = Callable[[int, int, Noise], SyntheticRun]


def words(make: Make, n: int, noise: Noise) -> Counter[str]:
    counts = Counter(cells.judge_run(make(s, n, noise)).word for s in range(RUNS))
    counts[HOLDS] = sum(counts[word] for word in promises.CLAIMED)
    return counts


def partial(seed: int, n: int, noise: Noise) -> SyntheticRun:
    return synthetic.lawful(seed, n, noise, synthetic.exponential(0.5))


def kink_flat(seed: int, n: int, noise: Noise) -> SyntheticRun:
    return synthetic.kink(seed, n, noise, post=0.0)


EXPECTED: dict[str, tuple[Make, int, Noise, str, float]] = {
    "law": (synthetic.lawful, 300, LOW, HOLDS, 0.95),
    "law, high noise": (synthetic.lawful, 300, HIGH, HOLDS, 0.70),
    "law to half of H": (partial, 300, LOW, HOLDS, 0.95),
    "reward falls with H": (synthetic.kink, 300, LOW, "holds_until_onset", 0.90),
    "reward stops with H": (kink_flat, 300, LOW, "holds_until_onset", 0.90),
    "reward is hacked": (synthetic.hack, 300, LOW, "fails", 0.95),
    "hacked, high noise": (synthetic.hack, 300, HIGH, "fails", 0.85),
    "entropy explodes": (synthetic.explode, 300, LOW, "fails", 0.95),
    "explodes, high noise": (synthetic.explode, 300, HIGH, "fails", 0.90),
    "wrong sign": (synthetic.wrong_sign, 300, LOW, "fails", 0.95),
    "eleven evaluations": (lambda s, n, q: synthetic.lawful(s, 11, q), 11, LOW, "undetermined", 1),
    "constant entropy": (synthetic.constant, 300, LOW, "undetermined", 1),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_regime_gets_its_word(name: str) -> None:
    make, n, noise, word, share = EXPECTED[name]
    assert words(make, n, noise)[word] >= share * RUNS


@pytest.mark.parametrize("make", [synthetic.unrelated, synthetic.flat, synthetic.random_walk])
@pytest.mark.parametrize("noise", [LOW, HIGH])
def test_where_there_is_no_law_it_seldom_holds(make: Make, noise: Noise) -> None:
    assert words(make, 300, noise)[HOLDS] <= 0.10 * RUNS


@pytest.mark.parametrize(("n", "noise"), [(60, LOW), (300, HIGH)])
def test_a_reward_that_stops_with_entropy_seldom_passes_for_the_law(n: int, noise: Noise) -> None:
    assert words(kink_flat, n, noise)[HOLDS] <= 0.10 * RUNS


def test_where_exp_h_hardly_moves_a_true_law_is_not_denied() -> None:
    """The law asks for 0.016 of reward there, which says nothing of a as steep as the true one."""
    found = [
        cells.judge_run(synthetic.lawful(s, 300, LOW, synthetic.exponential(0.5, 0.1)))
        for s in range(RUNS)
    ]
    assert not any("no_relation" in verdict.reasons for verdict in found)
    assert sum(v.word == "fails" for v in found) <= 0.05 * RUNS
    assert "identification_range" in found[0].reasons


def turning(seed: int, end: float, hacked: float) -> SyntheticRun:
    """H falls to 0.3 until the middle and rises to `end`; R follows, and loses `hacked` besides."""
    rng, u = np.random.default_rng(seed), np.arange(300) / 300
    h = np.interp(u, [0.0, 0.5, 1.0], [1.0, 0.3, end])
    reward = synthetic.law(h) - hacked * np.maximum(u - 0.5, 0.0)
    return SyntheticRun(np.arange(1.0, 301), h, reward + 0.02 * rng.normal(size=300))


def test_a_fall_of_the_reward_is_no_turn_where_a_rise_of_h_explains_it() -> None:
    turn = "reward_falls_while_entropy_falls"
    for seed in range(20):
        assert turn not in cells.judge_run(turning(seed, end=0.6, hacked=0.0)).reasons
        assert turn in cells.judge_run(turning(seed, end=0.32, hacked=0.5)).reasons


REASON_OF: dict[str, tuple[Make, int, str]] = {
    "short": (synthetic.lawful, 12, "too_few_steps"),
    "constant": (synthetic.constant, 300, "identification_range"),
    "wrong sign": (synthetic.wrong_sign, 300, "wrong_sign"),
    "hack": (synthetic.hack, 300, "reward_falls_while_entropy_falls"),
    "explode": (synthetic.explode, 300, "entropy_rises"),
    "kink": (synthetic.kink, 300, "law_break"),
    "unrelated": (synthetic.unrelated, 5000, "no_relation"),
}


@pytest.mark.parametrize("name", REASON_OF)
def test_each_regime_gets_its_reason(name: str) -> None:
    make, n, reason = REASON_OF[name]
    found = cells.judge_run(make(1, n, LOW))
    assert reason in found.reasons
    assert set(found.reasons) <= set(REASONS)


def test_a_law_fitted_on_half_predicts_the_other_half_and_chance_does_not() -> None:
    lawful = cells.judge_run(synthetic.lawful(1, 1000, LOW, lambda u: 1 - 0.9 * u)).skill
    unrelated = cells.judge_run(synthetic.saturating(1, 1000, LOW)).skill
    assert lawful is not None
    assert unrelated is not None
    assert lawful > 0.5
    assert unrelated < 0


def test_a_remedy_is_a_reason_of_its_own() -> None:
    log = synthetic.lawful(1, 300, LOW)
    points = cells.points_of(log)
    judged = verdict.judge(identifiability.fit(points), None, None, intervened=True)
    assert judged.reasons[-1] == "intervened"


def course_of(log: SyntheticRun) -> BinnedEntropy:
    course = onset.bin_entropy(log.steps, log.entropy)
    assert course is not None
    return course


FLAT, NO_GAIN, GAIN = None, Interval(0.0, -0.1, 0.1), Interval(0.2, 0.1, 0.3)
SILENT, UNSURE = Interval(0.6, 0.55, 0.65), Interval(0.6, 0.45, 0.75)
REGIMES = {
    "exploded": (synthetic.flat, GAIN, Onset("explosion", 5, 4, 6), SILENT),
    "starved": (synthetic.flat, NO_GAIN, None, SILENT),
    "collapsed": (synthetic.lawful, GAIN, Onset("terminal_fall", 5, 4, 6), SILENT),
    "spent": (synthetic.lawful, GAIN, Onset("budget_spent", 5, 4, 6), None),
    "learning": (synthetic.lawful, GAIN, None, SILENT),
    "drifting": (synthetic.flat, NO_GAIN, None, UNSURE),
}


@pytest.mark.parametrize("word", REGIMES)
def test_the_regime_is_the_first_that_fits(word: str) -> None:
    make, won, at, silent = REGIMES[word]
    assert regime.regime(course_of(make(1, 200, LOW)), won, at, silent) == word
    assert regime.regime(None, won, at, silent) is None


def test_entropy_that_moved_is_not_starved() -> None:
    moved = course_of(synthetic.lawful(1, 200, LOW))
    assert regime.regime(moved, NO_GAIN, None, SILENT) == "drifting"


def test_the_gain_is_known_within_its_interval() -> None:
    steady = replace(LOW, wander=0.0)
    runs = [cells.points_of(synthetic.lawful(s, 300, steady)) for s in range(100)]
    truths = [synthetic.law(synthetic.exponential(0.05)(run.steps / 300)) for run in runs]
    held = [
        won.low <= truth[-30:].mean() - truth[:30].mean() <= won.high
        for run, truth in zip(runs, truths, strict=True)
        if (won := regime.gain(run)) is not None
    ]
    assert len(held) == 100
    assert sum(held) >= 85
    flat = [regime.gain(cells.points_of(synthetic.flat(s, 300, LOW))) for s in range(100)]
    assert sum(won is not None and won.low > 0 for won in flat) <= 8


def test_the_law_of_a_run_is_that_until_its_onset_beside_that_of_the_whole_run(
    tmp_path: Path,
) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.kink(1, 600, LOW)))
    (run,) = analyse([tmp_path]).runs
    assert run.verdict == "holds_until_onset"
    assert run.onset is not None
    assert run.a is not None
    assert run.a.low <= synthetic.TRUE_A <= run.a.high
    assert run.n_fitted == np.ceil(run.onset.step) - 1
    assert run.whole_run is not None
    assert run.whole_run.n_fitted == run.n_valid == 600
    assert run.whole_run.a is not None
    assert run.whole_run.a.value < 0.5 * synthetic.TRUE_A
    json.dumps(law_json.from_run(run), allow_nan=False)


@pytest.mark.parametrize("reward", [0.0, 0.7])
@pytest.mark.parametrize("wobble", [1e-4, 0.05])
def test_where_neither_h_nor_the_reward_moves_nothing_is_known(
    tmp_path: Path, reward: float, wobble: float
) -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"step": n + 1, "entropy": 6.2 + wobble * float(rng.normal()), "reward": reward}
        for n in range(60)
    ]
    run_folders.write_rows(tmp_path, rows)
    (run,) = analyse([tmp_path]).runs
    assert run.identified == Identifiability(a=False, ceiling=False)
    assert (run.verdict, run.reasons) == ("undetermined", ["identification_range"])
