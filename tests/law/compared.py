"""Levels of known law, written as runs with an evaluation in common, and their one contrast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from harness.law.group_results import Analysis, Contrast
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW, SyntheticRun

COMMON = "eval/medium/reward"
N = 300


def rows(log: SyntheticRun, **more: Any) -> list[dict[str, Any]]:
    """With the evaluation that all runs share at every step."""
    lines = synthetic.rows(log, **more)
    return [{**line, COMMON: line["reward"]} for line in lines]


def levels(
    folder: Path,
    logs: Mapping[str, Callable[[int], SyntheticRun]],
    seeds: int = 4,
    lines: Callable[..., list[dict[str, Any]]] = rows,
) -> Path:
    """Runs of each level, their noise their own."""
    for place, (level, log) in enumerate(logs.items()):
        for seed in range(1, seeds + 1):
            where = folder / f"{level}-{seed}"
            run_folders.write_run(where, lines(log(100 * place + seed)), seed=seed, level=level)
    return folder


def law_with(
    a: float, b: float, end: float = 0.05, start: float = 1.0
) -> Callable[[int], SyntheticRun]:
    course = synthetic.exponential(end, start)
    return lambda seed: synthetic.lawful(
        seed, N, LOW, course, follows=lambda h: synthetic.law(h, a, b)
    )


def contrast(found: Analysis, quantity: str) -> Contrast:
    """The one of the only pair."""
    (one,) = [c for g in found.groups for c in g.contrasts if c.quantity == quantity]
    return one


def forget_seed(run: Path) -> None:
    path = run / "config.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    del config["seed"]
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
