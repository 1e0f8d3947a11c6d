"""Topics of an item file are others' text: shown wherever an answer goes, and never obeyed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from harness.probes import answer_files, show
from harness.probes.item_file import LONGEST_TOPIC
from harness.probes.over_users import ProbeEstimate
from harness.probes.results import COLUMNS, ProbeReading, ProbeResult, rows
from harness.report.figures import probe as figure
from harness.report.tables import csv_files
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape

TOPICS = sorted({text[:LONGEST_TOPIC] for text in PAYLOADS if text.strip()})


def probed(*topics: str) -> ProbeResult:
    number = ProbeEstimate(5.0, 4.0, 6.0)
    start = tuple(ProbeReading(topic, "error", "sad", "%", 0, number) for topic in topics)
    made = tuple(ProbeReading(topic, "error", "sad", "%", 7, number, number) for topic in topics)
    return ProbeResult(
        probe="reliability", asks="Is it true?", run="one", against="start", reference=start,
        steps=(7,), users=64, repeats=4, conversations=0, readings=made, items=5,
        verdict=topics[0],
    )  # fmt: skip


@pytest.mark.parametrize("topic", TOPICS)
def test_a_terminal_gets_no_control_byte_and_no_markup(topic: str) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=400, force_terminal=True, color_system=None)
    show.show(probed(topic), console)
    said = stream.getvalue()
    assert escape(topic) in said
    assert "\x1b" not in said


def test_csv_and_picture_take_them_as_text(tmp_path: Path) -> None:
    one = probed(*TOPICS)
    table = csv_files.table(COLUMNS, rows(one))
    assert list(pd.read_csv(io.StringIO(table)).value) == [5] * 2 * len(TOPICS)
    cells = [cell for row in csv.reader(io.StringIO(table)) for cell in row]
    assert not any(cell.startswith(csv_files.FORMULA_STARTS) for cell in cells)
    (panel,) = answer_files.panels(one)
    assert len({line.name for line in panel.lines}) == len(TOPICS)
    drawing = figure.draw(answer_files.heading(one), [panel])
    drawing.figure.savefig(tmp_path / "probe.png")
    assert (tmp_path / "probe.png").stat().st_size > 1000
