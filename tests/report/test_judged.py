"""A law that holds until the onset: what is drawn and said is the law that was judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.law.analysis import analyse
from harness.law.group_results import Analysis
from harness.report.figures import registry
from harness.report.figures.canvas import Drawing
from harness.report.text import findings
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW, TRUE_A, TRUE_B
from tests.report.made_figures import legend, titles
from tests.report.made_tables import printed


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder: Path = tmp_path_factory.mktemp("run")
    run_folders.write_run(folder, synthetic.rows(synthetic.kink(1, 600, LOW)))
    return analyse([folder])


def drawn(analysis: Analysis, name: str) -> Drawing:
    return next(d for d in registry.draw(analysis, every_run=False) if d.name == name)


def test_the_curve_is_the_law_of_the_part_before_the_onset(broken: Analysis) -> None:
    law = drawn(broken, "entropy_law")
    rows = [row for row in law.rows if row["kind"] == "law_until_onset"]
    entropy, reward = (np.array([row[name] for row in rows]) for name in ("entropy", "reward"))
    assert reward == pytest.approx(synthetic.law(entropy), abs=0.03)
    assert not [row for row in law.rows if row["kind"] == "law"]
    (ceiling,) = [row for row in law.rows if row["kind"] == "ceiling"]
    assert ceiling["low"] <= TRUE_B - TRUE_A <= ceiling["high"]


def test_points_it_was_not_judged_on_are_pale_and_said_to_be(broken: Analysis) -> None:
    (run,) = broken.runs
    assert run.onset is not None
    law = drawn(broken, "entropy_law")
    full, _, pale = law.figure.axes[0].lines[:3]
    judged, left_out = (len(np.asarray(line.get_xdata())) for line in (full, pale))
    assert left_out / (judged + left_out) == pytest.approx(1 - run.onset.step / 600, abs=0.02)
    assert (pale.get_alpha() or 1) < (full.get_alpha() or 1)
    assert "after the onset, left out of the law" in legend(law)
    assert "after the onset" not in legend(law)


def test_what_the_law_leaves_is_counted_until_the_onset(broken: Analysis) -> None:
    residuals = drawn(broken, "residuals")
    (run,) = broken.runs
    assert run.onset is not None
    before = [row["residual"] for row in residuals.rows if row["step"] < run.onset.step]
    rms = float(np.sqrt(np.mean(np.square(before))))
    assert titles(residuals) == [
        f"easy: R deviates from the law by {rms:.3f} until the onset (rms)"
    ]
    late = [row["residual"] for row in residuals.rows if row["step"] > 550]
    assert rms < 0.05
    assert max(late) < -0.2


def test_the_table_gives_both_laws_and_the_sentence_the_judged_one(broken: Analysis) -> None:
    text = printed(broken)
    (run,) = broken.runs
    assert run.a is not None
    assert run.whole_run is not None
    assert run.whole_run.a is not None
    assert f"whole run {run.whole_run.a.value:.2f} " in " ".join(text.split())
    assert f"n = {run.n_fitted} " in text
    assert "before onset" in text
    (said,) = findings.closing(broken, broken.runs)
    assert said.startswith(
        "easy: ceiling not identified, law holds until the onset (same batch); collapse"
    )
