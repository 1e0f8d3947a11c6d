"""The plan command: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.cli import plan as command
from harness.cli.plan import PlanOptions
from harness.errors import ConfigError
from tests.planning.made import write_runs

WORDS = ("difficulty=easy,hard",)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("pilot"))


def test_the_answer_comes_first_then_the_command(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(runs.rglob("*"))
    command.plan(PlanOptions(WORDS, pilot=runs))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("gain=0.05 reward: ")
    assert "seeds a level [" in lines[0]
    assert "CPU hours; decided with probability 0." in lines[0]
    assert lines[2].startswith("harness sweep ")
    assert any("half as many" in line for line in lines)
    assert any(line.startswith("trainer.conversations kept: ") for line in lines)
    assert sorted(runs.rglob("*")) == before


def test_results_are_whole_and_the_same_twice(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = []
    for name in ("one", "two"):
        command.plan(PlanOptions(WORDS, pilot=runs, out=tmp_path / name, as_json=True))
        printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        files = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        assert json.loads(files["plan.json"]) == printed
        written.append(files)
    assert written[0] == written[1]
    assert sorted(written[0]) == ["plan.json", "power.csv", "power.png", "power.svg"]
    rows = list(csv.DictReader(written[0]["power.csv"].decode().splitlines()))
    assert {row["effect"] for row in rows} == {"0.025", "0.05", "0.1"}
    assert all(0 <= float(row["low"]) <= float(row["high"]) <= 1 for row in rows)


def test_the_picture_is_of_the_kinds_that_were_asked_for_and_no_other_stays(
    runs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plan"
    kinds = (((), {"power.png", "power.svg"}), (("pdf",), {"power.pdf"}))
    for words, pictures in kinds:
        command.plan(PlanOptions(WORDS, pilot=runs, out=out, formats=words))
        assert {path.name for path in out.iterdir()} == {"plan.json", "power.csv", *pictures}
    assert (out / "power.pdf").read_bytes().startswith(b"%PDF")


def test_formats_of_no_picture_are_refused(tmp_path: Path) -> None:
    said = "--format: must be some of png, svg, pdf, got 'tex'"
    with pytest.raises(ConfigError, match=said):
        command.plan(PlanOptions(WORDS, out=tmp_path, formats=("png,tex",)))
    said = "--format: needs --out, since pictures are written only to a folder, got svg"
    with pytest.raises(ConfigError, match=said):
        command.plan(PlanOptions(WORDS, formats=("svg",)))


@pytest.mark.parametrize(
    ("effect", "program"),
    [pytest.param("gain", "sweep", marks=pytest.mark.slow), ("final_reward", "study")],
)
def test_the_printed_command_runs(tmp_path: Path, effect: str, program: str) -> None:
    shim = tmp_path / "bin" / "harness"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    shim.chmod(0o755)
    env = os.environ | {"PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    words = ["policy=tabular", *WORDS, "--effect", effect, "--out", "a plan"]
    told = _shell(shlex.join(["harness", "plan", *words]), tmp_path, env)
    (command_line,) = [line for line in told.splitlines() if f"harness {program} " in line]
    assert "difficulty=hard" in _shell(f"{command_line} --dry-run --json", tmp_path, env)
    assert not (tmp_path / "runs").exists()


def _shell(line: str, folder: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_not_known_is_told_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.plan(PlanOptions(("policy=tiny", *WORDS), out=tmp_path / "out"))
    printed = capsys.readouterr().out
    assert "number of seeds not known for gain=0.05 between difficulty=easy and" in printed
    assert "harness sweep policy=tiny difficulty=easy,hard 'seed=range(1,6)'" in printed
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["plan.json"]


def test_out_of_reach_names_no_command(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.plan(PlanOptions(WORDS, "gain=0.0001", runs))
    printed = capsys.readouterr().out
    assert printed.startswith("not reachable: gain=0.0001")
    assert "harness sweep" not in printed


@pytest.mark.parametrize(
    ("primary", "effect", "rule"),
    [("reward", "gain", "one of ceiling, gain"), ("gain", "final_reward", "a link of a study")],
)
def test_a_primary_quantity_that_is_none_is_refused(primary: str, effect: str, rule: str) -> None:
    with pytest.raises(ConfigError, match="--primary: ") as refused:
        command.plan(PlanOptions(WORDS, effect, primary=primary))
    assert rule in str(refused.value)


@pytest.mark.parametrize("power", [0.0, 0.49, 1.0, float("nan")])
def test_a_power_that_is_none_is_refused(power: float) -> None:
    with pytest.raises(ConfigError, match="--power: must be a probability from"):
        command.plan(PlanOptions(WORDS, power=power))
