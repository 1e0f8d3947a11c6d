"""Run folders and sweeps written from given rows, with everything that readers look at."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from harness.config.run import (
    AlgorithmConfig,
    DifficultyConfig,
    RemedyConfig,
    RunConfig,
    SimulatorConfig,
)
from harness.records import config_file, run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus


def write_rows(folder: Path, lines: list[dict[str, Any]]) -> Path:
    """Write a folder with only a metrics.jsonl, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text, encoding="utf-8")
    return folder


def write_run(
    folder: Path,
    lines: list[dict[str, Any]],
    seed: int = 1,
    level: str = "easy",
    status: str = "done",
    measurement: dict[str, Any] | None = None,
    null_control: bool = False,
    remedy: str = "none",
    simulator: str = "scripted",
    start_model: str | None = None,
) -> Path:
    """Write a run folder of the harness, with everything that readers look at, and return it."""
    write_rows(folder, lines)
    config = RunConfig(
        seed=seed,
        difficulty=DifficultyConfig(name=level),
        algorithm=AlgorithmConfig(null_control=null_control),
        remedy=RemedyConfig(remedy, {remedy: {}} if remedy != "none" else {}),
        simulator=SimulatorConfig(name=simulator, kind=simulator),
    )
    text = yaml.safe_dump(config_file.to_dict(config), sort_keys=False)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    card = measurement or {"entropy_over": "own tokens"}
    record = RunStatus(
        status=status,
        config_hash=config_file.config_hash(config),
        measurement=card,
        start_model=start_model,
    )
    run_status.write(RunFolder(folder).status, record)
    return folder


def planned_with(folder: Path, part: str, **values: Any) -> None:
    """Change a run's planned config: set these values in one of its parts."""
    path, run = folder / "config.yaml", RunFolder(folder)
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    config[part].update(values)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    planned = replace(run_status.read(run.status), config_hash=config_file.hash_of(config))
    run_status.write(run.status, planned)


def of_an_older_version(folder: Path, *keys: str) -> None:
    """Change a run to one planned by a version without these dotted keys."""
    path, run = folder / "config.yaml", RunFolder(folder)
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for *parts, name in (key.split(".") for key in keys):
        del functools.reduce(dict.__getitem__, parts, config)[name]
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    planned = replace(run_status.read(run.status), config_hash=config_file.hash_of(config))
    run_status.write(run.status, planned)


def anchors(
    deaf: float, attentive: float, listening: float, optimum: float, half: float = 0.01
) -> dict[str, Any]:
    """Return the anchors of a difficulty card; rewards except the optimum's have an interval."""
    values = {"deaf": deaf, "attentive": attentive}
    rewards = {
        name: {"value": value, "low": value - half, "high": value + half}
        for name, value in values.items()
    }
    return {
        "random": {"reward": {"value": 0.3, "low": 0.29, "high": 0.31}, "listening": 0.0},
        "deaf": {"reward": rewards["deaf"], "listening": 0.001, "strategies": ["question"]},
        "attentive": {"reward": rewards["attentive"], "listening": listening},
        "optimum": {"reward": optimum},
    }


def begin_with(folder: Path, by_level: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Write an events.jsonl with the anchors at a run's start, for "own" and named levels."""
    event = {"event": "start", "step": 0, "anchors": by_level}
    (folder / "events.jsonl").write_text(json.dumps(event) + "\n", encoding="utf-8")


def write_cards(root: Path, by_level: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Write cards.json of the sweep in `root`, with a card for each level of its runs.

    `by_level`: level -> its anchors; None for a card of a version without anchors.
    """
    levels: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for path in sorted(root.glob("*/config.yaml")):
        difficulty = yaml.safe_load(path.read_text(encoding="utf-8"))["difficulty"]
        levels.setdefault(difficulty["name"], (difficulty, []))[1].append(path.parent.name)
    measured = {"value": 0.5, "low": 0.4, "high": 0.6}
    measures = ("acceptance", "need_expression", "population_final_emotion")
    cards = [
        {
            "level": name,
            "runs": runs,
            "difficulty": difficulty,
            "card": {**dict.fromkeys(measures, measured), "anchors": by_level.get(name)},
        }
        for name, (difficulty, runs) in levels.items()
    ]
    (root / "cards.json").write_text(json.dumps({"schema": 1, "cards": cards}), encoding="utf-8")
