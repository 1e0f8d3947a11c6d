"""A small study as a user's file, and studies of known numbers whose runs nobody trains."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness.config.run import AlgorithmConfig, DifficultyConfig, RemedyConfig, RunConfig
from harness.law import analysis
from harness.law.compare import study_arms, study_outcome
from harness.law.compare.study_outcome import StudyOutcome
from harness.records import config_file, run_status, study_file, sweep_file
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.records.study_file import (
    EVALUATION,
    InterimLook,
    Link,
    StudyRecord,
    StudyStatement,
    to_plain,
)
from harness.records.sweep_file import LedgerRow, Sweep
from harness.study import file
from harness.study.arms import PlannedStudy, plan
from harness.testing import run_folders

N = 100
"""Steps of a run, evaluated at each."""
ON_HARD = "eval/hard/reward"
SMALL = """
question: Do hard users teach less?
source: made up
seeds: 1,2
words: [policy=tabular, trainer.conversations=8, trainer.steps=3, hydra/launcher=basic]
arms:
  medium: [difficulty=medium]
  hard: [difficulty=hard]
links:
  hard gains less: {quantity: gain, arm: hard, against: medium, direction: less, margin: 0.05}
"""


def written(cwd: Path, text: str = SMALL, name: str = "mine") -> Path:
    """Write `text` as a study file of somebody who works in `cwd`."""
    path = cwd / "sweeps" / "studies" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def planned(*words: str) -> PlannedStudy:
    """Plan the study that `written` wrote into the current folder."""
    return plan("mine", file.read("mine"), words)


@dataclasses.dataclass(frozen=True)
class Course:
    """What a run does."""

    gain: float = 0.3
    """Of reward."""
    gain_on_hard: float | None = None
    """Of reward on hard's users; None: they are not evaluated."""
    end: float = 0.6
    """H at the end; it begins at 1.9."""
    fall_at: float | None = None
    """Share of the run at which H drops to nothing; None: it sinks in a line to `end`."""
    stop_at: float = 1.0
    """Share of the run from which the reward rises no more."""
    silent: float = 0.1
    acted: float | None = None


Arms = Mapping[str, tuple[RunConfig, Sequence[Course | None]]]
"""Name of an arm -> config of its seed 1, courses by seed; None is a run that failed early."""


def rows(course: Course, noise: np.random.Generator) -> list[dict[str, Any]]:
    u = np.arange(N) / (N - 1)
    entropy = 1.9 + (course.end - 1.9) * u
    if course.fall_at is not None:
        entropy = np.where(u < course.fall_at, 1.9 - 0.3 * u, 0.02)
    reward = 0.2 + course.gain * np.minimum(u / course.stop_at, 1.0)
    h, r = (0.005 * noise.normal(size=N) for _ in range(2))
    on_hard = {} if course.gain_on_hard is None else {ON_HARD: 0.2 + course.gain_on_hard * u}
    return [
        {
            "step": i + 1, "entropy": max(entropy[i] + h[i], 0.0), "reward": reward[i] + r[i],
            "entropy/probe": entropy[i], EVALUATION: reward[i] + r[i],
            "groups/below_floor": course.silent, "remedy/acted": course.acted,
            "strategy/suggest": 0.2, "strategy/inform": 0.1,
            **{column: reward_on_hard[i] for column, reward_on_hard in on_hard.items()},
        }
        for i in range(N)
    ]  # fmt: skip


def config(level: str, seed: int, null: bool, remedy: str = "none") -> RunConfig:
    return RunConfig(
        seed=seed,
        difficulty=DifficultyConfig(name=level),
        algorithm=AlgorithmConfig(null_control=null),
        remedy=RemedyConfig(remedy, {} if remedy == "none" else {remedy: {}}),
        trainer=dataclasses.replace(RunConfig().trainer, steps=N),
    )


def study_of(
    folder: Path,
    arms: Arms,
    links: Sequence[Link],
    checks: Sequence[Link] = (),
    unfinished: Sequence[str] = (),
    diverged: Sequence[str] = (),
    looks: Sequence[InterimLook] = (),
    beside: Callable[[Path, str, int], None] = lambda folder, arm, seed: None,
    **stated: Any,
) -> StudyOutcome:
    """Write a run a course of each arm, seeds from 1 up, and judge the links.

    `beside` is given the folder, the arm and the seed of each run once that is written.
    """
    names: dict[str, dict[str, str]] = {}
    ledger: list[LedgerRow] = []
    for place, (arm, (made, courses)) in enumerate(arms.items()):
        for seed, course in enumerate(courses, start=1):
            name = f"{len(ledger)}-{arm}-seed{seed}"
            names.setdefault(arm, {})[str(seed)] = name
            lost = course is None or name in unfinished or name in diverged
            code = 70 if name in diverged else None
            row = LedgerRow(name, str(folder / name), (), "failed" if lost else "done", None, code)
            ledger.append(row)
            if course is not None:
                noise = np.random.default_rng(1000 * place + seed)
                _write(folder / name, dataclasses.replace(made, seed=seed), rows(course, noise))
                beside(folder / name, arm, seed)
    count = max(len(courses) for _, courses in arms.values())
    said = StudyStatement(
        **{
            "question": "Is it so?", "source": "made up", "seeds": list(range(1, count + 1)),
            "words": [], "arms": {arm: [] for arm in arms}, "links": links, "checks": checks,
            "deciding": [link.name for link in links], "best": {}, "rival": None, **stated,
        }
    )  # fmt: skip
    record = StudyRecord("made", to_plain(said), [], names, {})
    sweep = Sweep(str(folder), {}, ledger)
    members = analysis.load_members(study_arms.finished_folders(sweep))
    found = study_arms.assign_runs(record, said, members, study_arms.diverged_runs(sweep))
    return study_outcome.judge_study("made", said, str(folder), found, [], looks)


def _write(folder: Path, made: RunConfig, lines: list[dict[str, Any]]) -> None:
    run_folders.write_rows(folder, lines)
    text = yaml.safe_dump(config_file.to_dict(made), sort_keys=False)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    status = RunStatus("done", config_hash=config_file.config_hash(made), seed=made.seed)
    run_status.write(RunFolder(folder).status, status)


GAIN = Link("hard gains less", "gain", "hard", "medium", "less", 0.05)


MEDIUM, HARD = config("medium", 1, False), config("hard", 1, False)


STEADY = [Course(gain=0.3 + 0.01 * n) for n in range(5)]


def record_of(root: Path, outcome: StudyOutcome, seeds: int, judged_at: bool = True) -> None:
    names = sorted((p.name for p in root.glob("*-seed*")), key=lambda n: int(n.split("-")[0]))
    of_arms: dict[str, dict[str, str]] = {}
    for name in names:
        run = RunFolder(root / name)
        run_status.write(run.status, replace(run_status.read(run.status), last_step=N))
        match = re.fullmatch(r"\d+-(.*)-seed(\d+)", name)
        assert match
        of_arms.setdefault(match[1], {})[match[2]] = name
    look = study_outcome.new_look(outcome, [])
    stated = to_plain(replace(outcome.stated, seeds=list(range(1, seeds + 1))))
    looks = [look] if look and judged_at else []
    study_file.write(root, StudyRecord("made", stated, [], of_arms, {}, looks))
    rows = [LedgerRow(name, None, (), "done") for name in names]
    sweep_file.write(root, Sweep(None, {"seed": list(range(1, seeds + 1))}, rows))
