"""The ceiling averaged over curves: it holds the truth whichever of them made the reward."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import fit
from harness.errors import ConfigError
from harness.law.analysis import analyse
from harness.law.estimate import ceiling, identifiability, rivals
from harness.law.result_parts import CeilingOverForms
from harness.law.results import RunResult
from harness.report.tables import csv_files
from harness.report.text import explain
from harness.testing import cells, misfits, run_folders, synthetic
from harness.testing.misfits import Path as Course
from harness.testing.synthetic import SyntheticRun
from tests.present import present

RUNS = 40


def over_forms(log: SyntheticRun, bounds: tuple[float, float] | None = None) -> CeilingOverForms:
    fitted = identifiability.fit(cells.points_of(log))
    return present(ceiling.average_over_forms(fitted, rivals.compare(fitted.points), bounds))


@pytest.mark.parametrize("form", misfits.FORMS)
@pytest.mark.parametrize("path", [misfits.high, misfits.half, misfits.even])
def test_it_holds_the_truth_whatever_the_form(path: Course, form: str) -> None:
    reward, truth = misfits.FORMS[form]
    found = [over_forms(misfits.make(s, 300, path, reward, misfits.USUAL)) for s in range(RUNS)]
    assert sum(one.low <= truth <= one.high for one in found) >= 0.85 * RUNS
    assert all(sum(one.weights.values()) == pytest.approx(1) for one in found)


def test_it_is_wide_where_zero_is_far_and_that_of_the_law_where_the_form_is_known() -> None:
    far = over_forms(misfits.make(1, 300, misfits.high, misfits.lawful, misfits.USUAL))
    near = over_forms(misfits.make(1, 1000, misfits.deep, misfits.lawful, misfits.USUAL))
    assert far.beyond_nats > 1
    assert near.beyond_nats < 0.2
    assert far.high - far.low > 10 * (near.high - near.low)
    assert near.weights == pytest.approx({"law": 1})


def test_it_keeps_to_the_range_that_a_reward_has() -> None:
    log = misfits.make(2, 100, misfits.high, misfits.lawful, misfits.USUAL)
    free, bound = over_forms(log), over_forms(log, (0.0, 1.0))
    assert free.high > 1
    assert not free.at_bound
    assert bound.high == 1
    assert bound.at_bound
    assert bound.low == min(free.low, 1.0)


def test_a_declared_range_bounds_it_and_leaves_out_what_lies_beyond(tmp_path: Path) -> None:
    log = misfits.make(2, 100, misfits.high, misfits.lawful, misfits.USUAL)
    log.reward[40] = 3.0
    run_folders.write_rows(tmp_path, synthetic.rows(log))
    (free,), (bound,) = (analyse([tmp_path], reward_range=r).runs for r in (None, (-5.0, 1.0)))
    assert not present(free.ceiling_over_forms).at_bound
    assert present(bound.ceiling_over_forms).at_bound
    assert present(bound.ceiling_over_forms).high == 1
    assert (free.dropped, bound.dropped) == ({}, {"out_of_range": 1})
    assert present(bound.dropped_at)["out_of_range"] == [f"{tmp_path / 'metrics.jsonl'}:41"]
    (none,) = analyse([tmp_path], reward_range=(5.0, 6.0)).runs
    assert "and a reward in [5, 6]; left out: 100 out_of_range" in present(none.error).message


@pytest.mark.parametrize("words", ["1", "1,0", "0,x", "0,nan", "0,1,2", "", "0,inf"])
def test_a_range_is_two_numbers(words: str, tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.lawful_rows())
    wanted = fit.FitOptions((tmp_path,), None, None, None, "none", False, reward_range=words)
    rule = "--reward-range: must be the lowest and the highest value that R can take, such as 0,1"
    with pytest.raises(ConfigError, match=f"^{rule}, got {words!r}$"):
        fit.fit(wanted, as_json=True, explain=False)


def evaluated(root: Path, columns: list[str]) -> RunResult:
    """A run of ours with a reward on held-out users, that of the log."""
    log = misfits.make(2, 100, misfits.high, misfits.lawful, misfits.USUAL)
    lines = synthetic.rows(log)
    for line in lines:
        line.update(dict.fromkeys(columns, line["reward"]))
    run_folders.write_run(root, lines)
    (run,) = analyse([root]).runs
    return run


def test_a_run_s_own_evaluation_is_known_to_end_at_one(tmp_path: Path) -> None:
    run = evaluated(tmp_path / "a", ["eval/reward"])
    assert run.reward == "eval/reward"
    found = present(run.ceiling_over_forms)
    assert (found.high, found.at_bound) == (1.0, True)
    assert "H = 0 lies 1." in (said := "\n".join(explain.explain_run(run)))
    assert "at the bound of the reward's range" in said
    other = evaluated(tmp_path / "b", [])
    assert present(other.ceiling_over_forms).high > 1, "of other rewards nobody says"


def test_the_table_of_runs_has_it(tmp_path: Path) -> None:
    evaluated(tmp_path, ["eval/reward"])
    header, row, *_ = csv_files.law_csv(analyse([tmp_path])).splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(values["ceiling_over_forms_high"]) == 1.0
    assert float(values["ceiling_beyond_nats"]) > 1
