"""CPU seconds of whole steps by algorithm, over those of grpo at equal conversations.

    OMP_NUM_THREADS=1 python -m benchmarks.algorithm_steps ROUNDS STEPS [NAME ...] [KEY=VALUE ...]

NAME may have options of its own behind a colon: `kto:reference_point=mismatched`.

A round has one run of each algorithm, or of each NAME, in this process and on one thread, between
two of grpo, whose mean is what the round's runs are compared with: what slows the machine for
minutes slows both. The rate is next to 0, so that all keep the start policy, and with it the length
of conversations. A run counts from its first row to its last but one: rollout, critique, learning,
critic, optimiser, ledger and records, without evaluations. Rounds meet the same users, whose
judgement of a sentence is kept, so before the first each algorithm runs once uncounted.

Prints a Markdown table: the median over rounds of each ratio, its least and its largest. What lies
beyond an algorithm's own extra conversations is given in two ways. By replies: the ratio over 1 +
(replies beyond the batch's, as a share of these), as if a reply cost as much in a few conversations
as in a whole batch. By time: the step less the CPU seconds in which these conversations are drawn,
and scored once as all others are, over grpo's step.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.words import merged
from harness.compose import planner
from harness.config.run import RunConfig
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.train.loop import language_refinement
from harness.train.loop import session as sessions
from harness.train.ranks.work import RankWork
from harness.train.rollout import tabular_refinement

NAMES = ("reptile", "vpo", "critique_grpo", "ppo", "kto", "expert_iteration")
FIXED = (
    "trainer.eval_every=0", "eval.users=8", "eval.deaf=false", "eval.prefixes=0",
    "algorithm.learning_rate=1e-9", "trainer.checkpoint_every=1000",
)  # fmt: skip

DRAWING = ((RankWork, "redraw"), (tabular_refinement, "take_over"))
SCORING = ((language_refinement, "own_scores"),)
"""Where extra conversations are drawn, and scored; at most once a step each."""


@dataclass(frozen=True)
class Cost:
    """What a run's steps took."""

    step_s: float
    """CPU seconds of a step."""
    drawing_s: float
    """Of these, for drawing the algorithm's extra conversations."""
    scoring_s: float
    """Of these, for scoring as many conversations as that is beyond the batch's."""
    extra_replies: float
    """Replies beyond the batch's, as a share of these."""

    @property
    def without_extra_s(self) -> float:
        """CPU seconds of a step but for drawing and scoring the extra conversations."""
        return self.step_s - self.drawing_s - self.scoring_s


@dataclass(frozen=True)
class Round:
    """An algorithm's run beside two of grpo, in units of grpo's step."""

    step: float
    without_extra: float
    drawing: float
    scoring: float
    extra_replies: float

    @property
    def by_replies(self) -> float:
        """The step beyond the extra conversations, were a reply's cost always the same."""
        return self.step / (1 + self.extra_replies)


def compared(one: Cost, grpo_s: float) -> Round:
    """The cost of a run's steps beside grpo's, of which one takes `grpo_s`."""
    return Round(
        step=one.step_s / grpo_s,
        without_extra=one.without_extra_s / grpo_s,
        drawing=one.drawing_s / grpo_s,
        scoring=one.scoring_s / grpo_s,
        extra_replies=one.extra_replies,
    )


def planned(name: str, steps: int, words: list[str]) -> RunConfig:
    """A run of `name` in groups of 8, or of two sets of vpo."""
    kind, *options = name.split(":")
    size = 16 if kind == "vpo" else 8
    own = [f"algorithm={kind}", f"algorithm.group_size={size}", f"trainer.steps={steps}", *FIXED]
    own += [f"algorithm.options.{option}" for option in options]
    return planner.point(merged(own, words)).config


def cost(config: RunConfig) -> Cost:
    """Run it, and take the CPU time between its first row and its last but one."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        drawing = [stack.enter_context(timed(*place)) for place in DRAWING]
        scoring = [stack.enter_context(timed(*place)) for place in SCORING]
        run = RunFolder(Path(folder) / "run")
        run_folder.create(run, config)
        with sessions.open_session(run, config, lambda event: None) as session:
            loop = importlib.import_module(
                f"harness.train.loop.{'tabular' if config.policy.kind == 'tabular' else 'language'}"
            )
            loop.train(session)
        return _cost(run, *(sum(sum(calls[1:-1]) for calls in some) for some in (drawing, scoring)))


@contextmanager
def timed(owner: Any, name: str) -> Iterator[list[float]]:
    """A context that yields the CPU seconds of each call of `owner.name` in it so far."""
    function, calls = getattr(owner, name), list[float]()

    def called(*given: Any, **named: Any) -> Any:
        began = time.process_time()
        made = function(*given, **named)
        calls.append(time.process_time() - began)
        return made

    setattr(owner, name, called)
    try:
        yield calls
    finally:
        setattr(owner, name, function)


def _cost(run: RunFolder, drawing_s: float, scoring_s: float) -> Cost:
    """`drawing_s` and `scoring_s`: of the steps after the first and before the last."""
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    spent = [event["cpu_s"] for event in events if event["event"] == "step"]
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    size = run_folder.read_config(run).trainer.conversations
    replies = sum(row["turns/mean"] * size for row in rows)
    extra = sum(row["refined/replies"] or 0 for row in rows)
    steps = len(spent) - 2
    return Cost(
        step_s=(spent[-2] - spent[0]) / steps,
        drawing_s=drawing_s / steps,
        scoring_s=scoring_s / steps,
        extra_replies=extra / replies,
    )


def main(rounds: int, steps: int, given: list[str]) -> None:
    names = [word for word in given if word.split(":")[0] in NAMES]
    words = [word for word in given if word not in names]
    tabular = "policy=tabular" in words
    names = names or [n for n in NAMES if tabular or n not in ("reptile", "vpo")]
    plain = planned("grpo", steps, words)
    configs = {name: planned(name, steps, words) for name in names}
    for config in (plain, *configs.values()):
        cost(config)
    base, by_name = [cost(plain).step_s], {name: list[Round]() for name in names}
    for _ in range(rounds):
        made = {name: cost(config) for name, config in configs.items()}
        base.append(cost(plain).step_s)
        between = (base[-2] + base[-1]) / 2
        for name, one in made.items():
            by_name[name].append(compared(one, between))
    drift = [after / before for before, after in pairwise(base)]
    print(f"grpo: {statistics.median(base):.4f} s a step, one run over the one before "
          f"{statistics.median(drift):.3f}, {min(drift):.3f} to {max(drift):.3f}\n")  # fmt: skip
    print("| algorithm | step over grpo's | extra replies | beyond them, by replies "
          "| drawing them | scoring them | beyond them, by time |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for name, some in by_name.items():
        print(f"| `{name}` | {spread([one.step for one in some])} | {some[0].extra_replies:.3f} "
              f"| {spread([one.by_replies for one in some])} "
              f"| {statistics.median(one.drawing for one in some):.3f} "
              f"| {statistics.median(one.scoring for one in some):.3f} "
              f"| {spread([one.without_extra for one in some])} |")  # fmt: skip


def spread(ratios: list[float]) -> str:
    """The median, the least and the largest."""
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
