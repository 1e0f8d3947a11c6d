"""A step of a policy with artificial users: conversations of the greatest length, and one update.

The work on the device is done by the same functions as in a run; only the users, the rewards and
TRL's loop are left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch

from harness.config.run import RunConfig
from harness.policy.chat import Chat
from harness.train.engines.engine import Engine
from harness.train.loop.language_batch import TokenBatch, loss_settings
from harness.train.loop.start import StartModels
from harness.train.memory import conversation_memory
from harness.train.metrics.entropy_splits import PlanningTokens
from harness.train.objective import micro_batches, remedy_state
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossBatch, LossResult
from harness.train.objective.micro_batches import TokenLimit
from harness.train.ranks.work import precision
from harness.train.rollout.batch import ROLLOUT_STREAM, rng_of
from harness.train.rollout.speaker import LanguageSpeaker, TokenTrajectory
from harness.train.rollout.start_judge import judge_of
from harness.train.trial.results import TrialSize

WORDS = "I do not know what to do about it."
STEP = 0
"""A step number that no run has, since runs count from 1."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class MeasuredPhase(Generic[Result]):
    """The result of a phase with its time and memory."""

    value: Result
    seconds: float
    peak_bytes: int | None
    """None if memory was not measured."""


class Meter(Protocol):
    """Measures time and, if possible, peak memory of some work."""

    def over(self, work: Callable[[], Result]) -> MeasuredPhase[Result]:
        """Do the work and return its result with the measurements."""
        ...


class WallClockMeter:
    """Measures only time."""

    def over(self, work: Callable[[], Result]) -> MeasuredPhase[Result]:
        began = time.monotonic()
        value = work()
        return MeasuredPhase(value, time.monotonic() - began, None)


@dataclass(frozen=True)
class CudaMeter:
    """Measures time and the GPU memory in use, as counted by torch's allocator."""

    engine_bytes: int = 0
    """Bytes to subtract: vLLM's weights and cache. torch counts them even while vLLM sleeps and the
    GPU's memory is free."""

    def over(self, work: Callable[[], Result]) -> MeasuredPhase[Result]:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        began = time.monotonic()
        value = work()
        torch.cuda.synchronize()
        spent = time.monotonic() - began
        return MeasuredPhase(value, spent, torch.cuda.max_memory_allocated() - self.engine_bytes)


def full_size(config: RunConfig) -> TrialSize:
    """Return the size of a run's longest step."""
    turns = conversation_memory.most_turns(config)
    return TrialSize(config.trainer.conversations, turns, config.policy.max_turn_tokens)


def trained_size(config: RunConfig, size: TrialSize) -> TrialSize:
    """Return the part of `size` that a run learns from; evaluations may have more turns."""
    return replace(size, turns=min(size.turns, config.most_replies))


def rollout(
    config: RunConfig, models: StartModels, engine: Engine, size: TrialSize
) -> list[TokenTrajectory]:
    """Hold conversations of full length with users who always say the same."""
    policy = replace(config.policy, max_turn_tokens=size.turn_tokens)
    chat = endless(models.chat)
    message = _words(chat)
    learner: Any = models.learner
    learner.eval()
    rng = rng_of(config, STEP, ROLLOUT_STREAM)
    judge = judge_of(models.judge, size.conversations, policy.temperature, chat.end)
    speaker = LanguageSpeaker(engine, chat, policy, rng, judge)
    with precision(config.policy, learner.device.type), engine.awake():
        speaker.begin(size.conversations)
        for _ in range(size.turns):
            speaker.speak(range(size.conversations), [message] * size.conversations)
    return speaker.trajectories


def endless(chat: Chat) -> Chat:
    """Return `chat` with another special token as the end of a turn, which a model hardly draws."""
    others = [id_ for id_ in chat.tokenizer.all_special_ids if id_ != chat.end]
    return replace(chat, end=others[-1] if others else len(chat.tokenizer) - 1)


def _words(chat: Chat) -> str:
    """Return a user's message of about the length that the memory estimate assumes."""
    message = WORDS
    while len(chat.following(f"{message} {WORDS}")) <= conversation_memory.USER_TOKENS:
        message = f"{message} {WORDS}"
    return message


def optimiser_of(config: RunConfig, models: StartModels, rate: float) -> Any:
    """Return AdamW with a run's settings and its two moments already in memory."""
    trainable = [p for p in models.learner.parameters() if p.requires_grad]
    algorithm = config.algorithm
    optimiser = torch.optim.AdamW(
        trainable,
        lr=rate,
        betas=(algorithm.adam_beta1, algorithm.adam_beta2),
        eps=algorithm.adam_epsilon,
        weight_decay=0.0,
        fused=True,
    )
    for parameter in trainable:
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()  # zero gradients: allocates the moments, keeps the weights
    optimiser.zero_grad()
    return optimiser


def learn(
    config: RunConfig, models: StartModels, trajectories: list[TokenTrajectory], optimiser: Any
) -> LossResult:
    """Make one update on conversations with random advantages."""
    learner: Any = models.learner
    learner.train(micro_batches.computes_again(learner))
    limit = micro_batches.begin(config.trainer, None)
    with precision(config.policy, learner.device.type):
        batch, settings = _batch(config, models, trajectories, limit)
        result = accumulate_gradient(learner, batch, settings, limit)
    max_norm = config.algorithm.max_grad_norm or math.inf
    torch.nn.utils.clip_grad_norm_(learner.parameters(), max_norm)
    optimiser.step()
    optimiser.zero_grad()
    return result


def _batch(
    config: RunConfig,
    models: StartModels,
    trajectories: list[TokenTrajectory],
    limit: TokenLimit,
) -> tuple[LossBatch, Any]:
    """Return the conversations as a batch, and the settings of the configured loss."""
    stack = remedy_state.begin(config, None)
    count, turns = len(trajectories), max(max(t.row.turn) for t in trajectories)
    advantages = np.random.default_rng(STEP).standard_normal((count, turns))
    untouched, rewarded = np.zeros(count, bool), np.ones(count, bool)
    spread = np.ones(count)  # there are no rewards
    batch = TokenBatch(trajectories, advantages, untouched, 0, rewarded, spread)
    planning = PlanningTokens(models.chat)
    settings = loss_settings(stack, batch, config, STEP, models, planning, limit)
    return LossBatch(
        ids=[t.row.ids for t in trajectories],
        own=[t.row.own for t in trajectories],
        advantage=batch.advantage_lists(),
        old_logp=None,
    ), settings
