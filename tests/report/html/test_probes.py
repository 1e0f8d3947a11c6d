"""The section of probes: what each wrote, as it wrote it, and nothing that no probe wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.probes.over_users import NOT_MEASURED, ProbeEstimate
from harness.probes.results import ProbeReading, ProbeResult
from harness.report.html import probes
from harness.report.html.folders import LocatedRun
from harness.testing import run_folders, synthetic
from tests.report.html.made_runs import PLANTED, Page, reported


def reading(step: int, change: ProbeEstimate = NOT_MEASURED, text: str = "error") -> ProbeReading:
    estimate = ProbeEstimate(40.0 + step, 30.0, 60.0)
    return ProbeReading("hard", text, "sad", "%", step, estimate, change, published=11.9)


def answer(text: str = "error") -> Any:
    probed = ProbeResult(
        probe="reliability", asks="Is it true?", run="one", against="start",
        reference=(reading(0, text=text),), steps=(4, 7), users=64, repeats=4, conversations=0,
        readings=(reading(4, ProbeEstimate(1.0, -1.0, 3.0), text),
                  reading(7, ProbeEstimate(6.0, 2.0, 10.0), text)),
        not_measured=(text,), verdict=f"warmer, and more often wrong: {text}",
    )  # fmt: skip
    return probed.to_json()


def put(run: Path, value: Any, name: str = "reliability") -> Path:
    path = run / "probes" / name / "probe.json"
    path.parent.mkdir(parents=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def found(run: Path) -> probes.ProbeSection:
    return probes.probe_section([LocatedRun(str(run), run, None)], {str(run): "one"})


def test_the_last_step_of_an_answer_is_a_table_with_its_verdict(tmp_path: Path) -> None:
    put(tmp_path, answer())
    (table,) = found(tmp_path).tables
    assert table.caption == "one: Is it true? Step 7, compared with its start"
    level, row = table.rows
    assert (level.kind, level.cells[0].lines) == ("level", ("hard",))
    assert [cell.lines for cell in row.cells] == [
        ("error, sad (%)",),
        ("40.00", "[30.00, 60.00]"),
        ("47.00", "[30.00, 60.00]"),
        ("6.00", "[2.00, 10.00]"),
        ("11.9",),
    ]
    assert table.notes == ["warmer, and more often wrong: error", "not measured: error"]


@pytest.mark.parametrize(
    "value",
    ["{", "[]", "{}", "3", "[" * 100_000, json.dumps({**answer(), "steps": []}),
     json.dumps(answer()).replace("47.0", "NaN"), json.dumps(answer()).replace("47.0", '"x"'),
     json.dumps(answer()).replace("47.0", "1e999")],
    ids=range(9),
)  # fmt: skip
def test_what_no_probe_wrote_is_left_out_and_counted(tmp_path: Path, value: str) -> None:
    put(tmp_path, value)
    shown = found(tmp_path)
    assert (list(shown.tables), shown.notes) == (
        [],
        ["1 probe.json not written by a probe: not shown"],
    )


def test_links_are_not_followed(tmp_path: Path) -> None:
    other, run = tmp_path / "other", tmp_path / "run"
    target = put(other, answer())
    (run / "probes" / "a").mkdir(parents=True)
    (run / "probes" / "a" / "probe.json").symlink_to(target)
    (run / "probes" / "b").symlink_to(target.parent)
    assert not found(run).tables
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "probes").symlink_to(other / "probes")
    assert not found(tmp_path / "third").tables


def test_a_page_shows_so_many_and_counts_the_rest(tmp_path: Path) -> None:
    for number in range(probes.MOST_TABLES + 2):
        put(tmp_path, answer(), str(number))
    shown = found(tmp_path)
    assert len(shown.tables) == probes.MOST_TABLES
    assert shown.notes == ["2 more answers of probes: not shown"]


def test_planted_text_is_text_in_the_page(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run_folders.write_run(run, synthetic.lawful_rows(1, 40), 1, "hard")
    plain = Page(reported(run).content)
    assert "Probes" not in plain.text
    for number, text in enumerate(PLANTED):
        put(run, answer(text), f"probe-{number}")
    page = Page(reported(run).content)
    assert "Is it true?" in page.text
    assert not page.named("img")
    assert len(page.named("script")) == len(plain.named("script"))
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "autofocus"]
    values = [str(v) for _, attributes in page.elements for v in attributes.values()]
    for shown in (*page.texts, *values):
        assert all(char.isprintable() or char == "\n" for char in shown), shown
