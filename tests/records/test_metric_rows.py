"""A row's checksum: fits what was written, nothing else, and is missing in older rows."""

import json
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from harness.records import metric_rows

ROWS = st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.none())


@given(ROWS)
def test_a_row_as_it_was_written_fits_and_is_plain_json(values: dict[str, float | None]) -> None:
    assume(metric_rows.KEY not in values)
    line = metric_rows.encode({"step": 1, **values})
    assert metric_rows.checksum_matches(line) is True
    assert json.loads(line) | {metric_rows.KEY: None} == {
        "step": 1,
        **values,
        metric_rows.KEY: None,
    }
    assert metric_rows.without_checksum(line) == (json.dumps({"step": 1, **values}) + "\n").encode()


@given(ROWS, st.data())
def test_a_row_with_one_byte_changed_does_not_fit(
    values: dict[str, float | None], data: st.DataObject
) -> None:
    line = bytearray(metric_rows.encode({"step": 1, **values}).rstrip())
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] ^= data.draw(st.integers(1, 255))
    assert metric_rows.checksum_matches(bytes(line)) is not True


def test_a_row_of_an_older_version_has_none() -> None:
    assert metric_rows.checksum_matches(b'{"step": 1, "entropy": 0.5}\n') is None


def test_a_number_too_long_for_a_float_is_damage(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text('{"step": 1, "entropy": 0.5}\n{"step": 2, "entropy": 1%s}\n' % ("0" * 400))
    rule = "row 2 must be a JSON object of numbers and nulls, but is not"
    assert metric_rows.scan(log).problem == f"{log}:2: {rule}"
