"""Share of a GRPO step that is neither the policy's generation nor its training.

    python -m benchmarks.overhead [steps] [KEY=VALUE ...]

One run of policy=tiny (or as the words say) on one thread, in this process. The parts that have
to be (generation, the start policy's likelihoods, training forward and backward, the optimiser)
are timed from outside, by wrapping them; what is left of a step is overhead, and of that the
scripted users and the writing of rows are printed on lines of their own. Evaluation and probe are
off but for the first and the last step, which are not counted. CPU seconds on a CPU, wall seconds
on a GPU, where a part is over when the device is done with it.
"""

from __future__ import annotations

import functools
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.words import merged
from harness.compose import planner
from harness.config.run import RunConfig
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.simulator.scripted.user import ScriptedSimulator
from harness.train.engines.engine import PromptedSampler
from harness.train.engines.sampler import Sampler
from harness.train.loop import language
from harness.train.loop import session as sessions
from harness.train.ranks import work
from harness.train.rollout import start_judge

WORK = ("generation", "start likelihood", "forward and backward", "optimiser")
BESIDE = ("users", "rows")


@dataclass
class Clock:
    """Seconds by part; a part within a part counts as the outer one."""

    now: Callable[[], float]
    parts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    steps: list[defaultdict[str, float]] = field(default_factory=list)
    inside: bool = False
    began: float = 0.0

    def timed(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def wrapped(*given: Any, **named: Any) -> Any:
            if self.inside:
                return work(*given, **named)
            self.inside, began = True, self.now()
            try:
                return work(*given, **named)
            finally:
                self.inside = False
                self.parts[part] += self.now() - began

        return wrapped

    def step_over(self) -> None:
        now = self.now()
        self.parts["step"] = now - self.began
        self.steps.append(self.parts)
        self.parts, self.began = defaultdict(float), now


def main(steps: int, words: Sequence[str]) -> None:
    config = planner.point(merged([*FIXED, f"trainer.steps={steps + 2}"], words)).config
    torch.set_num_threads(config.trainer.threads)
    clock = Clock(_gpu_seconds if config.trainer.gpus else time.process_time)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as scratch:
        _wrap(patch, clock)
        run = RunFolder(Path(scratch) / "run")
        run_folder.create(run, config)
        with sessions.open_session(run, config, lambda event: None) as session:
            clock.began = clock.now()
            language.train(session)
    _print(config, clock.steps[1:-1])


FIXED = ("policy=tiny", "trainer.eval_every=1000000", "trainer.checkpoint_every=1000000")


def _gpu_seconds() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


def _wrap(patch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Every part, at the one place where it is called."""
    for part, owner, name in (
        ("generation", Sampler, "speak"),
        ("generation", PromptedSampler, "speak"),
        ("start likelihood", start_judge.StartJudge, "judge"),
        ("forward and backward", work, "accumulate_gradient"),
        ("optimiser", torch.optim.AdamW, "step"),
        ("users", ScriptedSimulator, "open"),
        ("users", ScriptedSimulator, "answer"),
        ("rows", sessions.Session, "record"),
    ):
        patch.setattr(owner, name, clock.timed(part, getattr(owner, name)))
    finish = sessions.Session.finish_step

    def finished(self: sessions.Session, *given: Any) -> None:
        clock.step_over()
        finish(self, *given)

    patch.setattr(sessions.Session, "finish_step", finished)


def _print(config: RunConfig, steps: Sequence[defaultdict[str, float]]) -> None:
    print(f"{config.policy.name}, {config.trainer.conversations} conversations, "
          f"{len(steps)} steps, each figure the median over steps\n")  # fmt: skip
    print("| part | s a step | share of the step |")
    print("|---|---|---|")
    whole = statistics.median(step["step"] for step in steps)
    for part in ("step", *WORK):
        seconds = statistics.median(step[part] for step in steps)
        print(f"| {part} | {seconds:.4f} | {seconds / whole:.1%} |")
    over = [(step["step"] - sum(step[part] for part in WORK)) for step in steps]
    shares = [left / step["step"] for left, step in zip(over, steps, strict=True)]
    print(f"| overhead | {statistics.median(over):.4f} | {statistics.median(shares):.1%} |")
    for part in BESIDE:
        seconds = statistics.median(step[part] for step in steps)
        print(f"| of it {part} | {seconds:.4f} | {seconds / whole:.1%} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8, sys.argv[2:])
