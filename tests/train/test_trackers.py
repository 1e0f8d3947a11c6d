"""trainer.report_to: what trackers log of a run, and that they never cost it anything."""

import importlib.util
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.config.run import RunConfig, TrainerConfig
from harness.errors import ConfigError
from harness.execution import preflight
from harness.records.run_folder import RunFolder
from harness.testing.commands import harness, rows, start_command, wait_until
from harness.train import trackers

RUN = ("policy=tabular", "trainer.conversations=8", "trainer.eval_every=20")

TENSORBOARD = ("trainer.report_to=[tensorboard]",)


def needs_package(name: str) -> pytest.MarkDecorator:
    absent = importlib.util.find_spec(name) is None
    return pytest.mark.skipif(absent, reason=f"{name} is not installed: pip install {name}")


def more_rows_than(count: int, run: Path) -> bool:
    return rows(run) > count


def logged_values(run: Path) -> dict[int, dict[str, float]]:
    """By step, the values of metrics.jsonl that are not null: what a tracker should have."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {
        row["step"]: {k: v for k, v in row.items() if v is not None and k not in ("step", "crc32")}
        for row in lines
    }


def in_tensorboard(run: Path) -> dict[int, dict[str, float]]:
    """By step, what tensorboard reads back; raises on two values of one step."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "trackers" / "tensorboard"), {"scalars": 0}).Reload()
    values: dict[int, dict[str, float]] = {}
    for key in events.Tags()["scalars"]:
        for event in events.Scalars(key):
            assert key not in values.setdefault(event.step, {}), f"{key} twice at {event.step}"
            values[event.step][key] = event.value
    return values


def same(read: dict[int, dict[str, float]], want: dict[int, dict[str, float]]) -> bool:
    """To single precision, which is what tensorboard keeps."""
    return read.keys() == want.keys() and all(
        read[step] == pytest.approx(want[step], rel=1e-6, abs=1e-30) for step in want
    )


def test_a_tracker_that_is_not_installed_is_refused_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preflight, "FOR_TRACKERS", ("accelerate_is_not_here",))
    config = RunConfig(trainer=TrainerConfig(report_to=["tensorboard"]))
    with pytest.raises(
        ConfigError, match=r"trainer.report_to: tensorboard needs .*accelerate_is_n"
    ):
        preflight.check([config])


def test_an_unknown_tracker_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"trainer.report_to must be one of wandb, .* got 'wan'"):
        TrainerConfig(report_to=["wan"])


def test_a_runs_group_is_all_that_was_swept_but_the_seed(tmp_path: Path) -> None:
    config, row = RunConfig(seed=2), {"dir": None, "status": "planned", "reason": None}
    words = ["difficulty=hard", "seed=2", "trainer.steps=5", "policy=tabular"]
    axes: dict[str, Any] = {"difficulty": ["easy", "hard"], "seed": [1, 2], "trainer.steps": [5, 6]}
    made = {"name": "7-hard-seed2-steps5", "overrides": words, "exit_code": None, **row}
    sweep = {"schema": 1, "dir": None, "axes": axes, "runs": [made], "command": words}
    (tmp_path / "sweep.json").write_text(json.dumps(sweep))
    run = RunFolder(tmp_path / "7-hard-seed2-steps5")
    assert trackers.group(run, config) == "difficulty=hard trainer.steps=5"
    assert trackers.group(RunFolder(tmp_path / "elsewhere" / "one"), config) == "medium"


@pytest.mark.slow
@needs_package("tensorboard")
def test_tensorboard_has_every_row_and_the_config_also_after_a_stop_and_a_kill(
    tmp_path: Path,
) -> None:
    words = (*RUN, "trainer.steps=400", "trainer.checkpoint_every=40")
    run = tmp_path / "one"
    for number in (signal.SIGTERM, signal.SIGKILL):
        before = rows(run)
        begin = (
            ("resume", str(run)) if before else ("train", *words, *TENSORBOARD, "--dir", str(run))
        )
        with start_command(*begin, cwd=tmp_path) as child:
            wait_until(partial(more_rows_than, before + 30, run), "thirty further rows")
            child.send_signal(number)
            child.communicate(timeout=100)
    assert rows(run) < 400
    assert harness("resume", str(run), cwd=tmp_path).returncode == 0
    want = logged_values(run)
    assert len(want) == 400
    assert same(in_tensorboard(run), want)
    (hparams,) = (run / "trackers" / "tensorboard").glob("*/hparams.yml")
    assert "difficulty.name: medium" in hparams.read_text()
    assert "group: medium" in hparams.read_text()


@pytest.mark.slow
@needs_package("trackio")
def test_trackio_has_every_row_under_the_runs_name_group_and_config(tmp_path: Path) -> None:
    words = (*RUN, "trainer.steps=5", "seed=1,2", "difficulty=easy,hard")
    store = {"TRACKIO_DIR": str(tmp_path / "trackio")}
    done = harness("sweep", *words, "trainer.report_to=[trackio]", cwd=tmp_path, **store)
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKIO_DIR", store["TRACKIO_DIR"])
        from trackio.sqlite_storage import SQLiteStorage

        for run in sorted((tmp_path / "runs").glob("*/*-seed*")):
            name = f"{run.parent.name}/{run.name}"
            logged = SQLiteStorage.get_logs("harness", name)
            values = {
                row["step"]: {k: v for k, v in row.items() if k not in ("step", "timestamp")}
                for row in logged
            }
            assert values == logged_values(run)
            config = SQLiteStorage.get_run_config("harness", name)
            assert config["difficulty.name"] == run.name.split("-")[1]
            assert config["group"] == f"difficulty={config['difficulty.name']}"


FAILS = """
class Run:
    id = "1"
    def log(self, values, step=None):
        raise ConnectionError("the tracker's server has gone")
    def finish(self):
        pass
def init(**options):
    return Run()
"""


@pytest.mark.slow
def test_a_tracker_that_fails_is_named_once_and_costs_the_run_nothing(tmp_path: Path) -> None:
    """A package of that name which raises at every row stands for one whose server has gone."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "wandb.py").write_text(FAILS)
    paths = f"{tmp_path / 'packages'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    words = (*RUN, "trainer.steps=9", "--dir", "one", "--events", "jsonl")
    done = harness("train", *words, "trainer.report_to=[wandb]", cwd=tmp_path, PYTHONPATH=paths)
    assert (done.returncode, rows(tmp_path / "one")) == (0, 9)
    messages = [line for line in done.stderr.splitlines() if "report_to" in line]
    debug_log = tmp_path / "one" / "debug.log"
    assert messages == [
        "harness: trainer.report_to: wandb failed and is disabled; the run continues "
        f"(ConnectionError: the tracker's server has gone); traceback in {debug_log}"
    ]
    assert "in log\n" in debug_log.read_text()
    assert all(json.loads(line)["event"] for line in done.stdout.splitlines())
