"""CSV and Parquet as people write them: columns twice, other names of files, other numbers."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.io import reading
from harness.law.io.table import FAULTS
from harness.law.result_parts import ReadProblem
from harness.law.results import RunResult
from harness.testing import run_folders, synthetic

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
    rule = "a column to read must occur once, got 2 with the name 'reward'"
    result = of_text(path, "\n".join(lines("step,entropy,reward,reward")))
    assert result.error == ReadProblem("unreadable", f"{path}:1: {rule}")
    unread = [f"{line},1" for line in lines("step,entropy,reward,x")]
    unread[0] = "step,entropy,reward,x,x"
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
    rule = "a column to read must occur once, got 2 with the name 'reward'"
    assert refused.error == ReadProblem("unreadable", f"{twice}: {rule}")
    parquet.write_table(pa.table(columns, names=["step", "entropy", "reward", "x"]), twice)
    assert fitted(twice).n_valid == len(ROWS)


def test_the_name_of_a_table_may_be_in_capitals(tmp_path: Path) -> None:
    assert of_text(tmp_path / "LOG.CSV", "\n".join(lines())).n_valid == len(ROWS)


@pytest.mark.parametrize("name", ["log.txt", "log", "log.tsv", "log.jsonl"])
def test_a_table_under_another_name_is_told_the_name_that_is_read(
    tmp_path: Path, name: str
) -> None:
    text = "\n".join(lines())
    result = of_text(tmp_path / name, text.replace(",", "\t") if name == "log.tsv" else text)
    assert result.error is not None
    assert result.error.message.endswith("; a table with ',' between columns must be named .csv")


def test_files_that_are_compressed_or_in_wide_characters_are_named_as_such(tmp_path: Path) -> None:
    text = "\n".join(lines())
    packed, wide = tmp_path / "log.csv.gz", tmp_path / "wide.csv"
    packed.write_bytes(gzip.compress(text.encode()))
    wide.write_text(text, encoding="utf-16")
    rule = "must not be compressed, but is: decompress it with gunzip first"
    assert fitted(packed).error == ReadProblem("unreadable", f"{packed}: {rule}")
    rule = "must be UTF-8, but begins as UTF-16 or UTF-32: write it as UTF-8"
    assert fitted(wide).error == ReadProblem("unreadable", f"{wide}: {rule}")


def test_a_header_alone_holds_no_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rule = "must have a header and rows with the same number of fields, but has none"
    assert of_text(path, HEADER).error == ReadProblem("empty_input", f"{path}: {rule}")


def test_decimals_of_parquet_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    columns = {
        name: [Decimal(f"{row[name]:.6f}") for row in ROWS] for name in ("entropy", "reward")
    }
    parquet.write_table(pa.table({"step": [row["step"] for row in ROWS], **columns}), path)
    plain = of_text(tmp_path / "log.csv", "\n".join(lines()))
    assert law_json.from_run(fitted(path)) | {"run": ""} == law_json.from_run(plain) | {"run": ""}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_where_every_row_is_left_out_the_first_is_shown(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.{ending}"
    if ending == "csv":
        path.write_text("step,entropy,reward\n1,12%,0.5\n2,13%,0.5\n")
    elif ending == "jsonl":
        path.write_text('{"step": 1, "entropy": "12%", "reward": 0.5}\n')
    else:
        parquet.write_table(pa.table({"step": [1], "entropy": ["12%"], "reward": [0.5]}), path)
    result = fitted(path)
    assert result.error is not None
    shown = "; the first row has step 1, entropy '12%', reward 0.5"
    assert result.error.message.replace("1.0", "1").endswith(shown)


def test_a_number_out_of_range_is_shown_too(tmp_path: Path) -> None:
    text = "step,entropy,reward\n1,250,0.5"
    result = of_text(tmp_path / "log.csv", text)
    assert result.error is not None
    assert result.error.message.endswith("; the first row has step 1, entropy 250, reward 0.5")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_gives_the_numbers_of_the_same_rows_as_lines(tmp_path: Path, ending: str) -> None:
    rows = synthetic.rows(synthetic.lawful(5, 60, synthetic.LOW))
    run_folders.write_rows(tmp_path / "run", rows)
    path = tmp_path / f"log.{ending}"
    write = arrow_csv.write_csv if ending == "csv" else parquet.write_table
    write(pa.Table.from_pylist(rows), path)
    lines, table = fitted(tmp_path / "run"), fitted(path)
    assert law_json.from_run(table) | {"run": ""} == law_json.from_run(lines) | {"run": ""}


def test_a_parquet_file_cut_short_cannot_be_read(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    parquet.write_table(pa.table({"step": [1], "entropy": [0.5], "reward": [0.5]}), whole)
    (tmp_path / "torn.parquet").write_bytes(whole.read_bytes()[:-10])
    result = fitted(tmp_path / "torn.parquet")
    assert result.error is not None
    assert result.error.kind == "unreadable"
    assert "must be a complete Parquet file" in result.error.message


def test_a_parquet_column_of_text_or_nothing_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    columns = {"step": [1, 2, 3], "entropy": ["0.5", "x", None], "reward": [0.5, 0.6, 0.7]}
    parquet.write_table(pa.table(columns), path)
    table = reading.read(path, ["step", "entropy", "reward"])
    wrong, null = (FAULTS.index(f) for f in ("wrong_type", "null"))
    assert table.faults["entropy"].tolist() == [wrong, wrong, null]
    np.testing.assert_array_equal(table.columns["reward"], [0.5, 0.6, 0.7])
