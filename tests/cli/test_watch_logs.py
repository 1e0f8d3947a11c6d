"""The watch command on logs of other programs: columns, ranges and ends that nobody states."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.cli import watch_view
from harness.cli.watched_log import FollowOptions
from harness.law.io.columns import ColumnOptions
from harness.testing import commands
from tests.cli.watched import events, look, made_log

LOGS = Path(__file__).parents[1] / "law" / "logs"
WRITER = """
import sys, time
from pathlib import Path
lines = Path(sys.argv[1]).read_text().splitlines(keepends=True)
with open(sys.argv[2], "a") as file:
    for line in lines:
        file.write(line)
        file.flush()
        time.sleep(0.02)
"""


def test_the_log_of_another_program_is_followed_until_it_no_longer_grows(tmp_path: Path) -> None:
    made_log(tmp_path / "whole.jsonl", 120)
    (tmp_path / "log.jsonl").write_text("", encoding="utf-8")
    words = [sys.executable, "-c", WRITER, "whole.jsonl", "log.jsonl"]
    with subprocess.Popen(words, cwd=tmp_path) as writer:
        words = ["watch", "log.jsonl", "--events", "jsonl", "--idle", "3", "--reward-range", "0,1"]
        watched = commands.harness(*words, "--steps", "120", cwd=tmp_path)
        writer.wait()
    assert watched.returncode == 0, watched.stderr
    told = events(watched.stdout)
    assert told[-1]["step"] == 120
    assert told[-1]["status"] == "ended"
    assert not told[-1]["calibrated"]
    assert told[-1]["uncalibrated"] == "rows of another program"


@pytest.mark.parametrize("name", ["verl_console.log", "trl_console.log", "skyrl.jsonl"])
def test_logs_of_other_programs_get_the_numbers_and_the_caution(name: str) -> None:
    view = look(LOGS / name)
    assert view.step == 24
    assert view.advice is not None
    assert "an unknown last step" in str(view.uncalibrated)


def log_of(path: Path, rewards: list[float]) -> Path:
    rows = ({"step": n, "reward": r, "entropy": 1.0} for n, r in enumerate(rewards, start=1))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_a_constant_reward_of_unknown_range_gets_no_advice_and_is_shown(tmp_path: Path) -> None:
    view = look(log_of(tmp_path / "log.jsonl", [0.0] * 30))
    assert view.advice is not None
    assert view.advice.word == "watch"
    assert "use --reward-range" in view.advice.reason
    assert "R 0.00" in watch_view.line(view)


def test_rows_outside_the_reward_range_are_left_out_and_counted(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.jsonl", [*np.linspace(0.2, 0.6, 29), 30.44])
    view = look(log, FollowOptions(ColumnOptions(None, None, reward_range=(0.0, 1.0))))
    assert view.reward == pytest.approx(0.6)
    assert view.damaged == 1
    assert watch_view.line(view).endswith("1 damaged line")


def test_a_step_without_a_reward_is_no_damaged_line(tmp_path: Path) -> None:
    """As where a log has its reward every fifth step, or repeats a step."""
    rows = [{"step": n, "entropy": 2 / n, "reward": n / 60 if n % 5 == 0 else None}
            for n in (*range(1, 60), 55)]  # fmt: skip
    lines = [*map(json.dumps, rows), '{"step": 60, "entr', ""]
    (tmp_path / "log.jsonl").write_text("\n".join(lines), encoding="utf-8")
    view = look(tmp_path / "log.jsonl")
    assert (view.step, view.damaged) == (55, 1)


@pytest.mark.parametrize(
    ("steps", "said"), [(30, "no steps are left"), (20, "beyond the last step, 20")]
)
def test_at_or_behind_the_last_step_there_is_no_advice(
    tmp_path: Path, steps: int, said: str
) -> None:
    log = log_of(tmp_path / "log.jsonl", list(np.linspace(0.2, 0.6, 30)))
    view = look(log, FollowOptions(ColumnOptions(None, None), steps=steps))
    assert view.advice is not None
    assert (view.advice.word, view.advice.p_gain) == ("watch", None)
    assert said in view.advice.reason
