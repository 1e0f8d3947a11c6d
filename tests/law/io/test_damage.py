"""Damage is normal: it is counted, named by file and line, and changes no number by a bit."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cli.fit import FitOptions, fit
from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.io import fast_reading, reading
from harness.law.results import RunResult
from harness.testing import run_folders, synthetic

KEYS = ("step", "entropy", "reward")
CLEAN = synthetic.rows(synthetic.kink(11, 80, synthetic.LOW))
LINES = [json.dumps(row).encode() for row in CLEAN]

NO_ROWS = st.sampled_from(
    [
        b'{"step": 7, "entropy": NaN, "reward": 0.5}',
        b'{"step": 7, "entropy": 0.5, "reward": Infinity}',
        b'{"step": 7, "entropy": -Infinity, "reward": 0.1}',
        b'{"step": 7, "entropy": 0.5, "reward": 1e999}',
        b'{"step": null, "entropy": 0.5, "reward": 0.5}',
        b'{"step": 7, "entropy": null, "reward": 0.5}',
        b'{"step": 7, "entropy": 0.5, "reward": null}',
        b'{"step": "7", "entropy": 0.5, "reward": 0.5}',
        b'{"step": 7, "entropy": [0.5], "reward": 0.5}',
        b'{"step": 7, "entropy": 0.5, "reward": {"mean": 0.5}}',
        b'{"step": 7, "entropy": true, "reward": 0.5}',
        b'{"step": 7, "entropy": 21, "reward": 0.5}',
        b'{"step": 7, "entropy": -1e-9, "reward": 0.5}',
        b'{"entropy": 0.5, "reward": 0.5}',
        b'{"step": 7, "reward": 0.5}',
        b'{"step": 7, "entropy": 0.5}',
        b"{}",
        b'{"step": 7, "entropy": 0.5, "rew',
        b"[7, 0.5, 0.5]",
        b"Traceback (most recent call last):",
        b"\xff\xfe\x00\x01garbage\x80",
        b"\x00" * 64,
        b"\xef\xbb\xbf" + LINES[3],
        b"[" * 2000,
    ]
)
"""None of them is a row, wherever in the file it stands (a mark in mid-file included)."""
PLACES = st.lists(st.tuples(st.integers(0, len(LINES)), NO_ROWS), min_size=1, max_size=8)


def fitted(folder: Path, data: bytes) -> RunResult:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_bytes(data)
    (result,) = analyse([folder]).runs
    return result


def numbers(result: RunResult) -> str:
    """All but the run's name and what was left out, every float to its last bit."""
    return json.dumps(law_json.from_run(result) | {"run": "", "dropped": {}, "dropped_at": {}})


def of_lines(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(PLACES)
def test_a_damaged_file_gives_the_numbers_of_the_clean_one(
    places: list[tuple[int, bytes]],
) -> None:
    damaged = list(LINES)
    for at, line in sorted(places, key=lambda place: -place[0]):
        damaged.insert(at, line)
    with tempfile.TemporaryDirectory() as folder:
        clean = fitted(Path(folder) / "clean", of_lines(LINES))
        result = fitted(Path(folder) / "damaged", of_lines(damaged))
    assert numbers(result) == numbers(clean)
    assert sum(result.dropped.values()) == len(places)


@pytest.mark.parametrize("line", [b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x01garbage\x80"])
def test_a_damaged_first_row_that_begins_as_utf_16_does_is_left_out(
    tmp_path: Path, line: bytes
) -> None:
    clean = fitted(tmp_path / "clean", of_lines(LINES))
    result = fitted(tmp_path / "damaged", of_lines([line, *LINES]))
    assert numbers(result) == numbers(clean)
    assert result.dropped == {"malformed_line": 1}


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(0, len(LINES) - 1), max_size=20), st.randoms(use_true_random=False))
def test_rows_made_worthless_are_as_if_they_were_not_there(
    at: set[int], rng: random.Random
) -> None:
    spoilt = [line.replace(b'"entropy"', b'"entropie"') for line in LINES]
    mixed = [spoilt[i] if i in at else line for i, line in enumerate(LINES)]
    rng.shuffle(mixed)
    kept = [line for i, line in enumerate(LINES) if i not in at]
    with tempfile.TemporaryDirectory() as folder:
        clean = fitted(Path(folder) / "clean", of_lines(kept))
        result = fitted(Path(folder) / "damaged", of_lines(mixed))
    assert numbers(result) == numbers(clean)
    assert result.dropped == ({"missing_entropy": len(at)} if at else {})


CSV_DAMAGE = st.sampled_from(
    [b"7,0.5", b"7,0.5,0.5,9", b"7,nan,0.5", b"7,0.5,inf", b"7,,0.5", b"7,0.5,x", b"\xff,1,2"]
)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, len(LINES)), CSV_DAMAGE), min_size=1, max_size=5))
def test_so_does_a_damaged_csv(places: list[tuple[int, bytes]]) -> None:
    header = ",".join(f'"{key}"' for key in KEYS).encode()
    clean = [header, *(",".join(str(float(row[key])) for key in KEYS).encode() for row in CLEAN)]
    assert fast_reading.csv_columns(of_lines(clean), KEYS) is not None
    damaged = list(clean)
    for at, line in sorted(places, key=lambda place: -place[0]):
        damaged.insert(at, line)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "clean.csv", Path(folder) / "damaged.csv"]
        for path, lines in zip(paths, (clean, damaged), strict=True):
            path.write_bytes(of_lines(lines))
        whole, result = analyse(paths).runs
    assert whole.dropped == {}
    assert numbers(result) == numbers(whole)
    assert sum(result.dropped.values()) == len(places)


def test_a_runs_numbers_do_not_depend_on_the_others(tmp_path: Path) -> None:
    makers = (synthetic.lawful, synthetic.kink, synthetic.explode, synthetic.flat)
    for number in range(12):
        log = makers[number % 4](number, 60 + 7 * number, synthetic.LOW)
        run_folders.write_rows(tmp_path / f"{number:02d}", synthetic.rows(log))
    many = analyse([tmp_path]).runs
    assert len(many) == 12
    for number, result in enumerate(many):
        folder = tmp_path / f"{number:02d}"
        (alone,) = analyse([folder]).runs
        pair = analyse([tmp_path / f"{(number + 5) % 12:02d}", folder]).runs[1]
        assert numbers(alone) == numbers(pair) == numbers(result)


def test_duplicates_after_a_resume_are_counted_and_the_last_wins(tmp_path: Path) -> None:
    stale = [json.dumps({**row, "reward": row["reward"] - 0.2}).encode() for row in CLEAN[40:]]
    result = fitted(tmp_path / "resumed", of_lines([*LINES[:40], *stale, *LINES[40:]]))
    assert numbers(result) == numbers(fitted(tmp_path / "clean", of_lines(LINES)))
    assert result.dropped == {"duplicate_step": 40}
    metrics = tmp_path / "resumed" / "metrics.jsonl"
    assert result.dropped_at == {"duplicate_step": [f"{metrics}:{n}" for n in (41, 42, 43)]}


def test_steps_offset_by_a_million_move_the_onset_and_nothing_else(tmp_path: Path) -> None:
    late = [json.dumps({**row, "step": row["step"] + 1_000_000}).encode() for row in CLEAN]
    early, moved = (
        fitted(tmp_path / name, of_lines(lines)) for name, lines in (("0", LINES), ("1", late))
    )
    assert (moved.a, moved.b, moved.verdict) == (early.a, early.b, early.verdict)
    assert early.onset is not None
    assert moved.onset is not None
    assert moved.onset.step - 1_000_000 == pytest.approx(early.onset.step, abs=0.5)


@pytest.mark.slow
def test_two_hundred_thousand_steps(tmp_path: Path) -> None:
    log = synthetic.lawful(3, 200_000, synthetic.LOW)
    lines = [f'{{"step": {n}, "entropy": {h}, "reward": {r}}}\n' for n, h, r in _columns(log)]
    result = fitted(tmp_path, "".join(lines).encode())
    assert (result.n_valid, result.verdict) == (200_000, "holds")
    assert result.a is not None
    assert result.a.low < synthetic.TRUE_A < result.a.high


def _columns(log: synthetic.SyntheticRun) -> list[tuple[int, float, float]]:
    columns = (log.steps.astype(int).tolist(), log.entropy.tolist(), log.reward.tolist())
    return list(zip(*columns, strict=True))


def test_a_file_that_grows_while_it_is_read_gives_the_rows_that_were_there(
    tmp_path: Path,
) -> None:
    whole = of_lines(LINES)
    for cut in (len(whole) - 1, len(whole) - 20, len(whole) // 2):
        result = fitted(tmp_path / str(cut), whole[:cut])
        kept = whole[:cut].count(b"\n")
        torn = {} if whole[:cut].endswith(b"}") else {"torn_last_line": 1}
        assert result.dropped == torn
        assert result.n_valid == kept + (not torn)


def test_of_a_csv_without_its_last_line_end_a_whole_row_counts_and_half_a_one_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    for last, rewards, damage in (("2,0.4,0.3", [0.25, 0.3], {}),
                                  ("2,0.4", [0.25], {"torn_last_line": [3]})):  # fmt: skip
        path.write_text("step,entropy,reward\n1,0.5,0.25\n" + last)
        table = reading.read(path, KEYS)
        assert table.columns["reward"].tolist() == rewards
        assert table.damage == damage


def test_the_first_few_rows_left_out_are_named_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nan = b'{"step": 9, "entropy": NaN, "reward": 0.5}'
    (tmp_path / "metrics.jsonl").write_bytes(of_lines([nan] * 5 + LINES) + b'{"step": 81, "en')
    wanted = FitOptions((tmp_path,), tmp_path / "law", None, None, "none", pool_unlike=False)
    assert fit(wanted, as_json=True, explain=False) == 0
    shown = capsys.readouterr()
    file = tmp_path / "metrics.jsonl"
    assert (
        f"harness: left out of {tmp_path}: 1 torn_last_line ({file}:86), "
        f"5 nan ({file}:1, {file}:2, {file}:3, ...)\n" in shown.err
    )
    assert json.loads(shown.out)["runs"][0]["dropped"] == {"torn_last_line": 1, "nan": 5}


NUMBERS = ["0.5", "7", "-1e-3", "1e999", "nan", "NaN", "NAN", "inf", "-Infinity", "+1", "1.", ".5"]
OTHERS = ["", "null", "NA", "x", "true", " 0.5", "0.5 ", "1_0", "0x10", '"0.5"', "1e5", "1d3", "∞"]
FIELDS = st.sampled_from([*NUMBERS, *OTHERS])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(FIELDS, min_size=3, max_size=3).map(",".join), min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n", ""]),
)
def test_the_quick_csv_reader_says_the_same_or_nothing(lines: list[str], end: str) -> None:
    data = ("\n".join([",".join(KEYS), *lines]) + end).encode()
    quick = fast_reading.csv_columns(data, KEYS)
    if quick is None:
        return
    slow = reading.read_tolerantly(Path("m.csv"), data, KEYS)
    assert slow.damage == {}
    for name in KEYS:
        np.testing.assert_array_equal(quick.values[name], slow.columns[name])
        np.testing.assert_array_equal(quick.faults[name], slow.faults[name])
