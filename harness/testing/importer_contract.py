"""Tests for every importer: subclass ImporterContract and define `importer` and `log`."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from harness.law.io import reading
from harness.law.io.importers import aliases
from harness.law.io.importers.rows import Importer, Rows
from harness.utils import extensions

CUTS = 60
OURS = {
    "metrics.jsonl": b'{"step": 1, "entropy": 1.5, "reward": 0.25}\n',
    "history.csv": b"step,entropy,reward\n1,1.5,0.25\n",
    "trainer_state.json": b'{"log_history": [{"step": 1, "entropy": 1.5, "reward": 0.25}]}',
}
GARBAGE = (b"", b"\n\n\n", b"\x00\xff\xfe" * 100, b"{" * 5000, b"a,b\n" * 50, b"step:1 - \n" * 9)


class ImporterContract:
    takes_all = False
    """Whether it may accept any file, as only the last importer in the order may."""

    @pytest.fixture
    def importer(self) -> Importer:
        raise NotImplementedError

    @pytest.fixture
    def log(self) -> tuple[str, bytes]:
        """The name and the content of a complete log of this format, with at least eight steps."""
        raise NotImplementedError

    def test_it_takes_its_own_logs_and_no_others(
        self, importer: Importer, log: tuple[str, bytes]
    ) -> None:
        assert importer.looks_like(*log) is True
        for name, data in OURS.items():
            if not self.takes_all and Path(name).suffix != Path(log[0]).suffix:
                assert importer.looks_like(name, data) is False, name

    def test_a_whole_log_has_a_place_for_each_row_and_no_damage(
        self, importer: Importer, log: tuple[str, bytes]
    ) -> None:
        rows = importer.rows(log[1])
        assert len(rows.rows) >= 8
        assert rows.damage == {}
        check(rows, log[1])

    def test_its_columns_are_read_as_step_entropy_and_reward(
        self, importer: Importer, log: tuple[str, bytes], tmp_path: Path
    ) -> None:
        path = tmp_path / log[0]
        path.write_bytes(log[1])
        with extensions.registered("importer", "of_the_contract", importer):
            names = reading.read(path, ("step",)).names
            table = reading.read(path, tuple(dict.fromkeys(("step", *names))))
        assert np.isfinite(table.columns["step"]).all()
        for accepted in (aliases.ENTROPIES, aliases.REWARDS):
            name = aliases.first_accepted(table.names, accepted)
            assert name is not None, f"rows must have one of {', '.join(accepted)}"
            assert np.isfinite(table.columns[name]).sum() >= 8, name

    def test_a_log_torn_anywhere_gives_the_rows_before_the_tear(
        self, importer: Importer, log: tuple[str, bytes]
    ) -> None:
        name, data = log
        full = importer.rows(data)
        for end in np.linspace(0, len(data), CUTS).astype(int):
            assert importer.looks_like(name, data[:end]) in (True, False)
            torn = importer.rows(data[:end])
            check(torn, data[:end])
            # the tear may be within a number of the last row
            row_count = max(len(torn.rows) - 1, 0)
            assert list(torn.rows[:row_count]) == list(full.rows[:row_count]), f"cut at byte {end}"

    def test_damaged_bytes_are_counted_or_read_and_never_raised(
        self, importer: Importer, log: tuple[str, bytes]
    ) -> None:
        rng = random.Random(5)
        for _ in range(CUTS):
            data = bytearray(log[1])
            for _ in range(8):
                data[rng.randrange(len(data))] = rng.randrange(256)
            importer.looks_like(log[0], bytes(data))
            check(importer.rows(bytes(data)), bytes(data))

    @pytest.mark.parametrize("data", GARBAGE, ids=lambda data: repr(data[:8]))
    def test_what_is_no_log_gives_no_rows_and_says_what_one_is(
        self, importer: Importer, log: tuple[str, bytes], data: bytes
    ) -> None:
        importer.looks_like(log[0], data)
        rows = importer.rows(data)
        check(rows, data)
        assert rows.rule.startswith("must ")
        assert not rows.rule.endswith("."), "it is followed by what was found"


def check(rows: Rows, data: bytes) -> None:
    """Assert what holds for the rows of any content."""
    lines = data.count(b"\n") + 1
    assert len(rows.rows) == len(rows.lines)
    assert all(isinstance(name, str) for row in rows.rows for name in row)
    line_numbers = [*rows.lines, *(line for numbers in rows.damage.values() for line in numbers)]
    assert all(1 <= line <= lines for line in line_numbers)
    assert set(rows.damage) <= {"malformed_line", "torn_last_line", "checksum"}
    assert all(rows.damage.values()), "a reason without lines"
