"""The variance command: what it prints, refuses, and leaves untouched."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import variance as command
from harness.errors import ConfigError, DataError
from harness.law.variance import measure
from harness.report.tables import variance as table
from tests.law.variance.made import events, ledger_run, run

HALF_WIDTH = "--half-width: must be above 0 and at most 1, the range of a reward"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweep")
    for level, mean in (("easy", 0.7), ("hard", 0.3)):
        for seed in (1, 2):
            events(run(root, level, seed, mean + 0.01 * seed, listening=0.1 * seed))
    return root


def test_the_table_names_parts_reasons_and_plans(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(sweep.rglob("*"))
    command.variance((sweep,), "own", 0.05, as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "difficulty=easy 2 64 x 1" in said
    assert "spread of reward sd [95%] share [95%]" in said
    assert "repeat: random draws of a conversation: not identifiable: with eval.repeats=1" in said
    assert "listening is computed over all conversations together" in said
    assert "give a 95% half-width of 0.0" in said
    assert "at the lowest cost, " in said
    assert sorted(sweep.rglob("*")) == before


def test_sixty_columns_break_no_word(sweep: Path) -> None:
    console = Console(width=60, record=True, file=io.StringIO())
    table.print_variance(measure.measure([sweep], "own", 0.05), console)
    said = console.export_text()
    for word in ("difficulty=easy", "difficulty=hard", "listening", "repeats", "reward"):
        assert re.search(rf"(?<!\S){word}(?!\S)", said), word


def test_json_is_the_same_without_nan(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.variance((sweep,), "own", 0.05, as_json=True)
    value = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert value["schema"] == 1
    assert [part["name"] for part in value["reward"]][:2] == ["seed", "user"]
    assert value["wanted"] == 0.05
    assert value["plans"][0]["target"] == "mean"


def test_the_critical_batch_of_entropy_is_printed_with_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger_run(tmp_path, 1, signal=(-0.45, 0.02), noise=(-0.15, 0.004))
    command.variance((tmp_path,), "own", 0.05, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "all runs 1 64 25% [24%, 26%] 192 [179, 207]" in printed
    assert "an extrapolation beyond four times the batch of the runs" in printed
    command.variance((tmp_path,), "own", 0.05, as_json=True)
    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    assert arm["critical_batch"]["batch"]["value"] == pytest.approx(192)


def test_without_a_critical_batch_the_reason_is_printed(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.variance((sweep,), "own", 0.05, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "no critical batch for 4 runs, since ledger/* has no value with an error. It is recorded"
        in printed
    )
    assert "critical batch [95%]" not in printed
    ledger_run(tmp_path, 1, signal=(-0.01, 0.05), noise=(-0.15, 0.004))
    command.variance((tmp_path,), "own", 0.05, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "none: signal and remedy are not shown to lower H" in printed
    assert "no critical batch" not in printed


@pytest.mark.parametrize(
    ("level", "half_width", "rule"),
    [
        ("impossible", 0.05, "--on: must be one of own, easy, medium, hard, got 'impossible'"),
        ("own", 0.0, f"{HALF_WIDTH}; got 0"),
        ("own", -0.1, f"{HALF_WIDTH}; got -0.1"),
        ("own", 1.5, f"{HALF_WIDTH}; got 1.5"),
        ("own", math.nan, f"{HALF_WIDTH}; got nan"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    tmp_path: Path, level: str, half_width: float, rule: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        command.variance((tmp_path,), level, half_width, as_json=False)
    assert str(refused.value) == rule


def test_an_interval_wider_than_a_reward_can_be_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (1, 2):
        events(run(tmp_path, "easy", seed, 0.2 + 0.3 * seed))
    command.variance((tmp_path,), "own", 0.3, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "all runs 2 64 x 1 0.64 [not known] -" in printed
    assert re.search(r"seed of training 0\.\d+ \[0\.\d+, not known\]", printed)
    assert "(upper limit not known from the components' intervals)" in printed
    assert "not known: the interval is wider than the range of a reward; use more" in printed


@pytest.mark.parametrize("as_json", [False, True])
def test_a_run_with_a_damaged_row_is_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    for seed in (1, 2, 3):
        folder = run(tmp_path, "easy", seed, 0.5)
    metrics = folder / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace('{"step": 17, ', '{"step": 17 ', 1))
    command.variance((tmp_path,), "own", 0.05, as_json=as_json)
    printed = " ".join(capsys.readouterr().out.split())
    damage = f"damaged: {metrics}:17: every row must be as the run wrote it; got a malformed line"
    assert damage in printed
    if as_json:
        found = json.loads(printed)
        assert [arm["seeds"] for arm in found["arms"]] == [2]
        assert [skipped["path"] for skipped in found["skipped"]] == [str(folder)]


def test_a_folder_without_a_run_that_counts_is_no_data(tmp_path: Path, sweep: Path) -> None:
    with pytest.raises(DataError, match="needs a finished run with evaluations"):
        command.variance((tmp_path,), "own", 0.05, as_json=False)
    with pytest.raises(DataError, match="not evaluated at hard"):
        command.variance((sweep,), "hard", 0.05, as_json=False)


def test_without_costs_there_is_no_plan_and_the_table_says_so(tmp_path: Path) -> None:
    for seed in (1, 2):
        run(tmp_path, "easy", seed, 0.5)
    found = measure.measure([tmp_path], "own", 0.05)
    assert found.plans == ()
    assert list(table.plans(found)) == [
        "no plan: events.jsonl of these runs does not contain their cost"
    ]
    table.print_variance(found, Console(quiet=True))


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("step,entropy,reward\n1,1,0\n")
    (tmp_path / "empty").mkdir()
    for path, why in (
        (tmp_path / "gone", "no such file or folder"),
        (log, "a log has no outcomes of single users: a run folder of harness is needed"),
        (tmp_path / "empty", "not a run folder, or its config has no seed"),
    ):
        with pytest.raises(DataError) as refused:
            command.variance((path,), "own", 0.05, as_json=False)
        rule = "needs a finished run with evaluations, found none"
        assert str(refused.value) == f"{path}: {rule}: {why}"
