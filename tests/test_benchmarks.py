"""Every script of benchmarks/ can still be started: the quick ones are, at their smallest size."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from harness.testing.commands import harness

CHECKOUT = Path(__file__).parents[1]
BENCHMARKS = CHECKOUT / "benchmarks"
QUICK: dict[str, str] = {
    "algorithm_steps": "1 3 ppo policy=tabular",
    "algorithms": "1 tabular",
    "coverage": "2",
    "crash": "--kills 2 --calls 0",
    "diagnose": "--seeds 1",
    "entropy_se": "2",
    "english_pairs": "--check",
    "known_words": "--check",
    "landmarks": "1",
    "late_user": "1 0 0.01",
    "ledger_planted": "1 1 5e-4",
    "misfit": "1",
    "old_verdicts": "",
    "overhead": "1 policy=tiny_smoke trainer.conversations=16",
    "plan": "made 2 2000000 0",
    "planted_worlds": "table benchmarks/worlds/asked",
    "reliability": "damage words texts plans fit writers growth --share 0.01",
    "remedies": "1 tabular",
    "rollout": "policy=tiny_smoke trainer.conversations=16",
    "scripted_user": "",
    "second_reader": "--report",
    "seeds": "2",
    "served": "2 2 0.01 0.01",
    "sharded_update": "2",
    "signals": "2",
    "stages": "1 2",
    "study_looks": "3",
    "study_verdicts": "3",
    "sweep_scaling": "2 4 1",
    "undecided_supporter": "16",
    "variance_components": "tuning 1",
}
"""Words with which a script ends within some ten seconds on an idle core."""
READS_RUNS = ("gain", "learning_rate", "ledger")
TOO_MUCH: dict[str, str] = {
    "attacks": "minutes",
    "cli_startup": "make bench",
    "contrasts": "a minute",
    "conversations": "tests/docs/test_conversations_page.py",
    "effects_on_users": "tests/study/test_effects_on_users.py",
    "entropy_error": "a minute",
    "fit_speed": "half a minute",
    "frontier": "tests/study/test_frontier.py",
    "gpu.step": "a GPU",
    "grounding_anchor": "a corpus",
    "grpo_step": "a minute",
    "guard": "minutes",
    "levels": "a minute",
    "listening": "half a minute",
    "lm_reader": "weights",
    "memory": "weights",
    "paired_gain": "a trained language model",
    "polarity_reader": "a minute; tests/simulator/test_polarity.py",
    "ranks": "two cores",
    "real_model": "weights",
    "remedy_effects": "minutes",
    "saying_back": "the model of policy=tiny",
    "ship_cards": "writes into the package",
    "stop_advice": "runs of stop_runs",
    "stop_curve": "runs of stop_runs",
    "stop_runs": "minutes",
    "strategy_reader": "a minute; tests/simulator/test_strategy_weights.py",
    "study_arms": "tests/study/test_study_arms_table.py",
    "waves": "vLLM",
}
"""What those take that are not started here, or what else starts them."""


def scripts() -> list[str]:
    """The modules of benchmarks/ that are commands."""
    paths = [*BENCHMARKS.glob("*.py"), *(BENCHMARKS / "gpu").glob("*.py")]
    commands = [path for path in paths if '__name__ == "__main__"' in path.read_text()]
    return sorted(".".join(p.relative_to(BENCHMARKS).with_suffix("").parts) for p in commands)


def command(name: str) -> str:
    """What the text of a script's command matches."""
    return rf"benchmarks[./]{re.escape(name)}\b" + "|make cards" * (name == "ship_cards")


@cache
def pages() -> str:
    """The text of every page of docs/ and benchmarks/."""
    paths = [*CHECKOUT.glob("docs/**/*.md"), *BENCHMARKS.glob("**/*.md")]
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def started(name: str, words: Sequence[str]) -> str:
    """What the script prints with these words; it must end well."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *words],
        cwd=CHECKOUT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"benchmarks.{name}: {done.stderr}"
    return done.stdout


def test_each_is_started_here_or_it_is_said_why_not() -> None:
    assert sorted([*QUICK, *READS_RUNS, *TOO_MUCH]) == scripts()


@pytest.mark.parametrize("name", scripts())
def test_its_first_lines_say_how_it_is_started(name: str) -> None:
    text = (BENCHMARKS / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8")
    usage = text.split('"""')[1]
    assert re.search(command(name), usage), f"benchmarks.{name}: its docstring must show it"


@pytest.mark.parametrize("name", scripts())
def test_a_page_names_it(name: str) -> None:
    assert re.search(command(name), pages()), (
        f"benchmarks.{name}: a page of docs/ or benchmarks/ must name its command"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_one_measures_and_reports(name: str) -> None:
    printed = started(name, QUICK[name].split())
    assert printed or "--check" in QUICK[name]


@pytest.mark.slow
def test_those_that_read_runs_report_on_them(tmp_path: Path) -> None:
    words = ("policy=tabular", "difficulty=easy", "seed=1,2", "algorithm.null_control=false,true")
    size = ("trainer.steps=8", "trainer.conversations=8", "eval.users=8", "trainer.eval_every=4")
    swept = harness("sweep", *words, *size, "--dir", str(tmp_path / "runs"), cwd=tmp_path)
    assert swept.returncode == 0, swept.stderr
    for name in READS_RUNS:
        rows = [line for line in started(name, [str(tmp_path / "runs")]).splitlines() if line]
        assert len(rows) > 2, name
        assert all(line.startswith("|") for line in rows), rows
