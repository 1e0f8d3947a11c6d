"""Configs, conversations and runs that the tests of train share."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.config.run import (
    AlgorithmConfig,
    DifficultyConfig,
    LevelsConfig,
    PolicyConfig,
    RunConfig,
    TrainerConfig,
)
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.train.__main__ import attempt
from harness.train.objective import registry
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import BoolArray, LossTokens
from harness.train.policy_gradient.remedy_roles import Remedy
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.conversation import Conversation, Exchange
from harness.train.rollout.learning_signal import learning_signal
from harness.utils.process import STOP_SIGNALS

STEPS = 24
FEW = 8
"""Held-out users a level, in runs whose evaluation is not asked about."""
HANDLED = (*STOP_SIGNALS, signal.SIGALRM, signal.SIGHUP)
LEVELS = LevelsConfig(
    easy=DifficultyConfig(name="easy", disclosure="free", acceptance="any_kindness"),
    medium=DifficultyConfig(),
    hard=DifficultyConfig(name="hard", disclosure="never", acceptance="goal_fit"),
)


def stack_of(config: AlgorithmConfig, *remedies: Remedy) -> RemedyStack:
    """The algorithm of `config` with these remedies."""
    algorithm = registry.algorithm_of(RunConfig(algorithm=config))
    return RemedyStack(algorithm, config, remedies)


def tokens_of(logp: Any, old_logp: Any, advantage: Any) -> LossTokens:
    """Tokens of one conversation."""
    return LossTokens(logp, old_logp, advantage, np.zeros(len(logp), np.int64), 1)


def unselective(
    count: int, terms: tuple[Array, ...] = (), bonus: float = 0.0, lost: BoolArray | None = None
) -> TokenSelection:
    """The selection of `count` tokens by which each weighs 1 and none is picked out or touched."""
    none = np.zeros(count, bool)
    return TokenSelection(np.ones(count), none, none, terms, bonus, lost)


def advantages_of(rewards: Rewards, config: RunConfig, step: int) -> FloatArray:
    """The advantages of each reply by the algorithm of `config`."""
    algorithm = registry.algorithm_of(config)
    return learning_signal(algorithm, None, rewards, None, config, step).advantages


def short(turns: int) -> LevelsConfig:
    """LEVELS with conversations of at most `turns` replies, to save time."""
    return LevelsConfig(
        easy=replace(LEVELS.easy, turn_cap=turns),
        medium=replace(LEVELS.medium, turn_cap=turns),
        hard=replace(LEVELS.hard, turn_cap=turns),
    )


def tabular(
    level: DifficultyConfig | None = None,
    seed: int = 1,
    algorithm: dict[str, Any] | None = None,
    **trainer: Any,
) -> RunConfig:
    """A small tabular run at `level`, medium by default."""
    return RunConfig(
        seed=seed,
        difficulty=level or LEVELS.medium,
        levels=LEVELS,
        policy=PolicyConfig(name="tabular", kind="tabular"),
        algorithm=AlgorithmConfig(**({"learning_rate": 8.0} | (algorithm or {}))),
        trainer=TrainerConfig(**({"steps": 12, "conversations": 16, "eval_every": 10} | trainer)),
    )


def brief(seed: int = 1, **trainer: Any) -> RunConfig:
    """A tabular run of STEPS short conversations, evaluated at 1, 13 and the end."""
    settings = {"steps": STEPS, "checkpoint_every": 5, "eval_every": 12, **trainer}
    levels = short(3)
    return replace(tabular(seed=seed, **settings), difficulty=levels.medium, levels=levels)


def user_turn(emotion: int, text: str = "Hm.", **values: Any) -> UserTurn:
    defaults: dict[str, Any] = {
        "change": None,
        "reported_emotion": float(emotion),
        "ended": None,
        "strategies": (),
        "flagged": False,
        "why": {},
        "state": None,
    }
    return UserTurn(text=text, emotion=emotion, **(defaults | values))


def conversation(
    group: int,
    sample: int,
    start: int,
    exchanges: Sequence[tuple[SupporterReply, UserTurn]],
    temperament: str | None = None,
) -> Conversation:
    return Conversation(
        ConversationKey(1, 1, group, sample),
        user_turn(start, "It is about my dog."),
        tuple(Exchange(reply, answer) for reply, answer in exchanges),
        temperament,
    )


def make_run(path: Path, config: RunConfig, users: int | None = FEW) -> RunFolder:
    """A run of `config`, evaluated on a few users a level and prefixes; None: on all it says."""
    run = RunFolder(path)
    if users is not None:
        config = replace(
            config,
            eval=replace(config.eval, users=users, prefixes=min(config.eval.prefixes, users)),
        )
    run_folder.create(run, config)
    return run


def start(run: RunFolder) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "harness.train", str(run.path), "--events", "jsonl"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def finish(run: RunFolder) -> tuple[int, list[dict[str, Any]], str]:
    """Run the child to its end: exit code, events, stderr."""
    child = start(run)
    out, err = child.communicate(timeout=120)
    return child.returncode, [json.loads(line) for line in out.splitlines()], err


def go_on(
    run: RunFolder, stop_after: int | None = None, event_of_stop: str = "step"
) -> tuple[int, list[dict[str, Any]], str]:
    """An attempt in this process: exit code, events, stderr; with `stop_after` a stop is asked
    for when that row is durable, or at another event of that step.
    """
    events: list[dict[str, Any]] = []

    def emit(event: Mapping[str, Any]) -> None:
        events.append({key: value for key, value in event.items() if key != "values"})
        if event["event"] == event_of_stop and event["step"] == stop_after:
            os.kill(os.getpid(), signal.SIGTERM)

    with handlers_as_before(), contextlib.redirect_stderr(io.StringIO()) as err:
        return attempt(run, emit), events, err.getvalue()


@contextlib.contextmanager
def handlers_as_before() -> Iterator[None]:
    """A run in this process sets signal handlers, and leaves them."""
    before = {number: signal.getsignal(number) for number in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def rows_of(path: Path, config: RunConfig, evaluated: bool = False) -> list[dict[str, Any]]:
    """Rows of a run in this process; unless `evaluated`, its eval/* are of few users."""
    run = make_run(path, config, None if evaluated else FEW)
    assert attempt(run, lambda event: None) == 0
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def killed_after(run: RunFolder, step: int, later_s: float = 0) -> RunFolder:
    """The run, its process killed `later_s` seconds after `step` was reported."""
    child = start(run)
    wait_for(child, "step", step)
    time.sleep(later_s)
    child.kill()
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    return run


def wait_for(child: subprocess.Popen[str], event: str, step: int) -> None:
    """Read events until `event` of `step`."""
    assert child.stdout is not None
    for line in child.stdout:
        emitted = json.loads(line)
        if emitted["event"] == event and emitted.get("step", -1) >= step:
            return
    raise AssertionError(f"the run ended before {event} {step}: {child.communicate()[1]}")


@dataclass(frozen=True)
class Finished:
    """An uninterrupted run, with the events and the stderr of its process."""

    run: RunFolder
    events: list[dict[str, Any]]
    err: str


def long_step(path: Path, **trainer: Any) -> tuple[RunFolder, subprocess.Popen[str]]:
    """A run inside a first step that takes many seconds."""
    run = make_run(path, brief(conversations=65_536, **trainer))
    child = start(run)
    wait_for(child, "start", 0)
    return run, child


def status(run: RunFolder) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(run.status.read_text())
    return values
