"""The words that make a run again, whichever command made it."""

from __future__ import annotations

from pathlib import Path

import yaml

from harness.cli import run_words
from harness.compose import planner
from harness.records import config_file, sweep_file
from harness.records.sweep_file import LedgerRow, Sweep
from tests.planning import made


def test_a_run_of_no_sweep_is_put_in_words_that_make_its_config(tmp_path: Path) -> None:
    words = (*made.SHORT, "policy.observation=last_words", "remedy=clip_cov")
    run = made.write_runs(tmp_path / "alone", words, seeds=1) / "0"
    told = run_words.of_run(str(run))
    assert told is not None
    (point,) = planner.plan(told).points
    held = config_file.from_dict(yaml.safe_load((run / "config.yaml").read_text()))
    assert point.config == held


def test_a_run_of_a_sweep_has_the_words_that_were_typed(tmp_path: Path) -> None:
    root = made.write_runs(tmp_path / "s", seeds=1)
    rows = [LedgerRow("0", None, ("difficulty=easy",)), LedgerRow("1", None, ("difficulty=hard",))]
    typed = ("policy=tabular", "difficulty=easy,hard")
    sweep_file.write(root, Sweep(str(root), {}, rows, typed))
    assert run_words.of_run(str(root / "0")) == list(typed)


def test_a_config_that_no_words_make_has_none(tmp_path: Path) -> None:
    run = made.write_runs(tmp_path / "alone", seeds=1) / "0"
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("name: easy", "name: nowhere"))
    assert run_words.of_run(str(run)) is None
    assert run_words.of_run(str(tmp_path / "no.jsonl")) is None
