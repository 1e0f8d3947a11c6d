"""A whole analysis: the JSON contract, and what a run's numbers depend on."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.group_results import Analysis
from harness.law.result_parts import ERROR_KINDS
from harness.law.results import REGIMES, VERDICTS, RunResult
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW, lawful_rows
from tests.records.bombs import alias_bomb

RUN_KEYS = [
    "run",
    "status",
    "error",
    "n_valid",
    "dropped",
    "reward",
    "entropy",
    "n_fitted",
    "n_eff",
    "verdict",
    "reasons",
    "regime",
    "a",
    "b",
    "ceiling",
    "cov_ab",
    "identified",
    "reliability",
    "out_of_time_skill",
    "intervened",
    "ols",
    "onset",
    "landmarks",
    "rivals",
    "forecast",
    "fits",
    "config",
    "null_share",
]
"""The contract, docs/design.md section 11; further keys may follow."""


def by_name(analysis: Analysis) -> dict[str, RunResult]:
    return {Path(run.run).name: run for run in analysis.runs}


def strict(value: Any) -> Any:
    """Through JSON and back; raises on NaN."""
    return json.loads(json.dumps(value, allow_nan=False))


def test_the_json_has_the_contracts_keys_and_no_nan(tmp_path: Path) -> None:
    rows = [{**row, "eval/reward": row["reward"]} for row in lawful_rows()]
    run_folders.write_run(tmp_path / "ours", rows)
    run_folders.write_rows(tmp_path / "kink", synthetic.rows(synthetic.kink(1, 300, LOW)))
    run_folders.write_rows(tmp_path / "constant", synthetic.rows(synthetic.constant(1, 30, LOW)))
    run_folders.write_rows(tmp_path / "two", lawful_rows(n=2))
    run_folders.write_rows(tmp_path / "none", [])
    found = strict(law_json.from_analysis(analyse([tmp_path])))
    assert list(found) == ["schema", "runs", "groups", "skipped"]
    assert found["schema"] == 2
    for run in found["runs"]:
        assert list(run)[: len(RUN_KEYS)] == RUN_KEYS
        assert run["status"] in ("ok", "error")
        if run["status"] == "error":
            assert set(run["error"]) == {"class", "message"}
            assert run["error"]["class"] in ERROR_KINDS
            assert all(run[key] is None for key in list(run)[5:])
        else:
            check_ok(run)


def check_ok(run: dict[str, Any]) -> None:
    assert run["error"] is None
    assert run["verdict"] in VERDICTS
    assert run["regime"] is None or run["regime"] in REGIMES
    assert set(run["identified"]) == {"a", "ceiling"}
    assert isinstance(run["intervened"], bool)
    for key in ("a", "b", "ceiling", "gain"):
        assert run[key] is None or list(run[key]) == ["value", "low", "high"]
    if run["onset"]:
        assert list(run["onset"]) == ["kind", "step", "low", "high"]
        assert run["onset"]["low"] <= run["onset"]["step"] <= run["onset"]["high"]


def test_the_headline_is_the_evaluation_and_the_other_fit_is_beside_it(tmp_path: Path) -> None:
    rows = [{**row, "eval/reward": row["reward"] - 0.1} for row in lawful_rows()]
    run_folders.write_run(tmp_path, rows, level="hard", seed=7)
    (run,) = analyse([tmp_path]).runs
    assert (run.reward, run.entropy, run.level, run.seed) == ("eval/reward", "entropy", "hard", 7)
    assert run.ceiling is not None
    assert run.fits is not None
    same_batch = run.fits["reward"]
    assert same_batch.ceiling is not None
    assert same_batch.ceiling.value == pytest.approx(run.ceiling.value + 0.1)
    assert run.config is not None
    assert run.config["difficulty"]["name"] == "hard"


def test_a_log_without_a_run_folder_is_judged_by_its_training_reward(tmp_path: Path) -> None:
    rows = [{**row, "eval/reward": row["reward"] - 0.1} for row in lawful_rows()]
    run_folders.write_rows(tmp_path / "bare", rows)
    run_folders.write_run(tmp_path / "ours", rows)
    found = by_name(analyse([tmp_path]))
    bare, ours = found["bare"], found["ours"]
    assert (bare.reward, bare.same_batch, ours.reward, ours.same_batch) == (
        "reward", True, "eval/reward", False
    )  # fmt: skip
    assert bare.fits is not None
    assert ours.fits is not None
    assert bare.fits["eval/reward"].same_batch is False
    assert ours.fits["reward"].same_batch is True
    (asked,) = analyse([tmp_path / "bare"], reward="eval/reward").runs
    assert (asked.a, asked.ceiling) == (ours.a, ours.ceiling)


def test_evaluations_every_tenth_step_and_the_onset_on_every_step(tmp_path: Path) -> None:
    log = synthetic.kink(2, 600, LOW)
    rows = synthetic.rows(log)
    for row in rows:
        row["eval/reward"] = row["reward"] if row["step"] % 10 == 1 else None
    run_folders.write_run(tmp_path, rows)
    (run,) = analyse([tmp_path]).runs
    assert (run.reward, run.n_valid, run.dropped) == ("eval/reward", 60, {})
    assert run.onset is not None
    assert log.onset is not None
    assert abs(run.onset.step - log.onset) < 12


def test_a_starved_run_is_told_by_its_silent_groups(tmp_path: Path) -> None:
    rows = synthetic.rows(synthetic.flat(1, 200, LOW), **{"groups/below_floor": 0.8})
    run_folders.write_rows(tmp_path / "starved", rows)
    rows = synthetic.rows(synthetic.flat(1, 200, LOW), **{"groups/below_floor": 0.2})
    run_folders.write_rows(tmp_path / "drifting", rows)
    found = by_name(analyse([tmp_path]))
    assert {name: run.regime for name, run in found.items()} == {
        "starved": "starved",
        "drifting": "drifting",
    }


@pytest.mark.parametrize("config", [alias_bomb(), "&a [*a]", "a: &a {b: *a}", "- " * 3000])
def test_a_config_without_an_end_costs_a_run_its_level_and_no_number(
    tmp_path: Path, config: str
) -> None:
    run = run_folders.write_run(tmp_path / "run", lawful_rows())
    (whole,) = analyse([run]).runs
    (run / "config.yaml").write_text(config)
    (bare,) = analyse([run]).runs
    assert (whole.level, bare.level) == ("easy", None)
    assert (bare.status, bare.n_valid, bare.b) == (whole.status, whole.n_valid, whole.b)


def test_a_runs_numbers_do_not_depend_on_the_others_or_their_order(tmp_path: Path) -> None:
    for seed in range(4):
        run_folders.write_run(tmp_path / f"run{seed}", lawful_rows(seed), seed=seed)
    paths = [tmp_path / f"run{seed}" for seed in range(4)]
    together = {run.run: law_json.from_run(run) for run in analyse(paths).runs}
    backwards = {run.run: law_json.from_run(run) for run in analyse(paths[::-1]).runs}
    alone = {run.run: law_json.from_run(run) for path in paths for run in analyse([path]).runs}
    assert together == backwards == alone


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_damage_anywhere_equals_those_rows_left_out(tmp_path: Path, data: st.DataObject) -> None:
    lines = [json.dumps(row) for row in lawful_rows(n=60)]
    hit = data.draw(st.sets(st.integers(0, 59), max_size=12))
    junk = st.sampled_from(
        ["", "garbage", "{", '{"step": 1}', '{"step": 4, "entropy": NaN, "reward": 1}', "\x00\x01"]
    )
    damaged = [data.draw(junk) if n in hit else line for n, line in enumerate(lines)]
    kept = [line for n, line in enumerate(lines) if n not in hit]
    random.Random(len(hit)).shuffle(damaged)
    results = []
    for rows in (damaged, kept):
        (tmp_path / "metrics.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
        (result,) = analyse([tmp_path]).runs
        results.append({**law_json.from_run(result), "dropped": None, "dropped_at": None})
    assert results[0] == results[1]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.tuples(
            st.integers(-(10**18), 10**18) | st.integers(1, 50),
            st.floats(0, 20) | st.sampled_from([0.0, 1e-300, 1.0]),
            st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.5, 1e-300]),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_whatever_the_rows_hold_the_answer_is_json(tmp_path: Path, rows: list[Any]) -> None:
    keys = ("step", "entropy", "reward")
    run_folders.write_rows(tmp_path, [dict(zip(keys, row, strict=True)) for row in rows])
    strict(law_json.from_analysis(analyse([tmp_path])))


@pytest.mark.parametrize("damage", ["a: [", "just text", "\x00", "seed: 1\ndifficulty: 3\n"])
def test_a_damaged_config_costs_no_numbers(tmp_path: Path, damage: str) -> None:
    run = run_folders.write_run(tmp_path, lawful_rows())
    (run / "config.yaml").write_text(damage)
    (found,) = analyse([tmp_path]).runs
    assert found.status == "ok"
    assert found.level is None


def test_a_remedy_makes_a_run_intervened(tmp_path: Path) -> None:
    run = run_folders.write_run(tmp_path, lawful_rows())
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["remedy"] = {"name": "clip_cov"}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    (found,) = analyse([tmp_path]).runs
    assert found.intervened is True
    assert found.reasons is not None
    assert "intervened" in found.reasons


def test_rivals_are_given_with_their_distance_to_the_law(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, lawful_rows(n=2000))
    (run,) = analyse([tmp_path]).runs
    assert run.rivals is not None
    assert run.rivals["law"].delta_aicc == 0
    assert run.against_linear == "law_better"
    assert run.rivals["log_1_plus_h"].delta_aicc > 2
    assert run.rivals["last_value"].delta_aicc > 10
