"""CSV and Parquet as people write them: columns twice, other names of files, other numbers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from harness.law.analysis import analyse
from harness.law.results import ReadProblem, RunResult
from tests.law import synthetic

ROWS = synthetic.rows(synthetic.lawful(5, 40, synthetic.LOW))
HEADER = "step,entropy,reward,extra"


def lines(header: str = HEADER) -> list[str]:
    numbers = [f"{r['step']},{r['entropy']:.6f},{r['reward']:.6f},0.25" for r in ROWS]
    return [header, *numbers]


def of_text(path: Path, text: str) -> RunResult:
    path.write_text(text + "\n", encoding="utf-8")
    return fitted(path)


def fitted(path: Path) -> RunResult:
    (result,) = analyse([path]).runs
    return result


def test_a_csv_whose_column_is_there_twice_is_refused_where_the_column_is_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    rule = "a column that is read must be there once, got 2 called 'reward'"
    result = of_text(path, "\n".join(lines("step,entropy,reward,reward")))
    assert result.error == ReadProblem("unreadable", f"{path}:1: {rule}")
    unread = [line.replace(",0.25", ",0.25,1") for line in lines("step,entropy,reward,x")]
    unread[0] += ",x"
    assert of_text(path, "\n".join(unread)).n_valid == len(ROWS)


def test_a_parquet_file_whose_column_is_there_twice_is_a_row_beside_good_ones(
    tmp_path: Path,
) -> None:
    good, twice = tmp_path / "good.parquet", tmp_path / "twice.parquet"
    columns = [[row[name] for row in ROWS] for name in ("step", "entropy", "reward", "reward")]
    parquet.write_table(pa.table(columns[:3], names=["step", "entropy", "reward"]), good)
    parquet.write_table(pa.table(columns, names=["step", "entropy", "reward", "reward"]), twice)
    whole, refused = analyse([good, twice]).runs
    assert whole.n_valid == len(ROWS)
    rule = "a column that is read must be there once, got 2 called 'reward'"
    assert refused.error == ReadProblem("unreadable", f"{twice}: {rule}")
    parquet.write_table(pa.table(columns, names=["step", "entropy", "reward", "x"]), twice)
    assert fitted(twice).n_valid == len(ROWS)
