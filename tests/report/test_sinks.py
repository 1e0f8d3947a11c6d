"""Text that a run brings is shown and does nothing: on a terminal, in CSV, in a figure."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness.report.figures import labels
from harness.report.tables import csv_files
from harness.testing.payloads import PAYLOADS
from harness.utils import safe_text
from harness.utils.safe_text import escape
from harness.utils.terminal import shorten_middle

anything = st.text(st.characters(exclude_categories=()))


@given(anything)
def test_visible_text_is_one_printable_line_and_keeps_plain_text(text: str) -> None:
    shown = escape(text)
    assert shown.isprintable()
    assert text.isprintable() <= (shown == text)


def test_escapes_are_those_of_python() -> None:
    assert escape("\x1b[31m\u202e\x9b\n\ud800") == r"\x1b[31m\u202e\x9b\n\ud800"


@given(anything, st.integers(10, 40))
def test_a_shortened_name_keeps_both_ends(text: str, most: int) -> None:
    short = shorten_middle(text, most)
    assert len(short) <= most
    assert short == text or (text.startswith(short[:3]) and text.endswith(short[-3:]))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_terminal_gets_no_control_byte_and_no_markup(payload: str) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=400)
    console.print(safe_text.text(payload))
    assert stream.getvalue() == escape(payload) + "\n"


@given(st.one_of(anything, st.sampled_from(PAYLOADS)))
def test_a_text_cell_never_starts_a_formula(text: str) -> None:
    assert not csv_files.cell(text).lstrip(" ").startswith(csv_files.FORMULA_STARTS)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_stays_a_number_even_if_negative(number: float) -> None:
    assert float(csv_files.cell(number)) == number


def test_a_table_keeps_its_shape_whatever_is_in_it() -> None:
    rows = [{"run": payload, "n": -1, "known": True} for payload in PAYLOADS]
    text = csv_files.table(["run", "n", "known", "absent"], rows)
    read = list(csv.reader(io.StringIO(text)))
    assert [len(row) for row in read] == [4] * (len(PAYLOADS) + 1)
    assert {tuple(row[1:]) for row in read[1:]} == {("-1", "true", "")}


@given(anything)
def test_a_label_is_short_and_the_font_can_draw_all_of_it(text: str) -> None:
    label = labels.label(text)
    assert len(label) <= labels.LONGEST_NAME
    assert {ord(char) for char in label} <= labels.drawable_characters()


def test_wrapping_keeps_an_interval_and_a_count_whole() -> None:
    sentence = "ceiling 0.81 [0.78, 0.84], law holds in 3"
    for width in range(14, 45):
        lines = labels.wrap(sentence, width).splitlines()
        assert " ".join(lines) == sentence
        assert any("[0.78, 0.84]" in line for line in lines)
        assert any("in 3" in line for line in lines)
