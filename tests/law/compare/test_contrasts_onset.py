"""Onsets of groups compared: runs that never collapse, that stop early, or collapse in part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law.analysis import analyse
from harness.report.tables import contrasts
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW, SyntheticRun
from tests.law.compared import N, contrast, levels, rows
from tests.present import interval


def falling(seed: int) -> SyntheticRun:
    return synthetic.kink(seed, N, LOW)


def keeping(seed: int) -> SyntheticRun:
    return synthetic.lawful(seed, N, LOW, synthetic.exponential(0.5))


def test_runs_that_never_collapse_are_censored_and_not_dropped(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": keeping, "hard": falling})
    found = analyse([tmp_path])
    onset = contrast(found, "onset")
    truth = np.mean([(synthetic.kink(100 + s, N, LOW).onset or 0) / 300 for s in range(1, 5)])
    assert (onset.decision, onset.seeds) == ("differs", (4, 4))
    assert interval(onset).low < truth - 1 < interval(onset).high
    easy, hard = (group.compared for group in found.groups)
    assert easy is not None
    assert hard is not None
    assert (easy.onset.n, easy.onset.censored) == (0, 4)
    assert (hard.onset.n, hard.onset.censored) == (4, 0)


def test_where_no_run_collapses_the_onset_is_open(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": keeping, "hard": keeping})
    onset = contrast(analyse([tmp_path]), "onset")
    assert onset.decision == "undecided"
    assert onset.why == "no run collapses within the steps that all runs have done"


def test_a_run_that_was_stopped_early_tells_only_of_its_own_part(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": keeping, "hard": falling})
    for run in tmp_path.iterdir():
        run_folders.planned_with(run, "trainer", steps=N)
    short = tmp_path / "easy-1"
    lines = (short / "metrics.jsonl").read_text().splitlines(keepends=True)
    (short / "metrics.jsonl").write_text("".join(lines[:60]))
    onset = contrast(analyse([tmp_path]), "onset")
    assert onset.decision == "undecided"
    assert onset.why == "no run collapses within the steps that all runs have done"


@pytest.mark.parametrize("collapses_on_probe", [False, True])
def test_a_collapse_only_on_the_states_visited_is_perhaps_of_contexts(
    tmp_path: Path, collapses_on_probe: bool
) -> None:
    def lines(log: SyntheticRun) -> list[dict[str, Any]]:
        kept = synthetic.exponential(0.5)(np.arange(N) / N)
        probe = log.entropy if collapses_on_probe else kept
        return [
            {**line, "entropy/probe": float(p)} for line, p in zip(rows(log), probe, strict=True)
        ]

    levels(tmp_path, {"easy": keeping, "hard": falling}, lines=lines)
    onset = contrast(analyse([tmp_path]), "onset")
    assert onset.decision == "differs"
    assert (onset.why is None) == collapses_on_probe
    if not collapses_on_probe:
        said = contrasts.decision(onset)
        assert said == "differs: perhaps due to different contexts: not found on entropy/probe"
