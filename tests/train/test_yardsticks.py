"""The columns of a level, from planted results and in a run's rows and events."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.config.run import INTENTIONS, EvalConfig
from harness.records.metrics import EVALUATED, MEASURED
from harness.train.__main__ import attempt
from harness.train.metrics import evaluate, yardsticks
from harness.train.metrics.yardsticks import LevelResults
from tests.calibration.levels import LEVELS
from tests.train.made import make_run, tabular


def test_each_level_has_every_column() -> None:
    outcomes = np.full((20, 4), 0.5)
    outcomes[:, 0], outcomes[0, 1] = 1.0, np.nan
    intentions = [INTENTIONS[n % 8] for n in range(20)] * 4
    found = yardsticks.columns(
        LevelResults(
            outcomes,
            deaf=np.array([0.2, np.nan, 0.4]),
            strategies=[[("question",)]] * 80,
            intentions=[*intentions[:79], None],
            users=list(range(20)) * 4,
            share=lambda reward: 10 * reward,
        )
    )
    assert found.keys() == EVALUATED.keys()
    assert {f"eval/{name}" for name in found} | {f"eval/hard/{name}" for name in found} <= {
        *MEASURED
    }
    assert found["reward"] == np.nanmean(outcomes)
    assert found["listening_share"] == 10 * found["reward"]
    assert found["failed"] == 1
    assert math.isclose(found["listening"], 0, abs_tol=1e-9)
    assert math.isclose(found["deaf_reward"], 0.3)
    assert (found["best_at_4"], found["success_any_4"], found["success_all_4"]) == (1, 1, 0)
    assert math.isnan(found["best_at_16"])


def test_a_run_tells_shares_and_what_has_none_and_times_the_parts_apart(tmp_path: Path) -> None:
    config = tabular(LEVELS["hard"], steps=2, conversations=8, eval_every=5)
    size = EvalConfig(levels=["easy"], repeats=2, users=8)
    run = make_run(tmp_path, replace(config, eval=size))
    anchors = evaluate.anchors(replace(config, eval=size))
    assert attempt(run, lambda event: None) == 0
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    assert rows[0]["eval/listening_share"] < 0
    assert rows[0]["eval/within_sd"] > 0
    assert rows[0]["eval/easy/listening_share"] is None
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    (begun,) = [event for event in events if event["event"] == "start"]
    assert begun["anchors"] == anchors
    assert anchors.keys() == {"own", "easy", "hard"}
    assert anchors["easy"] is None
    assert anchors["own"] == anchors["hard"]
    told = begun["anchors"]["own"]
    deaf, best = told["deaf"]["reward"]["value"], told["optimum"]["reward"]
    share = (rows[0]["eval/reward"] - deaf) / (best - deaf)
    assert math.isclose(rows[0]["eval/listening_share"], share)
    steps = [event["seconds"] for event in events if event["event"] == "step"]
    parts = {"rollout", "eval", "repeats", "deaf", "update", "ledger", "measures"}
    assert [seconds.keys() for seconds in steps] == [parts, parts]
    assert all(value >= 0 for seconds in steps for value in seconds.values())
