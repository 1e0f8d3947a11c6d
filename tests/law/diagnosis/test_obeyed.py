"""Do advantages go with rewards? Of groups worked out by hand, and of runs with a null control."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from harness.law.diagnosis import diagnose
from harness.law.diagnosis.obeyed import advantage_correlation, correlation
from harness.law.io.identity import FolderIdentity
from harness.law.results import Interval
from harness.records import saved_conversations
from tests.law.diagnosis.made import member, run, sign
from tests.train.made import brief, go_on, make_run


def sums(advantages: list[list[float]], rewards: list[list[float]]) -> np.ndarray:
    rows = []
    for a, r in zip(np.array(advantages), np.array(rewards), strict=True):
        a, r = a - a.mean(), r - r.mean()
        rows.append((a @ r, a @ a, r @ r))
    return np.array(rows)


def test_the_correlation_is_that_within_groups_and_leaves_out_a_group_at_a_time() -> None:
    rng = np.random.default_rng(3)
    rewards = rng.random((40, 8)) + rng.random((40, 1))
    noisy = rewards + rng.normal(0, 0.3, rewards.shape)
    found = correlation(sums(noisy.tolist(), rewards.tolist()))
    assert found is not None
    a, r = (x - x.mean(axis=1, keepdims=True) for x in (noisy, rewards))
    assert found.value == pytest.approx(float(np.corrcoef(a.ravel(), r.ravel())[0, 1]))
    assert found.low < found.value < found.high
    whole = correlation(sums(rewards.tolist(), (2 * rewards).tolist()))
    assert whole is not None
    assert (whole.value, whole.low, whole.high) == pytest.approx((1, 1, 1))


def test_its_interval_holds_the_truth() -> None:
    """Shuffled advantages have a correlation of 0, in 95% of intervals; 200 sets of 20 groups."""
    rng, held = np.random.default_rng(4), 0
    for _ in range(200):
        rewards = rng.random((20, 8))
        found = correlation(sums(rng.permuted(rewards, axis=1).tolist(), rewards.tolist()))
        assert found is not None
        held += found.low <= 0 <= found.high
    assert held >= 180


def test_without_any_advantage_nothing_is_said() -> None:
    assert correlation(sums([[0.0, 0.0]] * 6, [[0.0, 1.0]] * 6)) is None


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    changed: dict[str, dict[str, Any]] = {
        "honest": {},
        "null": {"null_control": True},
        "alone": {"group_size": 1, "kind": "reinforce"},
    }
    for name, values in changed.items():
        config = brief(steps=4, conversations=64, conversations_every=1)
        made = make_run(
            folder / name, replace(config, algorithm=replace(config.algorithm, **values))
        )
        code, _, err = go_on(made)
        assert code == 0, err
    return folder


def test_updates_of_a_run_obey_its_rewards_and_those_of_a_null_control_do_not(runs: Path) -> None:
    honest, null, alone = (
        advantage_correlation(runs / name) for name in ("honest", "null", "alone")
    )
    assert isinstance(honest, Interval)
    assert isinstance(null, Interval)
    assert isinstance(alone, Interval)
    assert honest.low > 0.8
    assert null.high < 0.3
    assert alone.value == pytest.approx(1.0)  # reward minus the batch's mean, groups of one


def test_a_damaged_or_missing_file_is_not_measured(runs: Path, tmp_path: Path) -> None:
    assert advantage_correlation(tmp_path) == "no conversations were saved"
    place = saved_conversations.path_of(tmp_path, 1)
    place.parent.mkdir()
    place.write_bytes(b"no parquet")
    why = advantage_correlation(tmp_path)
    assert isinstance(why, str)
    assert why.startswith(f"{place}: must be a parquet file of conversations: ")


def test_too_few_groups_say_how_many_it_takes(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "honest", tmp_path / "few")
    for step in saved_conversations.steps(tmp_path / "few"):
        path = saved_conversations.path_of(tmp_path / "few", step)
        table = pq.read_table(path)
        pq.write_table(table.filter(pc.field("group") < 1), path)
    why = advantage_correlation(tmp_path / "few")
    assert isinstance(why, str)
    assert re.fullmatch(
        r"the saved conversations have \d groups with a signal, and 6 are needed", why
    )


@pytest.mark.parametrize(("kind", "flag"), [("grpo", "noise"), ("vpo", None)])
def test_advantages_of_sets_are_not_held_against_single_rewards(
    runs: Path, kind: str, flag: str | None
) -> None:
    """Those of a null control go with no reward; of vpo's nothing is said."""
    made = member(run())
    config = {**(made.identity.config or {}), "algorithm": {"kind": kind}}
    result = replace(made.result, run=str(runs / "null"))
    found = diagnose.diagnose_run(
        replace(made, result=result, identity=FolderIdentity(config))
    ).findings[0]
    assert found.flag == flag
    assert (sign(found, "advantages follow rewards") is None) == (flag is None)
