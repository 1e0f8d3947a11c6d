"""A sweep as a user types it: what is shown before it begins, and what begins."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.testing.commands import here
from tests.cli.terminal import on_terminal

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    "words",
    [
        ["sweep", "difficulty=easy,medium,hard", "seed=range(1,30)", "algorithm.group_size=1"],
        ["sweep", "difficulty=easy,medium,hard", "seed=1,2,1"],
        ["sweep", "+typo=1"],
        ["sweep", "seed=range(1,300)", "trainer.steps=5,0"],
        ["sweep", "difficulty=easy,hard", "seed=range(-3,300)", "trainer.steps=5,6"],
        ["train", "seed=range(1,300)", "--dir", "d"],
    ],
    ids=["range", "duplicate", "typo", "second of a second axis", "long axis", "train"],
)
def test_a_wrong_sweep_ends_soon_however_large(words: list[str], run: Run) -> None:
    began = time.process_time()
    assert run(*words)[0] == 2
    assert time.process_time() - began < 5  # 1 s at most; composing every point takes longer
    assert not list(Path().iterdir())


def test_a_dry_run_shows_the_runs_and_creates_nothing(run: Run) -> None:
    code, out, err = run("sweep", "difficulty=easy,hard", "policy=tabular", "--dry-run")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["0-easy-seed1", "difficulty=easy", "policy=tabular"]
    assert out.splitlines()[-2] == "2 runs; swept: difficulty (2)"
    assert out.splitlines()[-1] == (
        "2 runs of 600 steps: about 0.02 CPU hours (1 ms a conversation and 0.11 s an evaluation, "
        "measured on one core); about 9.5 MB on disk"
    )
    assert not list(Path().iterdir())


def test_a_dry_run_as_json_has_the_shape_of_sweep_json(run: Run) -> None:
    code, out, err = run("sweep", "difficulty=easy,hard", "seed=range(1,3)", "--dry-run", "--json")
    assert (code, err) == (0, "")
    value = json.loads(out)
    assert (value["schema"], value["dir"]) == (1, None)
    assert value["axes"] == {"difficulty": ["easy", "hard"], "seed": [1, 2]}
    assert value["runs"][3] == {
        "name": "3-hard-seed2",
        "dir": None,
        "overrides": ["difficulty=hard", "seed=2"],
        "status": "planned",
        "reason": None,
        "exit_code": None,
    }
    assert value["cost"].keys() == {"cpu_hours", "gpu_hours", "disk_bytes"}


def test_without_axes_a_sweep_is_one_run(run: Run) -> None:
    value = json.loads(run("sweep", "--dry-run", "--json")[1])
    assert value["axes"] == {}
    assert [row["name"] for row in value["runs"]] == ["0-medium-seed1"]


def test_a_bare_sweep_on_a_terminal_shows_help_and_runs_nothing(tmp_path: Path) -> None:
    shown = on_terminal("sweep", cwd=tmp_path)
    assert shown.code == 0
    assert "Run every combination of the swept values." in shown.plain
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["--dry-run"], ["seed=1", "--dry-run"], ["--yes", "--dry-run"]])
def test_a_sweep_with_any_word_on_a_terminal_is_one(words: list[str], tmp_path: Path) -> None:
    shown = on_terminal("sweep", *words, cwd=tmp_path)
    assert shown.code == 0
    assert "0-medium-seed1" in shown.plain


def test_a_bare_sweep_in_a_pipe_says_what_it_runs_before_it_begins(tmp_path: Path) -> None:
    """The folder cannot be made, so that nothing is begun."""
    (tmp_path / "runs").write_text("a file")
    done = here("sweep", cwd=tmp_path)
    first = done.stderr.splitlines()[0]
    assert first.startswith(
        "harness: no KEY=VALUE was given, so this is one run of the defaults, difficulty=medium "
        "policy=tiny seed=1; 1 run of 100 steps: about "
    )
    assert first.endswith("; see `harness sweep --help`")
    assert done.returncode == 73
    assert "no KEY=VALUE" not in here("sweep", "seed=2", cwd=tmp_path).stderr


@pytest.mark.slow
def test_a_bare_sweep_that_is_meant_runs_the_defaults(tmp_path: Path) -> None:
    shown = on_terminal("sweep", "--yes", cwd=tmp_path, CUDA_VISIBLE_DEVICES="", columns=200,
                        interrupt=lambda text: "1 run in" in text)  # fmt: skip
    assert "1 run in" in shown.plain
    assert shown.code in (75, 130)
