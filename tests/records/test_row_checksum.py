"""A row's checksum: fits what was written, nothing else, and is missing in older rows."""

import json

from hypothesis import assume, given
from hypothesis import strategies as st

from harness.records import row_checksum

ROWS = st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.none())


@given(ROWS)
def test_a_row_as_it_was_written_fits_and_is_plain_json(values):
    assume(row_checksum.KEY not in values)
    line = row_checksum.encode({"step": 1, **values})
    assert row_checksum.holds(line) is True
    assert json.loads(line) | {row_checksum.KEY: None} == {
        "step": 1,
        **values,
        row_checksum.KEY: None,
    }
    assert row_checksum.without(line) == (json.dumps({"step": 1, **values}) + "\n").encode()


@given(ROWS, st.data())
def test_a_row_with_one_byte_changed_does_not_fit(values, data):
    line = bytearray(row_checksum.encode({"step": 1, **values}).rstrip())
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] ^= data.draw(st.integers(1, 255))
    assert row_checksum.holds(bytes(line)) is not True


def test_a_row_of_an_older_version_has_none():
    assert row_checksum.holds(b'{"step": 1, "entropy": 0.5}\n') is None
