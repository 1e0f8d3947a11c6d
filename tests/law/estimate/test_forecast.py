"""A forecast from the first part of a run, against the end that is known."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cli.fit import FitOptions, fit
from harness.errors import ConfigError
from harness.law.analysis import analyse
from harness.law.estimate.forecast import forecast, highest, log_linear
from harness.law.io.clean import Cleaned
from harness.law.result_parts import NO_FORECAST, Forecast
from harness.law.results import Floats
from harness.testing import run_folders, synthetic
from harness.testing.cells import points_of
from harness.testing.synthetic import LOW, NONE, SyntheticRun
from tests.present import present

RUNS = 40
Make = Callable[[int], SyntheticRun]


def cleaned(log: SyntheticRun) -> Cleaned:
    rows = np.arange(len(log.steps))
    return Cleaned(points_of(log), log.steps, log.entropy, rows, {}, {})


def forecasts(make: Make, share: float) -> list[Forecast]:
    """Those with an interval."""
    found = [forecast(cleaned(make(seed)), share) for seed in range(RUNS)]
    return [f for f in found if f.why is None]


def typical(found: list[Forecast], error: str) -> float:
    return float(np.sqrt(np.mean([getattr(f, error) ** 2 for f in found])))


def held(found: list[Forecast]) -> float:
    return float(np.mean([present(f.low) <= present(f.truth) <= present(f.high) for f in found]))


def partial(seed: int) -> SyntheticRun:
    return synthetic.lawful(seed, 600, LOW, synthetic.exponential(0.5))


@pytest.mark.parametrize("share", [0.25, 0.36, 0.5])
def test_where_the_law_continues_it_beats_the_last_value_and_its_interval_holds(
    share: float,
) -> None:
    found = forecasts(lambda seed: synthetic.lawful(seed, 1000, LOW), share)
    assert len(found) >= 0.9 * RUNS
    assert typical(found, "error") < 0.5 * typical(found, "last_value_error")
    assert held(found) >= 0.95


def test_the_interval_holds_where_entropy_stops_falling_half_way() -> None:
    found = forecasts(partial, 0.36)
    assert len(found) >= 0.5 * RUNS
    assert held(found) >= 0.95


def test_no_forecast_foresees_that_the_law_ends() -> None:
    found = forecasts(lambda seed: synthetic.hack(seed, 1000, LOW), 0.36)
    assert typical(found, "error") > 1.5 * typical(found, "last_value_error")


def test_without_noise_an_exponential_decay_is_foretold() -> None:
    log = synthetic.lawful(1, 400, synthetic.Noise(0.0, 0.0, 0.0), lambda u: np.exp(-2 * u))
    found = forecast(cleaned(log), 0.5)
    assert found.from_step == pytest.approx(1 + 0.5 * 399)
    assert found.value == pytest.approx(
        float(synthetic.law(np.exp(-2 * np.array([0.976])))[0]), abs=0.02
    )
    assert found.truth == pytest.approx(log.reward[-20:].mean(), abs=0.005)


TIME = np.linspace(0, 1, 32)


def test_h_goes_on_along_its_line_of_logs() -> None:
    assert log_linear(TIME, -1.5 * TIME, 2.0) == pytest.approx(np.exp(-3.0))


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_highest_h_ahead_grows_with_the_spread_of_its_past_moves(noise: float) -> None:
    walk = noise * np.cumsum(np.random.default_rng(1).normal(size=32))
    steady = highest(TIME, -1.5 * TIME + walk, 2.0)
    wild = highest(TIME, -1.5 * TIME + 3 * walk, 2.0)
    assert steady < wild if noise else steady == pytest.approx(np.exp(-1.5 * 15 / 16), rel=0.03)


@given(st.lists(st.floats(-14, 3), min_size=16, max_size=40), st.floats(1.0, 100.0))
@settings(deadline=None)
def test_a_guess_is_an_entropy_that_a_row_may_hold(log_h: list[float], at: float) -> None:
    time = np.linspace(0, 1, len(log_h))
    for guess in (log_linear, highest):
        assert 0.0 <= guess(time, np.array(log_h), at) <= 20.0 + 1e-9


def line(u: Floats) -> Floats:
    return 1 - 0.9 * u


def falls_then_stays(u: Floats) -> Floats:
    return np.maximum(1 - 1.5 * u, 0.3)


def stays_then_falls(u: Floats) -> Floats:
    return np.minimum(1, 1.45 - 0.9 * u)


@pytest.mark.parametrize("course", [line, falls_then_stays, stays_then_falls])
def test_an_interval_holds_wherever_h_goes_or_none_is_given(
    course: Callable[[Floats], Floats],
) -> None:
    for share in (0.36, 0.6):
        found = [
            forecast(cleaned(synthetic.lawful(seed, 1000, LOW, course)), share)
            for seed in range(RUNS)
        ]
        given_ones = [f for f in found if f.why is None]
        assert all((f.low is None) == (f.why is not None) for f in found)
        assert {f.why for f in found} <= {None, *NO_FORECAST}
        assert not given_ones or held(given_ones) >= 0.9


def as_it_is(h: Floats) -> Callable[[Floats], Floats]:
    return lambda _: h


def test_a_path_that_wanders_at_random_gets_no_interval_or_one_that_holds() -> None:
    found = []
    for seed in range(100):
        steps = np.random.default_rng([seed, 1]).normal(size=1000) / 1000**0.5
        walk = 0.8 * np.exp(0.6 * np.cumsum(steps))
        log = synthetic.lawful(seed, 1000, LOW, as_it_is(walk))
        found.append(forecast(cleaned(log), 0.6))
    given_ones = [f for f in found if f.why is None]
    assert held(given_ones) >= 0.9
    assert sum(f.why == "entropy_unpredictable" for f in found) >= 20


def test_too_few_points_before_it_give_no_number_but_what_came() -> None:
    found = forecast(cleaned(synthetic.lawful(1, 40, LOW)), 0.2)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.identified is False
    assert found.why == "no_fit"
    assert found.error is None
    assert found.truth is not None
    json.dumps(dataclasses.asdict(found), allow_nan=False)


@pytest.mark.parametrize("share", [0.001, 0.97, 0.999])
def test_any_share_is_answered(share: float) -> None:
    found = forecast(cleaned(synthetic.lawful(1, 300, LOW)), share)
    json.dumps(dataclasses.asdict(found), allow_nan=False)
    assert (found.value is None) == (share < 0.1)


@pytest.mark.filterwarnings("error")
def test_a_run_that_is_first_evaluated_after_the_share_is_answered() -> None:
    whole = cleaned(synthetic.lawful(1, 60, LOW))
    late = dataclasses.replace(whole, points=whole.points.where(whole.steps > 30))
    found = forecast(late, 0.3)
    assert (found.value, found.last_value, found.why) == (None, None, "no_fit")
    assert found.truth is not None


def test_a_constant_reward_or_entropy_is_answered() -> None:
    for log in (synthetic.constant(1, 200, NONE), synthetic.unrelated(1, 200, NONE)):
        json.dumps(dataclasses.asdict(forecast(cleaned(log), 0.5)), allow_nan=False)


def test_rows_after_the_share_change_nothing_but_what_came() -> None:
    log = synthetic.lawful(1, 400, LOW)
    spoiled = SyntheticRun(log.steps, log.entropy.copy(), log.reward.copy())
    spoiled.entropy[250:], spoiled.reward[250:] = 3.0, -5.0
    one, other = (forecast(cleaned(run), 0.5) for run in (log, spoiled))
    for key in ("value", "low", "high", "from_step", "identified", "last_value"):
        assert getattr(one, key) == getattr(other, key)
    assert one.truth != other.truth


def test_a_forecast_is_in_the_json_of_a_run_only_if_asked_for(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    assert analyse([tmp_path]).runs[0].forecast is None
    given = analyse([tmp_path], forecast_from=0.36).runs[0].forecast
    assert given is not None
    assert [field.name for field in dataclasses.fields(given)][:4] == [
        "value",
        "low",
        "high",
        "from_step",
    ]


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 36.0, float("nan"), float("inf")])
def test_a_share_that_is_none_is_refused(tmp_path: Path, share: float) -> None:
    wanted = FitOptions(
        (tmp_path,), None, None, None, "none", pool_unlike=False, forecast_from=share
    )
    rule = r"^--forecast-from: must be a share of each run, above 0 and below 1, got "
    with pytest.raises(ConfigError, match=rule) as refused:
        fit(wanted, as_json=True, explain=False)
    assert refused.value.exit_code == 2
