"""Lines for a terminal: what is wrapped, cut and left out, and what never is."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from harness.utils import terminal

WORDS = st.lists(st.text("abcdef-/.", min_size=1, max_size=12), min_size=1, max_size=30)


@given(WORDS, st.integers(20, 120))
def test_wrapping_keeps_every_word_whole_and_every_line_short(words: list[str], wide: int) -> None:
    lines = terminal.wrap(" ".join(words), wide, "  ").split("\n")
    assert [word for line in lines for word in line.split()] == words
    alone = max(map(len, words)) + 2
    assert all(len(line) <= max(wide, alone) for line in lines)


def test_a_command_in_backticks_stays_on_one_line() -> None:
    line = "stopped; continue with `harness resume runs/pilot` or look"
    assert terminal.wrap(line, 40).split("\n")[1].startswith("`harness resume runs/pilot`")


def test_without_a_terminal_a_line_stays_a_line() -> None:
    assert terminal.wrap("word " * 100, None) == "word " * 100
    assert terminal.width(io.StringIO()) is None
    assert not terminal.is_coloured(io.StringIO())


@given(WORDS, st.integers(4, 40))
def test_cut_keeps_whole_words_from_the_start(words: list[str], most: int) -> None:
    text = " ".join(words)
    cut = terminal.truncate(text, most)
    assert len(cut) <= most
    if cut != text and " " in text[: most - 3]:
        kept = cut.removesuffix("...").split()
        assert [word.rstrip(",;:") for word in words[: len(kept)]] == kept


@given(
    st.lists(st.tuples(*[st.text("ab ", max_size=30)] * 4), min_size=1, max_size=5),
    st.integers(30, 150),
)
def test_columns_fit_whatever_is_in_them(rows: list[tuple[str, ...]], columns: int) -> None:
    widths = terminal.fit(rows, columns, {3: 8, 0: 8}, (2,))
    shown = [terminal.row(row, widths, {}) for row in rows]
    if sum(min(len(max(c, key=len)), 8 if n in (0, 3) else 99) for n, c in enumerate(
        zip(*rows, strict=True)) if n != 2) + 4 <= columns:  # fmt: skip
        assert max(map(len, shown)) <= columns
    assert {0, 1, 3} <= widths.keys()


def test_sizes_are_shown_in_their_unit() -> None:
    assert [terminal.format_size(n) for n in (999, 12_345, 9_900_000, 31e6, 1.2e9, 4e11)] == [
        "1 kB", "12 kB", "9.9 MB", "31 MB", "1.2 GB", "400 GB",
    ]  # fmt: skip
