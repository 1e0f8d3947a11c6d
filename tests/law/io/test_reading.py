"""metrics.jsonl in every state it can be found in: what is kept, what is left out and counted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.io import fast_reading, reading
from harness.law.results import RunResult
from harness.testing import run_folders, synthetic

WANTED = ["step", "entropy", "reward", "eval/reward"]
GOOD = [json.dumps(r) for r in synthetic.rows(synthetic.lawful(3, 40, synthetic.LOW))]


def run_of(tmp_path: Path, data: bytes) -> RunResult:
    (tmp_path / "metrics.jsonl").write_bytes(data)
    (result,) = analyse([tmp_path]).runs
    return result


def text(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


DAMAGE = {
    "not json": ("malformed_line", b"{oops}\n"),
    "a list": ("malformed_line", b"[1, 2]\n"),
    "bytes": ("malformed_line", b"\xff\xfe\x00garbage\n"),
    "deep": ("malformed_line", b"[" * 100_000 + b"\n"),
    "a number too long": ("malformed_line", b'{"step": ' + b"1" * 5000 + b"}\n"),
    "nan": ("nan", b'{"step": 50, "entropy": NaN, "reward": 0.5}\n'),
    "infinity": ("infinite", b'{"step": 50, "entropy": 0.5, "reward": -Infinity}\n'),
    "overflow": ("infinite", b'{"step": 50, "entropy": 0.5, "reward": 1e999}\n'),
    "negative entropy": ("out_of_range", b'{"step": 50, "entropy": -0.1, "reward": 0.5}\n'),
    "huge entropy": ("out_of_range", b'{"step": 50, "entropy": 20.5, "reward": 0.5}\n'),
    "null entropy": ("missing_entropy", b'{"step": 50, "entropy": null, "reward": 0.5}\n'),
    "no reward": ("missing_reward", b'{"step": 50, "entropy": 0.5}\n'),
    "no step": ("missing_step", b'{"entropy": 0.5, "reward": 0.5}\n'),
    "text": ("wrong_type", b'{"step": 50, "entropy": "0.5", "reward": 0.5}\n'),
    "a truth value": ("wrong_type", b'{"step": 50, "entropy": true, "reward": 0.5}\n'),
    "torn": ("torn_last_line", b'{"step": 50, "entropy": 0.5, "rew'),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_counted_and_changes_no_number(tmp_path: Path, name: str) -> None:
    reason, line = DAMAGE[name]
    clean = run_of(tmp_path, text(GOOD))
    damaged = run_of(tmp_path, text(GOOD) + line)
    assert damaged.dropped == {reason: 1}
    assert damaged.dropped_at == {reason: [f"{tmp_path / 'metrics.jsonl'}:{len(GOOD) + 1}"]}
    assert without_damage(damaged) == without_damage(clean)


def without_damage(result: RunResult) -> dict[str, object]:
    values = law_json.from_run(result)
    return {k: v for k, v in values.items() if k not in ("dropped", "dropped_at")}


def test_a_running_runs_torn_last_line_is_no_damage(tmp_path: Path) -> None:
    run = run_folders.write_run(tmp_path / "r", [json.loads(g) for g in GOOD], status="running")
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 41, "entr')
    (result,) = analyse([run]).runs
    assert (result.status, result.n_valid, result.dropped) == ("ok", len(GOOD), {})


def test_the_last_row_of_a_step_wins_and_order_does_not_matter(tmp_path: Path) -> None:
    clean = run_of(tmp_path, text(GOOD))
    early = json.dumps({"step": 7, "entropy": 3.0, "reward": 0.9})
    repeated = run_of(tmp_path, text([early, *reversed(GOOD)]))
    assert repeated.dropped == {"duplicate_step": 1}
    assert without_damage(repeated) == without_damage(clean)


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b"\n  \n", b"\r\n"])
def test_marks_and_blank_lines_are_no_damage(tmp_path: Path, prefix: bytes) -> None:
    result = run_of(tmp_path, prefix + text(GOOD).replace(b"\n", b"\r\n"))
    assert (result.n_valid, result.dropped) == (len(GOOD), {})


def test_a_whole_last_line_without_its_end_is_a_row(tmp_path: Path) -> None:
    assert run_of(tmp_path, text(GOOD)[:-1]).n_valid == len(GOOD)


def test_null_between_evaluations_is_no_damage(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in GOOD]
    for row in rows:
        row["eval/reward"] = row["reward"] + 0.1 if row["step"] % 2 else None
    (result,) = analyse([run_folders.write_run(tmp_path / "r", rows)]).runs
    assert (result.reward, result.n_valid, result.dropped) == ("eval/reward", 20, {})
    assert result.fits is not None
    assert result.fits["reward"].n_valid == 40


def test_few_evaluations_leave_the_training_reward_in_front(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in GOOD]
    for row in rows:
        row["eval/reward"] = row["reward"] if row["step"] % 4 == 1 else None
    (result,) = analyse([run_folders.write_run(tmp_path / "r", rows)]).runs
    assert (result.reward, result.n_valid) == ("reward", 40)
    assert result.fits is not None
    assert result.fits["eval/reward"].verdict == "undetermined"


ERRORS = {
    "empty": (b"", "empty_input", "must hold one JSON object a line, but is empty"),
    "blank": (b"\n \n", "empty_input", "must hold one JSON object a line, but is empty"),
    "garbage": (b"\x89PNG\n\x00\x01\n", "unreadable", ":1: must hold one JSON object a line"),
    "UTF-16": (
        "\n".join(GOOD).encode("utf-16"),
        "unreadable",
        "must be UTF-8, but begins as UTF-16",
    ),
    "UTF-32": ("\n".join(GOOD).encode("utf-32-le"), "unreadable", "but none of 40 lines is valid"),
    "no entropy": (
        b'{"step": 1, "reward": 0.5, "loss": 2}\n',
        "missing_column",
        "needs a column of policy entropy, has step, reward, loss",
    ),
    "all NaN": (
        b'{"step": 1, "entropy": NaN, "reward": 0.5}\n',
        "no_valid_rows",
        ":1: a valid row has a finite step, an entropy in [0, 20] and a finite reward; "
        "left out: 1 nan",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_file_without_numbers_is_a_row_that_says_why(tmp_path: Path, name: str) -> None:
    data, kind, sentence = ERRORS[name]
    result = run_of(tmp_path, data)
    assert result.error is not None
    assert (result.status, result.error.kind, result.n_valid) == ("error", kind, 0)
    assert str(tmp_path / "metrics.jsonl") in result.error.message
    assert sentence in result.error.message
    after = list(law_json.from_run(result))[5:]
    assert all(getattr(result, key) is None for key in after)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "folder" / "metrics.jsonl").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "metrics.jsonl")
    for result in analyse([tmp_path / "folder", tmp_path / "pipe"]).runs:
        assert result.error is not None
        assert result.error.kind == "unreadable"
        assert "must be a regular file, but is not" in result.error.message


def test_a_column_by_name(tmp_path: Path) -> None:
    rows = [{**json.loads(line), "val": 0.5, "H": 0.1} for line in GOOD]
    run_folders.write_rows(tmp_path, rows)
    (named,) = analyse([tmp_path], reward="val", entropy="H").runs
    assert (named.reward, named.entropy, named.n_valid) == ("val", "H", 40)
    (wrong,) = analyse([tmp_path], reward="nothing").runs
    assert wrong.error is not None
    assert "needs a column 'nothing', has step, entropy, reward, val, H" in wrong.error.message


TOKENS = st.one_of(
    st.floats().map(json.dumps),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(["null", "true", '"1"', "NaN", "Inf", "Infinity", "1e999", "01", "[]", "{}"]),
)
LINES = st.one_of(
    st.tuples(st.sampled_from(WANTED), TOKENS).map(lambda kv: f'{{"step": 3, "{kv[0]}": {kv[1]}}}'),
    st.lists(TOKENS, min_size=4, max_size=4).map(
        lambda v: "{" + ", ".join(f'"{k}": {x}' for k, x in zip(WANTED, v, strict=True)) + "}"
    ),
    st.text(max_size=12),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(LINES, min_size=1, max_size=6), st.sampled_from(["\n", ""]))
def test_the_quick_reader_says_the_same_or_nothing(lines: list[str], end: str) -> None:
    data, path = ("\n".join(lines) + end).encode(), Path("m.jsonl")
    quick = fast_reading.table(path, data, WANTED)
    if quick is None:
        return
    slow = reading.read_tolerantly(path, data, WANTED)
    assert slow.damage == {}
    for name in WANTED:
        np.testing.assert_array_equal(quick.columns[name], slow.columns[name])
        np.testing.assert_array_equal(quick.faults[name], slow.faults[name])


def test_the_quick_reader_takes_what_this_project_writes() -> None:
    from harness.records.metrics_log import encode_row

    data = b"".join(encode_row(n, {"entropy": 0.5, "reward": 0.25}) for n in range(1, 4))
    assert fast_reading.columns(data, WANTED) is not None


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("number", ["0.5", "0,5"])
def test_a_csv_separated_otherwise_is_refused_by_what_separates_it(
    tmp_path: Path, mark: str, number: str
) -> None:
    header, row = mark.join(("step", "entropy", "reward")), mark.join(("1", number, number))
    path = tmp_path / "log.csv"
    path.write_text(f"{header}\n{row}\n", encoding="utf-8")
    (run,) = analyse([path]).runs
    assert run.error is not None
    assert (run.error.kind, run.error.message) == (
        "unreadable",
        f"{path}:1: columns must be separated by ',', but the header seems to use {mark!r}; "
        f"got {header!r}: use ',' between columns and '.' in numbers",
    )
