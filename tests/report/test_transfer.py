"""The transfer matrix: trained on one level, evaluated at each, by hand."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from harness.law import analysis
from harness.law.result_parts import LevelEnds
from harness.report.tables import csv_files
from harness.report.write import write_results
from harness.testing import run_folders, synthetic

STEPS = 40


def log(start: float, ends: dict[str, float]) -> list[dict[str, Any]]:
    """A run evaluated at steps 1, 20 and 40, each level on a straight way to its end."""
    lines = synthetic.rows(synthetic.lawful(1, STEPS, synthetic.LOW))
    for line in lines:
        due, share = line["step"] in (1, 20, STEPS), (line["step"] - 1) / (STEPS - 1)
        for level, end in ends.items():
            line[f"eval/{level}/reward"] = start + share * (end - start) if due else None
    return lines


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    for level, ends in {"easy": (0.8, 0.3), "hard": (0.5, 0.4)}.items():
        for seed, more in ((1, -0.01), (2, 0.01)):
            worth = {"easy": ends[0] + more, "hard": ends[1]}
            folder = tmp_path / f"{level}-seed{seed}"
            run_folders.write_run(folder, log(0.2, worth), seed=seed, level=level)
    return tmp_path


def rows(text: str | None) -> list[dict[str, str]]:
    assert text is not None
    return list(csv.DictReader(io.StringIO(text)))


def test_each_group_is_worth_its_last_evaluations(sweep: Path) -> None:
    easy, hard = rows(csv_files.transfer_csv(analysis.analyse([sweep])))
    assert (easy["trained_on"], hard["trained_on"]) == ("difficulty=easy", "difficulty=hard")
    assert float(easy["easy"]) == pytest.approx(0.8)
    assert float(hard["easy"]) == pytest.approx(0.5)
    assert float(easy["hard"]) == pytest.approx(0.3)
    assert float(hard["hard_gain"]) == pytest.approx(0.2)
    # two seeds .02 apart: the error of their mean is .01, t of one degree of freedom 12.71
    assert float(easy["easy_high"]) == pytest.approx(0.8 + 12.706 * 0.01, abs=1e-4)
    assert float(easy["easy_gain_low"]) == pytest.approx(0.6 - 12.706 * 0.01, abs=1e-4)
    assert (easy["medium"], easy["medium_gain"], easy["runs"]) == ("", "", "2")


def test_of_rows_with_the_same_step_the_last_counts(tmp_path: Path) -> None:
    lines = log(0.2, {"easy": 0.9, "hard": 0.9})
    again = [{**line, "eval/hard/reward": None} for line in lines[STEPS // 2 :]]
    again[-1]["eval/easy/reward"] = 0.5
    once = [line for line in lines if line["step"] == 1]
    run_folders.write_run(tmp_path / "resumed", [*lines, *again], seed=1, level="easy")
    run_folders.write_run(tmp_path / "one-step", [*once, *once], seed=1, level="hard")
    one, resumed = analysis.analyse([tmp_path]).runs
    assert resumed.transfer is not None
    assert resumed.transfer["easy"] == LevelEnds(0.2, 0.5)
    assert resumed.transfer["hard"].end == pytest.approx(0.9)
    assert one.transfer is None


def test_it_is_written_and_taken_away_with_the_analysis(sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "law"
    written = write_results(analysis.analyse([sweep]), out, "none")
    assert out / "transfer.csv" in written
    runs = json.loads((out / "law.json").read_text())["runs"]
    assert runs[0]["transfer"]["easy"] == {"start": 0.2, "end": pytest.approx(0.79)}
    plain = run_folders.write_run(tmp_path / "plain", synthetic.lawful_rows())
    write_results(analysis.analyse([plain]), out, "none")
    assert not (out / "transfer.csv").exists()
    assert csv_files.transfer_csv(analysis.analyse([plain])) is None


def test_one_evaluation_is_no_transfer(tmp_path: Path) -> None:
    lines = log(0.2, {"easy": 0.8})
    for line in lines[1:]:
        line["eval/easy/reward"] = None
    run = run_folders.write_run(tmp_path / "run", lines)
    assert csv_files.transfer_csv(analysis.analyse([run])) is None
