"""Does the judge of language cause the collapse of entropy that the harness measures?

    python -m benchmarks.guard FOLDER [--model PATH] [--seeds 6] [--steps 100] [--show]

Trains pairs of runs that differ in nothing but `simulator.typicality_cut`, its default and null, in
FOLDER, where finished runs are kept and not made again. Prints, in Markdown, the slope of H of each
run, the mean difference by seed with its 90% interval beside the bound of +-.004 nats a step within
which the two are held to be equivalent, what the judge flagged, and the share of replies that the
cut flags as the start model draws them and with their words shuffled. `--model`: a folder with a
Hugging Face model, in place of the tiny policy; `--show` trains nothing.
benchmarks/guard.md holds a dated result.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from scipy import stats

from harness.compose import planner
from harness.config.run import RunConfig
from harness.config.simulator import TYPICALITY_CUT
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey
from harness.train.engines.engine import TransformersEngine
from harness.train.loop import start as starts
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.conversation import rollout
from harness.train.rollout.speaker import LanguageSpeaker
from harness.train.rollout.start_judge import StartJudge

BOUND = 0.004
"""Nats a step."""
ARMS = {"on": [], "off": ["simulator.typicality_cut=null"]}
TINY = [
    "policy=tiny", "difficulty=easy", "difficulty.turn_cap=4", "trainer.conversations=16",
]  # fmt: skip
HUGGING_FACE = [
    "policy=hf", "policy.temperature=0.7", "policy.max_turn_tokens=48", "policy.lora_rank=16",
    "algorithm.learning_rate=3e-4", "difficulty=easy", "difficulty.turn_cap=2",
    "trainer.conversations=12", "algorithm.group_size=6",
]  # fmt: skip
COMMON = ["trainer.eval_every=0", "trainer.checkpoint_every=25"]
DRAWN = 64
"""Conversations of the start model whose first replies are shuffled."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    words = [*HUGGING_FACE, f"policy.model={given.model}"] if given.model else TINY
    words += [*COMMON, f"trainer.steps={given.steps}"]
    for seed in [] if given.show else range(1, given.seeds + 1):
        for arm, own in ARMS.items():
            _train([*words, *own, f"seed={seed}"], given.folder / f"{arm}-{seed}")
    print("\n".join([*_runs(given.folder, given.seeds, given.steps), "", *_flagged(words)]))


def _train(words: Sequence[str], run: Path) -> None:
    command = [sys.executable, "-m", "harness"]
    if run.is_dir():
        subprocess.run([*command, "resume", str(run)], check=False)
    else:
        subprocess.run([*command, "train", *words, "--dir", str(run)], check=False)


def _runs(folder: Path, seeds: int, steps: int) -> Iterator[str]:
    """A row a run, and the difference; a seed counts once both of its runs are whole."""
    yield "| seed | guard | H, first 10 -> last 10 steps | slope of H a step | reward | flagged |"
    yield "|" + "---|" * 6
    differences = []
    for seed in range(1, seeds + 1):
        slopes = {}
        for arm in ARMS:
            values = _columns(folder / f"{arm}-{seed}" / "metrics.jsonl")
            if len(values["entropy"]) < steps:
                continue
            h = values["entropy"]
            slopes[arm] = float(stats.linregress(np.arange(len(h)), h).slope)
            flagged = values["text/flagged/typicality"]
            spans = " | ".join(_span(v) for v in (values["reward"], flagged))
            yield f"| {seed} | {arm} | {_span(h)} | {slopes[arm]:+.5f} | {spans} |"
        if len(slopes) == len(ARMS):
            differences.append(slopes["on"] - slopes["off"])
    if len(differences) > 1:
        mean, n = float(np.mean(differences)), len(differences)
        error = float(np.std(differences, ddof=1)) / np.sqrt(n)
        half = float(stats.t.ppf(0.95, n - 1)) * error
        verdict = "within" if abs(mean) + half < BOUND else "not within"
        yield ""
        yield (
            f"Slope of H with the guard minus without, {n} pairs: {mean:+.5f} nats a step, 90% "
            f"interval {mean - half:+.5f} to {mean + half:+.5f}: {verdict} +-{BOUND:g}."
        )


def _columns(path: Path) -> dict[str, FloatArray]:
    names = ("entropy", "reward", "text/flagged/typicality")
    lines = path.read_text().splitlines() if path.is_file() else []
    rows = [json.loads(line) for line in lines]
    return {name: np.array([row[name] for row in rows], float) for name in names}


def _span(values: FloatArray) -> str:
    return f"{values[:10].mean():.3f} -> {values[-10:].mean():.3f}"


def _flagged(words: Sequence[str]) -> Iterator[str]:
    """Share of the start model's replies that the cut flags, as drawn and shuffled."""
    torch.set_num_threads(1)
    config = planner.plan([*words, "simulator.typicality_cut=null"]).points[0].config
    start = starts.load(config, "cpu")
    users = make(config.simulator, config.difficulty)
    keys = [ConversationKey(1, 1, number, 0) for number in range(DRAWN)]
    speaker = LanguageSpeaker(
        TransformersEngine(start.learner),
        start.chat,
        config.policy,
        np.random.default_rng(1),
        StartJudge(start.judge, DRAWN, config.policy.temperature, start.chat.end),
    )
    talks = rollout(users, speaker, keys)
    drawn = [e.reply.start_z or 0.0 for talk in talks for e in talk.exchanges]
    rng, texts, heard = np.random.default_rng(2), [], []
    for talk in talks:
        said = talk.exchanges[0].reply.text.split()
        if len(said) > 3:
            texts.append(" ".join(rng.permutation(said)))
            heard.append(talk.opening.text)
    shuffled = [_judged(start, config, h, t) for h, t in zip(heard, texts, strict=True)]
    yield f"| replies of the start model | n | z, median | z > {TYPICALITY_CUT:g} |"
    yield "|" + "---|" * 4
    for name, values in (("as drawn", drawn), ("words shuffled", shuffled)):
        share = float(np.mean(np.array(values) > TYPICALITY_CUT))
        yield f"| {name} | {len(values)} | {np.median(values):.1f} | {share:.3f} |"


def _judged(start: starts.StartModels, config: RunConfig, heard: str, text: str) -> float:
    """The z of `text` said to an opening."""
    ids = [*start.tokenizer.encode(text, add_special_tokens=False), start.chat.end]
    judge = StartJudge(start.judge, 1, config.policy.temperature, start.chat.end)
    (score,) = judge.judge([0], [start.chat.opening(heard)], [ids])
    return score.z


if __name__ == "__main__":
    main()
