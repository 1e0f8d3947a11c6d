"""The example plug-in, installed without network into a folder of its own, and used."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.testing.commands import harness, here

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"
CHOSEN = (
    "algorithm=ranked",
    "remedy=capped_advantages",
    "reward=quick_relief",
    "simulator=asked_for",
)
FEW = ("eval.users=4", "eval.prefixes=4")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that it is installed into."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, *offline, str(EXAMPLE)], check=True, cwd=folder)
    return folder


def test_a_run_trains_with_its_algorithm_remedy_reward_and_users(
    site: Path, tmp_path: Path
) -> None:
    sized = ("policy=tabular", "trainer.steps=2", "trainer.conversations=16", *FEW)
    words = (*sized, *CHOSEN, "algorithm.options.scale=2")
    done = harness("train", *words, "--dir", "run", cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    assert 0 < rows[0]["remedy/chosen"] < 1
    assert rows[0]["reward"] < rows[0]["emotion/final"] / 100
    card = json.loads((tmp_path / "run" / "run.json").read_text())["measurement"]["reward"]
    assert (card["mode"], card["options"]) == ("quick_relief", {"cost": 0.02})


@pytest.mark.slow
def test_a_sweep_over_its_options_starts_runs_that_have_it(site: Path, tmp_path: Path) -> None:
    words = ("policy=tabular", "trainer.steps=1", "trainer.conversations=8", "reward=quick_relief")
    axis = "reward.options.cost=0,0.1"
    done = harness("sweep", *words, axis, cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr
    logs = sorted((tmp_path / "runs").glob("*/*/metrics.jsonl"))
    free, dear = (json.loads(log.read_text())["reward"] for log in logs)
    assert free > dear


def test_a_log_in_its_format_is_fitted_and_its_figure_drawn(site: Path, tmp_path: Path) -> None:
    lines = (f"epoch {n} | H {2 / n:.4f} | R {1 - 1 / n:.4f}\n" for n in range(1, 41))
    (tmp_path / "a.pipes").write_text("".join(lines))
    (tmp_path / "b.pipes").write_text("epoch one\n")
    words = ("fit-entropy-law", "a.pipes", "b.pipes", "--json")
    done = harness(*words, cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 3, done.stderr
    good, bad = json.loads(done.stdout)["runs"]
    assert good["n_valid"] == 40
    assert bad["error"]["message"] == (
        "b.pipes:1: must hold lines `epoch N | H NUMBER | R NUMBER`, but none of 1 lines is valid"
    )
    run, reward = (tmp_path / "law" / "last_rewards.csv").read_text().splitlines()[1].split(",")
    assert run == "a.pipes"
    assert float(reward) == pytest.approx(sum(1 - 1 / n for n in range(31, 41)) / 10, abs=1e-4)
    assert (tmp_path / "law" / "last_rewards.png").stat().st_size > 1000


def test_without_it_its_runs_are_read_and_not_resumed(site: Path, tmp_path: Path) -> None:
    words = ("policy=tabular", "trainer.steps=1", "trainer.conversations=8", *FEW, *CHOSEN)
    done = harness("train", *words, "--dir", "run", cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr
    assert here("status", "run", cwd=tmp_path).returncode == 0
    done = here("resume", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "simulator.kind must be one of scripted, second, served, got 'asked_for'" in done.stderr
    lacking = "planned with harness-example 0.1.0, which is not installed here"
    assert done.stderr.endswith(f"; {lacking}\n")
    done = here("verify", "run", cwd=tmp_path)
    assert done.returncode == 0
    told = (
        f"; {lacking}: unchanged since it was planned with that plug-in or by another version of "
    )
    assert told in done.stdout


@pytest.mark.slow
def test_its_own_tests_pass(site: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE)]
    environment = {**os.environ, "PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.splitlines()[-1].split()[0]) > 80
