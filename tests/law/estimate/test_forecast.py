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

from harness.cli.fit import Wanted, fit
from harness.errors import ConfigError
from harness.law.analysis import analyse
from harness.law.estimate.forecast import forecast, guesses
from harness.law.io.clean import Cleaned
from harness.law.results import Forecast
from harness.testing import synthetic
from harness.testing.cells import points_of
from harness.testing.synthetic import LOW, NONE, Log
from tests.present import present

RUNS = 40
Make = Callable[[int], Log]


def cleaned(log: Log) -> Cleaned:
    rows = np.arange(len(log.steps))
    return Cleaned(points_of(log), log.steps, log.entropy, rows, {}, {})


def forecasts(make: Make, share: float) -> list[Forecast]:
    """Those of the runs whose a is identified from their first part."""
    found = [forecast(cleaned(make(seed)), share) for seed in range(RUNS)]
    return [f for f in found if f.identified]


def typical(found: list[Forecast], error: str) -> float:
    return float(np.sqrt(np.mean([getattr(f, error) ** 2 for f in found])))


def held(found: list[Forecast]) -> float:
    return float(np.mean([present(f.low) <= present(f.truth) <= present(f.high) for f in found]))


def partial(seed: int) -> Log:
    return synthetic.lawful(seed, 600, LOW, synthetic.exponential(0.5))


@pytest.mark.parametrize("share", [0.15, 0.36, 0.5])
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


def test_no_interval_foresees_that_the_law_ends() -> None:
    found = forecasts(lambda seed: synthetic.hack(seed, 1000, LOW), 0.36)
    assert held(found) <= 0.1


def test_without_noise_an_exponential_decay_is_foretold() -> None:
    log = synthetic.lawful(1, 400, synthetic.Noise(0.0, 0.0, 0.0), lambda u: np.exp(-2 * u))
    found = forecast(cleaned(log), 0.5)
    assert found.from_step == pytest.approx(1 + 0.5 * 399)
    assert found.value == pytest.approx(
        float(synthetic.law(np.exp(-2 * np.array([0.976])))[0]), abs=0.02
    )
    assert found.truth == pytest.approx(log.reward[-20:].mean(), abs=0.005)


TIME = np.linspace(0, 1, 30)


def guesses_on(h: synthetic.Floats, at: float) -> dict[str, float]:
    return guesses(TIME, np.log(h), at)


def test_each_way_to_go_on_is_right_where_h_goes_that_way() -> None:
    decaying = guesses_on(np.exp(-1.5 * TIME), 2.0)
    for way in ("log_linear", "log_linear_second_half", "saturating", "saturating_floored"):
        assert decaying[way] == pytest.approx(np.exp(-3.0), abs=0.02)
    settling = guesses_on(0.4 + 0.6 * np.exp(-TIME / 0.2), 2.0)
    for way in ("last_value", "saturating", "saturating_floored"):
        assert settling[way] == pytest.approx(0.4, abs=0.02)
    assert settling["log_linear"] < 0.3


def test_a_floor_at_no_entropy_is_kept_where_h_sinks_in_a_line() -> None:
    sinking = guesses_on(1.0 - 0.8 * TIME, 3.0)
    assert sinking["saturating"] == 0.0
    assert 0.0 < sinking["saturating_floored"] < 0.2


@given(st.lists(st.floats(-14, 3), min_size=8, max_size=40), st.floats(1.0, 100.0))
@settings(deadline=None)
def test_a_guess_is_an_entropy_that_a_row_may_hold(log_h: list[float], at: float) -> None:
    time = np.linspace(0, 1, len(log_h))
    for h in guesses(time, np.array(log_h), at).values():
        assert 0.0 <= h <= 20.0


def test_too_few_points_before_it_give_no_number_but_what_came() -> None:
    found = forecast(cleaned(synthetic.lawful(1, 40, LOW)), 0.2)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.identified is False
    assert found.error is None
    assert found.truth is not None
    json.dumps(dataclasses.asdict(found), allow_nan=False)


@pytest.mark.parametrize("share", [0.001, 0.97, 0.999])
def test_any_share_is_answered(share: float) -> None:
    found = forecast(cleaned(synthetic.lawful(1, 300, LOW)), share)
    json.dumps(dataclasses.asdict(found), allow_nan=False)
    assert (found.value is None) == (share < 0.1)


def test_a_constant_reward_or_entropy_is_answered() -> None:
    for log in (synthetic.constant(1, 200, NONE), synthetic.unrelated(1, 200, NONE)):
        json.dumps(dataclasses.asdict(forecast(cleaned(log), 0.5)), allow_nan=False)


def test_rows_after_the_share_change_nothing_but_what_came() -> None:
    log = synthetic.lawful(1, 400, LOW)
    spoiled = Log(log.steps, log.entropy.copy(), log.reward.copy())
    spoiled.entropy[250:], spoiled.reward[250:] = 3.0, -5.0
    one, other = (forecast(cleaned(run), 0.5) for run in (log, spoiled))
    for key in ("value", "low", "high", "from_step", "identified", "last_value"):
        assert getattr(one, key) == getattr(other, key)
    assert one.truth != other.truth


def test_a_forecast_is_in_the_json_of_a_run_only_if_asked_for(tmp_path: Path) -> None:
    synthetic.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
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
    wanted = Wanted((tmp_path,), None, None, None, "none", pool_unlike=False, forecast_from=share)
    rule = r"^--forecast-from: must be a share of each run, above 0 and below 1, got "
    with pytest.raises(ConfigError, match=rule) as refused:
        fit(wanted, as_json=True, explain=False)
    assert refused.value.exit_code == 2
