"""Gain of a language model on held-out users, pairing each user with itself.

    harness sweep difficulty=easy,medium,hard seed=1,2,3
    python -m benchmarks.paired_gain runs/SWEEP...

Holds the evaluation with the start model and with the last checkpoint, and prints one Markdown row
a run: means, the mean difference by user, and the mean at the end minus that of a supporter who
answers at random. Users and draws are the same on all three sides, which `eval/reward_se` cannot
know. Intervals are 95% t intervals over 256 held-out users. None of them is in `eval/*`, by which
a rate or a length may have been chosen: those users, the first `eval.users`, are left out.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats

from harness.config.run import EvalConfig, RunConfig
from harness.policy import tiny
from harness.policy.chat import chat_of
from harness.records import checkpoints, run_folder
from harness.records.run_folder import RunFolder
from harness.simulator.factory import make
from harness.simulator.reference import converse, random_supporter
from harness.train.engines.engine import TransformersEngine
from harness.train.metrics import evaluate, held_out
from harness.train.metrics.held_out import Meeting
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.ranks.work import RankWork
from harness.train.warm_start import start_model

USERS = 256


def main() -> None:
    columns = ("level", "seed", "control", "start -> end", "gain", "end - random supporter")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for sweep in sys.argv[1:]:
        for path in sorted(Path(sweep).glob("*/run.json")):
            print(_row(RunFolder(path.parent)), flush=True)


def _row(run: RunFolder) -> str:
    config = run_folder.read_config(run)
    newest, _ = checkpoints.newest(run.checkpoints)
    if newest is None:
        raise SystemExit(f"{run.path}: has no checkpoint that verifies")
    started = start_model.ensure(config.policy)
    before, after = (
        _finals(config, at, started) for at in (started, newest.path / checkpoints.MODEL)
    )
    control = "null" if config.algorithm.null_control else ""
    means = f"{before.mean():.3f} -> {after.mean():.3f}"
    differences = " | ".join(_mean(after - other) for other in (before, _of_random(config)))
    return f"| {config.difficulty.name} | {config.seed} | {control} | {means} | {differences} |"


def _mean(values: FloatArray) -> str:
    """Return the mean of `values` with its 95% t interval."""
    half = float(stats.t.ppf(0.975, len(values) - 1)) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.3f} [{values.mean() - half:+.3f}, {values.mean() + half:+.3f}]"


def _finals(config: RunConfig, weights: Path, started: Path) -> FloatArray:
    """Return final emotion / 100 of USERS conversations of the model in `weights`."""
    tokenizer = tiny.load_tokenizer(started)
    model, start = tiny.load_model(weights, "cpu"), tiny.load_model(started, "cpu")
    seen = config.eval.users
    more = replace(config, eval=EvalConfig(users=seen + USERS, levels=[]))
    work = RankWork(more, model, start, chat_of(tokenizer), TransformersEngine(model))
    (own,) = evaluate.finals(more, work.held_out_speakers).values()
    return own[seen:, 0]


def _of_random(config: RunConfig) -> FloatArray:
    """Return what a supporter who answers at random gets from the same users."""
    levels, seen = held_out.levels_of(config), config.eval.users
    users = make(config.simulator, levels.every[levels.own])
    keys = [Meeting(levels.own, seen + n).key for n in range(USERS)]
    return np.array([turns[-1].emotion for turns in converse(users, random_supporter, keys)]) / 100


if __name__ == "__main__":
    main()
