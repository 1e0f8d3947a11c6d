"""Logs as other programs write them: which columns are taken, and what is said of one without."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from harness.law.analysis import analyse
from harness.law.io import reading
from harness.law.io.importers import aliases
from harness.law.io.importers.rows import Importer
from harness.law.results import RunResult
from harness.testing import synthetic
from harness.testing.importer_contract import ImporterContract

LOGS = Path(__file__).parents[1] / "logs"
TRUE_A, TRUE_CEILING = 0.35, 0.90
"""Of the law the made-up logs follow, with a noise of 0.008 on the reward."""
ROWS = 24


@dataclass(frozen=True)
class Expected:
    entropy: str
    reward: str
    dropped: dict[str, int]
    validation: str
    evaluations: int


EXPECTED = {
    "trainer_state.json": Expected("entropy", "reward", {}, "eval_reward", 3),
    "trl_tracker.csv": Expected("train/entropy", "train/reward", {}, "eval/reward", 4),
    "trl_console.log": Expected("entropy", "reward", {}, "eval_reward", 3),
    "wandb_chart.csv": Expected("train/entropy", "train/reward", {}, "eval/reward", 4),
    "verl_console.log": Expected(
        "actor/entropy",
        "critic/score/mean",
        {},
        "val-core/made_up/reward/mean@1",
        5,
    ),
    "verl_file.jsonl": Expected(
        "actor/entropy",
        "critic/score/mean",
        {},
        "val-core/made_up/reward/mean@1",
        1,
    ),
    "prime_rl.jsonl": Expected("entropy/all/mean", "reward/all/mean", {}, "reward/all/max", ROWS),
    "open_instruct.csv": Expected("policy/entropy_avg", "scores", {}, "eval/scores", 3),
    "nemo_rl.json": Expected("train/approx_entropy", "train/reward", {}, "validation/accuracy", 3),
    "skyrl.jsonl": Expected(
        "policy/policy_entropy", "reward/avg_raw_reward", {}, "loss/avg_final_rewards", ROWS
    ),
}


OF_FORMAT = {
    "wandb_csv": "wandb_chart.csv",
    "trl_console": "trl_console.log",
    "csv": "open_instruct.csv",
    "trainer_state": "trainer_state.json",
    "metric_maps": "nemo_rl.json",
    "verl_console": "verl_console.log",
    "json_lines": "prime_rl.jsonl",
}


class TestOurs(ImporterContract):
    @pytest.fixture(params=reading.OURS)
    def importer(self, request: pytest.FixtureRequest) -> Importer:
        self.format = request.param
        self.takes_all = self.format == "json_lines"
        return reading.OURS[self.format]

    @pytest.fixture
    def log(self, importer: Importer) -> tuple[str, bytes]:
        path = LOGS / OF_FORMAT[self.format]
        return path.name, path.read_bytes()


def fitted(path: Path, reward: str | None = None, entropy: str | None = None) -> RunResult:
    (result,) = analyse([path], reward=reward, entropy=entropy).runs
    return result


@pytest.mark.parametrize("name", EXPECTED)
def test_a_log_is_fitted_under_its_own_names(name: str) -> None:
    expected, result = EXPECTED[name], fitted(LOGS / name)
    assert result.error is None
    assert (result.entropy, result.reward) == (expected.entropy, expected.reward)
    assert (result.n_valid, result.dropped) == (ROWS, expected.dropped)
    assert result.ols is not None
    assert result.ols.a == pytest.approx(TRUE_A, abs=0.03)
    assert result.ols.b - result.ols.a == pytest.approx(TRUE_CEILING, abs=0.01)


@pytest.mark.parametrize("name", EXPECTED)
def test_another_column_is_fitted_on_request(name: str) -> None:
    expected = EXPECTED[name]
    result = fitted(LOGS / name, reward=expected.validation)
    assert result.error is None
    assert (result.reward, result.n_valid) == (expected.validation, expected.evaluations)
    assert result.fits is not None
    assert result.fits[expected.reward].n_valid == ROWS


def test_steps_without_an_evaluation_are_no_damage() -> None:
    assert fitted(LOGS / "trainer_state.json", reward="eval_reward").dropped == {}


def test_a_row_left_out_of_a_console_log_is_named_by_its_line(tmp_path: Path) -> None:
    data = (LOGS / "verl_console.log").read_bytes().replace(b"actor/entropy:np.float64", b"x:", 1)
    (tmp_path / "out.log").write_bytes(data)
    result = fitted(tmp_path / "out.log")
    assert result.dropped_at == {"missing_entropy": [f"{tmp_path / 'out.log'}:16"]}


def test_a_validation_before_the_first_step_is_of_the_weights_of_that_step() -> None:
    table = reading.read(LOGS / "verl_console.log", ["val-core/made_up/reward/mean@1"])
    assert table.columns["step"][0] == 1
    assert table.columns["val-core/made_up/reward/mean@1"][0] == 0.262
    assert table.columns["critic/score/mean"][0] == 0.540


def test_a_record_of_trl_s_console_counts_as_a_step_and_an_evaluation_as_of_the_last() -> None:
    names = ["entropy", "reward", "eval_reward"]
    table = reading.read(LOGS / "trl_console.log", names)
    state = reading.read(LOGS / "trainer_state.json", names)
    assert table.columns["step"].tolist() == list(range(1, ROWS + 1))
    for name in names:
        np.testing.assert_allclose(table.columns[name], state.columns[name], rtol=1e-3)


@pytest.mark.parametrize(
    "line",
    [
        "{'reward': __import__('os').system('true'), 'epoch': '1'}",
        "{'reward': '0.5', 'epoch': " + "[" * 3000 + "}",
        "{'reward': '0.5', 'epoch': " + "9" * 200_000 + "}",
        "{'epoch': 1",
    ],
    ids=["code", "deep", "long", "torn"],
)
def test_what_is_no_record_of_trl_s_console_is_other_talk(tmp_path: Path, line: str) -> None:
    path = tmp_path / "out.log"
    path.write_text((LOGS / "trl_console.log").read_text() + line + "\n")
    assert fitted(path).n_valid == ROWS


def test_a_step_of_any_name_is_taken_on_request(tmp_path: Path) -> None:
    rows = synthetic.rows(synthetic.lawful(1, 40, synthetic.NONE))
    lines = ["iteration,entropy,reward"]
    lines += [f"{10 * row['step']},{row['entropy']},{row['reward']}" for row in rows]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(lines) + "\n")
    (run,) = analyse([path]).runs
    assert run.error is not None
    assert "needs a step, has iteration, entropy, reward" in run.error.message
    assert run.error.message.endswith("; --step COLUMN names another")
    (run,) = analyse([path], step="iteration").runs
    assert (run.error, run.n_valid) == (None, 40)
    parquet.write_table(arrow_csv.read_csv(path), tmp_path / "mine.parquet")
    (same,) = analyse([tmp_path / "mine.parquet"], step="iteration").runs
    assert same.a == run.a
    (run,) = analyse([path], step="iter").runs
    assert run.error is not None
    assert run.error.message.startswith(f"{path}: needs a column 'iter', has iteration, entropy")


def test_a_chart_of_several_runs_is_refused_by_their_names(tmp_path: Path) -> None:
    lines = (LOGS / "wandb_chart.csv").read_text().splitlines()
    other = lines[0].replace("warm-sun-7", "cold-moon-8").removeprefix('"Step",')
    cells = ",".join(['""'] * 9)
    path = tmp_path / "chart.csv"
    path.write_text("\n".join([f"{lines[0]},{other}", *(f"{x},{cells}" for x in lines[1:])]) + "\n")
    (run,) = analyse([path]).runs
    assert run.error is not None
    rule = "must have the columns of one run: choose one in the chart and export it again"
    assert run.error.message == f"{path}:1: {rule}; got columns of warm-sun-7, cold-moon-8"


def test_the_last_line_of_a_console_counts_without_its_end_if_it_is_whole(tmp_path: Path) -> None:
    data = (LOGS / "verl_console.log").read_bytes().rstrip(b"\n")
    (tmp_path / "whole.log").write_bytes(data)
    assert fitted(tmp_path / "whole.log").n_valid == ROWS
    (tmp_path / "torn.log").write_bytes(data[: data.rindex(b" - response")])
    result = fitted(tmp_path / "torn.log")
    assert (result.n_valid, result.dropped) == (ROWS - 1, {"torn_last_line": 1})


def test_every_program_of_the_table_is_tried_here() -> None:
    taken = {name for e in EXPECTED.values() for name in (e.entropy, e.reward)}
    tried = {
        program
        for program, names in aliases.PROGRAMS.items()
        if taken & set(names.entropy) and taken & set(names.reward)
    }
    assert tried == set(aliases.PROGRAMS) - {"slime"}


def test_rows_that_complete_each_other_are_one_and_the_last_of_a_step_wins(tmp_path: Path) -> None:
    lines = (LOGS / "prime_rl.jsonl").read_text().splitlines()
    resumed = [line.replace('"reward/all/max": 1.0', '"reward/all/max": 0.5') for line in lines]
    path = tmp_path / "resumed.jsonl"
    path.write_text("\n".join([*lines, *resumed]) + "\n")
    result = fitted(path)
    assert (result.n_valid, result.dropped) == (ROWS, {"duplicate_step": ROWS})
    assert result.a == fitted(LOGS / "prime_rl.jsonl").a
    again = fitted(path, reward="reward/all/max")
    assert again.ols is not None
    assert again.ols.b - again.ols.a == pytest.approx(0.5)


def test_a_trainer_state_torn_by_a_full_disk_gives_the_records_before_its_end(
    tmp_path: Path,
) -> None:
    whole = (LOGS / "trainer_state.json").read_bytes()
    path = tmp_path / "trainer_state.json"
    path.write_bytes(whole[: whole.index(b'"step": 20') - 30])
    result = fitted(path)
    assert (result.n_valid, result.dropped) == (19, {"torn_last_line": 1})


def test_a_damaged_record_hides_no_other(tmp_path: Path) -> None:
    text = (LOGS / "trainer_state.json").read_text().replace('"step": 5,', '"step": 5oops,')
    path = tmp_path / "trainer_state.json"
    path.write_text(text)
    result = fitted(path)
    assert (result.n_valid, result.dropped) == (ROWS - 1, {"malformed_line": 1})


def test_a_log_history_in_a_file_of_its_own(tmp_path: Path) -> None:
    history = json.loads((LOGS / "trainer_state.json").read_text())["log_history"]
    (tmp_path / "history.json").write_text(json.dumps(history))
    assert fitted(tmp_path / "history.json").n_valid == ROWS


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("quantity", ["entropy", "reward"])
def test_a_log_without_a_quantity_is_a_row_naming_what_was_looked_for(
    tmp_path: Path, name: str, quantity: str
) -> None:
    text = (LOGS / name).read_text()
    for known in aliases.ENTROPIES if quantity == "entropy" else aliases.REWARDS:
        for left, right in ('""', "''", " :", ",,", ",\n", ' "', " _"):
            text = text.replace(f"{left}{known}{right}", f"{left}other{right}")
    (tmp_path / name).write_text(text)
    result = fitted(tmp_path / name)
    assert (result.status, result.n_valid, result.a) == ("error", 0, None)
    assert result.error is not None
    assert result.error.kind == "missing_column"
    what = "policy entropy" if quantity == "entropy" else "reward"
    assert f"{tmp_path / name}: needs a column of {what}, has" in result.error.message
    looked = aliases.ENTROPIES if quantity == "entropy" else aliases.REWARDS
    assert ", ".join(looked) in result.error.message
    assert f"--{quantity} COLUMN names another" in result.error.message


def test_a_named_column_is_taken_from_any_log(tmp_path: Path) -> None:
    text = (LOGS / "skyrl.jsonl").read_text().replace("policy/policy_entropy", "mine")
    (tmp_path / "log.jsonl").write_text(text)
    result = fitted(tmp_path / "log.jsonl", entropy="mine")
    assert (result.entropy, result.n_valid) == ("mine", ROWS)


def test_a_copy_under_another_name_is_still_known_for_what_it_holds(tmp_path: Path) -> None:
    shutil.copy(LOGS / "verl_console.log", tmp_path / "out")
    assert fitted(tmp_path / "out").n_valid == ROWS


def test_a_step_over_several_rows_can_be_read_without_another_column(tmp_path: Path) -> None:
    log = LOGS / "trainer_state.json"
    assert len(reading.read(log, ("step",)).lines) == ROWS
