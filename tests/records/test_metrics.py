"""metrics.jsonl: rows are durable, complete, and compared when they are computed again."""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError, DivergedError
from harness.records import metric_rows
from harness.records.metrics import MEASURED
from harness.records.metrics_log import MetricsLog, encode_row


@contextlib.contextmanager
def log_with(path: Path, *rewards: float) -> Iterator[MetricsLog]:
    """The log at `path`, after a row for each of `rewards`."""
    with contextlib.closing(MetricsLog(path)) as log:
        for step, reward in enumerate(rewards, start=1):
            log.append(step, {"reward": reward})
        yield log


def rewards(path: Path) -> list[float]:
    return [json.loads(line)["reward"] for line in path.read_text().splitlines()]


def test_a_row_holds_every_key_in_order_and_null_for_what_was_not_measured() -> None:
    row = json.loads(encode_row(3, {"reward": 0.5, "entropy": float("nan")}))
    assert list(row) == ["step", *MEASURED, "crc32"]
    assert (row["step"], row["reward"], row["entropy"], row["kl"]) == (3, 0.5, None, None)


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(KeyError, match="not a metric: rewrad"):
        encode_row(1, {"rewrad": 1.0})


@given(st.floats())
def test_a_value_comes_back_exactly_or_is_null(value: float) -> None:
    read = json.loads(encode_row(1, {"reward": value}))["reward"]
    assert read == value or read is None


def test_rows_are_appended_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2):
        pass
    with log_with(path) as log:
        assert log.last_step == 2
        assert log.append(3, {"reward": 0.3}) is True
        assert rewards(path) == [0.1, 0.2, 0.3]


def test_a_torn_last_line_is_cut_and_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2):
        whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with log_with(path) as log:
        assert log.last_step == 1
        log.append(2, {"reward": 0.2})
    assert path.read_bytes() == whole


def test_a_recomputed_row_is_compared_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2) as log:
        assert log.append(1, {"reward": 0.1}) is False
    assert rewards(path) == [0.1, 0.2]


def test_a_row_that_differs_names_its_line_its_key_and_both_values(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2) as log, pytest.raises(DivergedError) as caught:
        log.append(2, {"reward": 0.25})
    assert str(caught.value) == (
        f"{path}:2: a recomputed row must equal the one on disk; reward was 0.2, is now 0.25"
    )


def test_superseded_rows_are_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2, 0.3) as log:
        log.supersede(2)
        assert log.append(2, {"reward": 0.25}) is True
    assert rewards(tmp_path / "metrics.superseded.jsonl") == [0.2, 0.3]
    assert rewards(path) == [0.1, 0.25]


def test_a_gap_is_refused(tmp_path: Path) -> None:
    with (
        log_with(tmp_path / "metrics.jsonl", 0.1) as log,
        pytest.raises(ValueError, match="row 3 would leave a gap after row 1"),
    ):
        log.append(3, {})


def test_a_foreign_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2):
        first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"\0\0\0\n" + second)
    with pytest.raises(DataError, match=r"metrics.jsonl:2: row 2 must be of step 2, got"):
        MetricsLog(path)


def changed(path: Path, row: int, old: bytes, new: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[row - 1] = lines[row - 1].replace(old, new)
    path.write_bytes(b"".join(lines))


def test_a_changed_row_is_named_and_nothing_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2, 0.3):
        pass
    changed(path, 2, b"0.2", b"0.9")
    before = path.read_bytes()
    with pytest.raises(DataError) as caught:
        MetricsLog(path, needed=2)
    assert str(caught.value) == (
        f"{path}:2: row 2 must match its checksum, but does not: it was changed after it was "
        "written; without checkpoints/ the rows are computed again"
    )
    assert path.read_bytes() == before


def test_a_changed_row_that_is_computed_again_is_moved_aside_with_those_after_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2, 0.3):
        whole = path.read_bytes()
    changed(path, 2, b"0.2", b"0.9")
    with contextlib.closing(MetricsLog(path, needed=1)) as log:
        assert log.last_step == 1
        assert log.moved_aside == (
            f"{path}:2: row 2 must match its checksum, but does not: it was changed after it was "
            "written"
        )
        assert [log.append(n, {"reward": n / 10}) for n in (1, 2, 3)] == [False, True, True]
    assert path.read_bytes() == whole
    assert rewards(tmp_path / "metrics.superseded.jsonl") == [0.9, 0.3]


def test_rows_of_an_older_version_are_compared_without_regard_to_checksums(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2):
        whole = path.read_bytes()
    path.write_bytes(b"".join(map(metric_rows.without_checksum, whole.splitlines(keepends=True))))
    with log_with(path) as log:
        assert log.append(2, {"reward": 0.2}) is False
        assert log.append(3, {"reward": 0.3}) is True
        with pytest.raises(DivergedError, match=r"reward was 0\.1, is now 0\.5"):
            log.append(1, {"reward": 0.5})
    checks = [
        metric_rows.checksum_matches(line) for line in path.read_bytes().splitlines(keepends=True)
    ]
    assert checks == [None, None, True]
    with log_with(path) as log:
        assert log.last_step == 3


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (
            b'{"step": 1, "reward": 0.1, "crc3z": "1c291ca3"}\n',
            "a JSON object of numbers and nulls",
        ),
        (b'{"step": 1, "reward": 1e999}\n', "a JSON object of numbers and nulls"),
        (b'{"step": 1, "reward": 0.1\n', "a JSON object of numbers and nulls"),
        (b'{"step": 1, "crc32": "1c291ca3"} \n', "must match its checksum, but does not"),
    ],
)
def test_a_first_row_that_no_version_wrote_is_damage(
    tmp_path: Path, line: bytes, rule: str
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line)
    with pytest.raises(DataError, match=f"metrics.jsonl:1: row 1 .*{rule}"):
        MetricsLog(path)


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_any_flipped_bit_of_a_row_is_found(place: int, bit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        with log_with(path, 0.125, 0.25):
            pass
        data = bytearray(path.read_bytes())
        first = data.index(b"\n")
        data[place % first] ^= 1 << bit
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"metrics.jsonl:1: "):
            MetricsLog(path)


def without_columns(path: Path, *names: str, **more: float) -> bytes:
    """The file as a version that has other metrics would have written it."""
    lines = []
    for line in path.read_bytes().splitlines():
        row = {k: v for k, v in json.loads(line).items() if k not in (*names, "crc32")}
        lines.append(metric_rows.encode({**row, **more}))
    path.write_bytes(b"".join(lines))
    return path.read_bytes()


def test_a_file_keeps_the_columns_it_was_begun_with(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2, 0.3):
        pass
    whole = without_columns(path, "grad_norm", "kl")
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    with log_with(path) as log:
        assert set(MEASURED) - set(log.columns) == {"grad_norm", "kl"}
        assert log.append(2, {"reward": 0.2, "kl": 7.0}) is False
        assert log.append(3, {"reward": 0.3, "kl": 7.0}) is True
        with pytest.raises(DivergedError, match=r"reward was 0\.1, is now 0\.5"):
            log.append(1, {"reward": 0.5, "kl": 7.0})
    assert path.read_bytes() == whole


def test_a_metric_of_another_version_is_compared_with_nothing_and_null_from_then_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2):
        pass
    without_columns(path, zeal=0.75)
    with log_with(path) as log:
        assert log.append(2, {"reward": 0.2}) is False
        assert log.append(3, {"reward": 0.3}) is True
    assert [json.loads(line)["zeal"] for line in path.read_text().splitlines()] == [
        0.75,
        0.75,
        None,
    ]


def test_once_all_rows_are_moved_aside_a_file_has_todays_columns(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with log_with(path, 0.1, 0.2):
        pass
    without_columns(path, "kl")
    changed(path, 1, b"0.1", b"0.9")
    with contextlib.closing(MetricsLog(path, needed=0)) as log:
        assert log.columns == tuple(MEASURED)
