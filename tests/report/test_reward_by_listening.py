"""The figure of reward against listening."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import pytest

from harness.law.analysis import analyse
from harness.law.group_results import Analysis
from harness.report.figures import reward_by_listening
from harness.testing import run_folders, synthetic
from harness.testing.figure_contract import drawn


@functools.cache
def heard() -> Analysis:
    with tempfile.TemporaryDirectory() as root:
        for n, (level, nats) in enumerate((("easy", 1.2), ("medium", 0.01), ("medium", 0.9))):
            rows = synthetic.rows(
                synthetic.lawful(n, 40, synthetic.NONE, synthetic.exponential(0.8))
            )
            rows = synthetic.evaluated(rows, reward=0.5 + 0.1 * nats, listening=nats)
            run_folders.write_run(Path(root) / f"{n}", rows, seed=n, level=level)
        run_folders.write_cards(Path(root), {"medium": run_folders.anchors(0.6, 0.77, 1.45, 0.8)})
        return analyse([Path(root)])


def test_each_run_stands_beside_the_references_of_its_level() -> None:
    ((_, drawing),) = drawn(reward_by_listening.FIGURE, heard())
    easy, deaf, listens = drawing.rows
    assert [row["policy_verdict"] for row in drawing.rows] == [None, "template", "listens"]
    assert (easy["deaf_schedule"], deaf["deaf_schedule"]) == (None, 0.6)
    assert listens["listening"] == pytest.approx(0.9)
    lines = {line.get_linestyle() for line in drawing.figure.axes[1].lines}
    assert {"--", ":"} <= lines


def test_runs_whose_listening_was_not_measured_have_no_figure(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "run", synthetic.lawful_rows(n=40))
    assert list(drawn(reward_by_listening.FIGURE, analyse([tmp_path]))) == []
