"""trainer.stop_when: a run that its rule ends, what it leaves, and how it goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.config.trainer import TrainerConfig
from harness.errors import ConfigError
from harness.law import analysis
from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.testing import commands

STEPS = 100
SHORT = (
    "policy=tabular", "difficulty=easy", "algorithm.learning_rate=9", "seed=5",
    f"trainer.steps={STEPS}", "trainer.eval_every=4", "trainer.conversations=16",
    "trainer.checkpoint_every=50", "eval.users=32", "eval.levels=[]", "eval.deaf=false",
    "eval.prefixes=0", "eval.ledger=false",
)  # fmt: skip


def status(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return values


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`free` ran to its end without the rule; `ruled` was ended by it."""
    root = tmp_path_factory.mktemp("stop")
    free = commands.harness("train", *SHORT, "--dir", "free", cwd=root)
    assert free.returncode == 0, free.stderr
    ruled = commands.harness("train", *SHORT, "trainer.stop_when=flat", "--dir", "ruled", cwd=root)
    assert ruled.returncode == 0, ruled.stderr
    assert "ended by trainer.stop_when=flat" in ruled.stderr
    return root


def test_the_rule_ends_the_run_and_run_json_says_so(root: Path) -> None:
    values = status(root / "ruled")
    step = values["last_step"]
    assert values["status"] == "done"
    assert values["exit_code"] == 0
    assert step < STEPS
    assert values["stopped_by_rule"] == {"rule": "flat", "step": step}
    assert f"step {step} of {STEPS}: ended by trainer.stop_when=flat" in values["reason"]
    assert status(root / "free")["stopped_by_rule"] is None


def test_its_rows_are_the_first_rows_of_the_run_without_the_rule(root: Path) -> None:
    ruled = (root / "ruled" / "metrics.jsonl").read_bytes()
    assert (root / "free" / "metrics.jsonl").read_bytes().startswith(ruled)


def test_the_law_takes_it_as_a_run_that_has_ended(root: Path) -> None:
    (run,) = analysis.analyse((root / "ruled",)).runs
    assert run.status == "ok"
    assert run.unfinished is None


def test_a_resume_goes_on_without_the_rule_to_the_same_bytes(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "ruled"
    shutil.copytree(root / "ruled", copy)
    stopped = status(copy)["stopped_by_rule"]
    done = commands.harness("resume", str(copy), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = status(copy)
    assert (values["status"], values["last_step"], values["reason"]) == ("done", STEPS, None)
    assert values["stopped_by_rule"] == stopped
    whole = (root / "free" / "metrics.jsonl").read_bytes()
    assert (copy / "metrics.jsonl").read_bytes() == whole
    assert run_status.read(RunFolder(copy).status).is_over
    again = commands.harness("resume", str(copy), cwd=tmp_path)
    assert again.returncode == 0
    assert status(copy)["attempts"] == 2


def test_a_resume_that_stops_again_obeys_the_rule_at_the_next_evaluation(
    root: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "ruled"
    shutil.copytree(root / "ruled", copy)
    first = status(copy)["last_step"]
    done = commands.harness("resume", str(copy), "--stop-again", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = status(copy)
    assert first < values["last_step"]
    whole = (root / "free" / "metrics.jsonl").read_bytes()
    assert whole.startswith((copy / "metrics.jsonl").read_bytes())


@pytest.mark.slow  # a sweep, and the same again
def test_a_sweep_counts_it_as_done_and_does_not_go_on_with_it(tmp_path: Path) -> None:
    words = [word for word in SHORT if word != "seed=5"]
    swept = commands.harness("sweep", *words, "trainer.stop_when=flat", "seed=5,6", cwd=tmp_path)
    assert swept.returncode == 0, swept.stderr
    (sweep,) = (tmp_path / "runs").iterdir()
    before = {path: path.read_bytes() for path in sorted(sweep.rglob("metrics.jsonl"))}
    resumed = commands.harness("resume", str(sweep), cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert {path: path.read_bytes() for path in before} == before
    refused = commands.harness("resume", str(sweep), "--stop-again", cwd=tmp_path)
    assert refused.returncode == ConfigError.exit_code
    assert "--stop-again: must be given with a run" in refused.stderr


def test_the_rule_needs_evaluations() -> None:
    with pytest.raises(ConfigError, match=r"trainer\.stop_when needs"):
        TrainerConfig(stop_when="flat", eval_every=0)
    with pytest.raises(ConfigError, match=r"stop_when must be"):
        TrainerConfig(stop_when="bored")


def test_the_rule_is_refused_with_a_curriculum_for_which_it_stops_too_early(tmp_path: Path) -> None:
    words = ("policy=tabular", "curriculum=staged", "trainer.stop_when=flat")
    done = commands.harness("train", *words, "--dir", "one", cwd=tmp_path)
    assert done.returncode == ConfigError.exit_code
    assert "trainer.stop_when" in done.stderr
    assert not (tmp_path / "one").exists()
