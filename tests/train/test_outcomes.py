"""The outcomes of an evaluation are those that its columns are means of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from harness.config.run import EvalConfig, RunConfig
from harness.policy.tabular import TabularPolicy
from harness.records import outcomes
from harness.records.run_folder import RunFolder
from harness.train.loop import tabular_evaluation
from harness.train.metrics import evaluate
from harness.train.policy_gradient.advantages import FloatArray
from tests.train.made import rows_of, tabular


def test_the_columns_are_means_of_the_outcomes() -> None:
    config = RunConfig(eval=EvalConfig(users=4, repeats=2, levels=["hard"]))
    kept: list[Mapping[str, FloatArray]] = []
    speakers = tabular_evaluation.speakers(TabularPolicy.start("conversation"), 1.0)
    columns = evaluate.evaluate(config, evaluate.meet_here(config, speakers), keep=kept.append)
    (by_level,) = kept
    assert {name: table.shape for name, table in by_level.items()}["own"] == (4, 2)
    assert columns["eval/reward"] == pytest.approx(float(np.mean(by_level["own"])))
    assert columns["eval/hard/reward"] == pytest.approx(float(np.mean(by_level["hard"])))


def test_a_run_keeps_those_of_its_last_evaluation(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", tabular(steps=3, eval_every=1))
    kept, last = outcomes.read(RunFolder(tmp_path / "run").outcomes), rows[-1]
    assert kept.step == last["step"] == 3
    own = np.array(kept.by_level["own"], dtype=float)
    assert own.mean() == pytest.approx(last["eval/reward"])
