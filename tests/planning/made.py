"""Pilots whose spread is known: numbers alone, and whole run folders."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness.compose import planner
from harness.compose.plan import Point
from harness.planning import answer, settings
from harness.planning.pilot import Pilot, PilotLevel, PilotRunCost
from harness.planning.settings import RequestedLevels
from harness.planning.task import PlanningTask, parse_effect
from harness.records import config_file, outcomes, run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.testing import run_folders, synthetic

EVALUATIONS = (*range(1, 600, 25), 600)
CUTS = EVALUATIONS[15:]
WORDS = ("policy=tabular", "difficulty=easy,hard")
SHORT = (
    "policy=tabular", "difficulty=easy,hard", "trainer.steps=100", "trainer.eval_every=5",
    "trainer.conversations=16",
)  # fmt: skip
USERS = 64


@functools.cache
def asked(*words: str) -> RequestedLevels:
    return settings.parse_levels(words)


def values(mean: float, spread: float, seeds: int) -> tuple[float, ...]:
    """With exactly this mean and this standard deviation."""
    normal = np.random.default_rng(seeds).standard_normal(seeds)
    normal = (normal - normal.mean()) / normal.std(ddof=1)
    return tuple(map(float, mean + spread * normal))


def level(
    mean: float = 0.4,
    spread: float = 0.02,
    seeds: int = 5,
    quantity: str = "gain",
    early: float = 1.0,
    **more: Any,
) -> PilotLevel:
    """`early`: the value at every step before the last, as a share of that at the last."""
    end = values(mean, spread, seeds)
    cut = tuple(early * mean + (value - mean) for value in end)
    by_step = {step: end if step == 600 else cut for step in CUTS}
    evaluated = {"trainer.eval_every": 25}
    config = asked(*WORDS).flat[0] | evaluated | more.pop("config", {})
    told = {"per_user": None, "spent": PilotRunCost(0.01, 0.002, True), **more}
    return PilotLevel(
        config, tuple(range(1, seeds + 1)), {quantity: by_step}, evaluations=EVALUATIONS, **told
    )


def pilot(*levels: PilotLevel, tested: tuple[str, ...] = ("gain",)) -> Pilot:
    return Pilot("made", levels, "eval/medium/reward", tested)


def task(made: Pilot, effect: str = "gain=0.05", typed: Sequence[str] = ()) -> PlanningTask:
    words = WORDS if len(made.levels) == 2 else (WORDS[0], "difficulty=easy,medium,hard")
    question = answer.PlanRequest(words, parse_effect(effect), None, 0.8)
    found = answer.task_of(question, asked(*words), made)
    return PlanningTask(
        found.effect, found.rule, made, found.configs, found.wanted, frozenset(typed)
    )


def write_runs(
    root: Path,
    words: Sequence[str] = SHORT,
    seeds: int = 3,
    apart: float = 0.1,
    medium: float = 1.0,
    medium_of_hard: float | None = None,
) -> Path:
    """A finished run for each level and seed; hard ends `apart` below easy. `medium`: the reward on
    eval/medium as a share of that on the run's own users; `medium_of_hard`: of hard's runs.
    """
    points = planner.plan([*words, f"seed=range(1,{seeds + 1})"]).points
    for number, point in enumerate(points):
        low = apart if point.config.difficulty.name == "hard" else 0.0
        other = medium_of_hard if low and medium_of_hard is not None else medium
        _write(root / f"{number}", point, 0.6 - low, other)
    return root


def _write(folder: Path, point: Point, end: float, medium: float) -> None:
    config = point.config
    seed, steps, every = config.seed, config.trainer.steps, config.trainer.evaluated_every
    rate = int(1000 * config.algorithm.learning_rate)
    rng = np.random.default_rng([seed, ord(config.difficulty.name[0]), rate])
    of_users = rng.normal(end, 0.1, config.eval.users).clip(0, 1)
    reward = float(of_users.mean())
    rows = synthetic.rows(synthetic.lawful(seed, steps, synthetic.NONE))
    for row in rows:
        step = row["step"]
        met = every and ((step - 1) % every == 0 or step == steps)
        risen = 0.2 + (reward - 0.2) * (step - 1) / (steps - 1)
        row["eval/reward"] = risen if met else None
        row["eval/medium/reward"] = medium * risen if met else None
        row["entropy/probe"] = row["entropy"] if met else None
    run_folders.write_rows(folder, rows)
    held = config_file.to_dict(config)
    (folder / "config.yaml").write_text(yaml.safe_dump(held, sort_keys=False), encoding="utf-8")
    record = RunStatus(
        status="done", config_hash=config_file.config_hash(config), measurement={"made": True}
    )
    run_status.write(RunFolder(folder).status, record)
    table = of_users[:, None].tolist()
    outcomes.write(folder / "outcomes.json", steps, {"own": table, "medium": table})
    event = {"event": "step", "seconds": {"rollout": 0.1, "eval": 0.0, "update": 0.1}}
    lines = [{**event, "step": step, "cpu_s": 1.0 + 0.2 * step} for step in range(1, steps + 1)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "events.jsonl").write_text(text, encoding="utf-8")
