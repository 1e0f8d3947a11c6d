"""Gain of a language model on held-out users, pairing each user with itself.

    harness sweep difficulty=easy,medium,hard seed=1,2,3
    python -m benchmarks.paired_gain runs/SWEEP...

Holds the evaluation with the start model and with the last checkpoint, with four times the users
of `eval/*` (the same, and more), and prints one Markdown row a run: means, and the mean difference
by user with its 95% t interval. Users and draws are the same on both sides, which
`eval/reward_se` cannot know.
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
from harness.train.engines.engine import TransformersEngine
from harness.train.metrics import evaluate
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.ranks.work import RankWork
from harness.train.warm_start import start_model

USERS = 256


def main() -> None:
    print("| level | seed | control | start -> end | paired gain, 95% |\n|" + "---|" * 5)
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
    won = after - before
    half = float(stats.t.ppf(0.975, len(won) - 1)) * won.std(ddof=1) / np.sqrt(len(won))
    control = "null" if config.algorithm.null_control else ""
    means = f"{before.mean():.3f} -> {after.mean():.3f}"
    interval = f"{won.mean():+.3f} [{won.mean() - half:+.3f}, {won.mean() + half:+.3f}]"
    return f"| {config.difficulty.name} | {config.seed} | {control} | {means} | {interval} |"


def _finals(config: RunConfig, weights: Path, started: Path) -> FloatArray:
    tokenizer = tiny.load_tokenizer(started)
    model, start = tiny.load_model(weights, "cpu"), tiny.load_model(started, "cpu")
    more = replace(config, eval=EvalConfig(users=USERS, levels=[]))
    work = RankWork(more, model, start, chat_of(tokenizer), TransformersEngine(model))
    (own,) = evaluate.finals(more, work.held_out_speakers).values()
    return own[:, 0]


if __name__ == "__main__":
    main()
