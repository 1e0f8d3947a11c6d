"""The work that ranks share: conversations, evaluations, and the gradient of the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from harness.config.run import PolicyConfig, RunConfig
from harness.policy.chat import Chat
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey
from harness.train.engines.engine import Engine
from harness.train.metrics import deaf, evaluate
from harness.train.metrics.evaluate import EpisodeResult
from harness.train.metrics.held_out import Meeting, TurnDraws
from harness.train.objective.language_loss import accumulate, accumulate_gradient
from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings
from harness.train.objective.micro_batches import (
    ShardedOutOfMemory,
    TokenLimit,
    computes_again,
)
from harness.train.objective.own_tokens import own_log_probabilities
from harness.train.rollout.batch import REFINEMENT_STREAM, rng_of, rollout_groups, waves
from harness.train.rollout.conversation import (
    Conversation,
    StartState,
    WaveSpeakers,
    shares,
    take_over,
)
from harness.train.rollout.critiqued_speaker import CritiquedPrefix, CritiquedSpeaker
from harness.train.rollout.curriculum import CurriculumState
from harness.train.rollout.judge_queue import JudgeQueue
from harness.train.rollout.refinement import GroupUniforms
from harness.train.rollout.speaker import LanguageSpeaker, TokenTrajectory, TokenUniformSource
from harness.train.rollout.start_judge import ReplyJudge, StartJudge, judge_of
from harness.train.rollout.uniforms import RolloutUniforms


def precision(policy: PolicyConfig, device: str) -> AbstractContextManager[Any]:
    """Return a context in which forward passes compute in `policy.dtype`; on a CPU in float32."""
    dtype = rounded_to(policy, device)
    return torch.autocast(device, dtype=dtype, enabled=dtype is not None)


def rounded_to(policy: PolicyConfig, device: str) -> torch.dtype | None:
    """Return the dtype that `precision` rounds weights of linear layers to; None for none."""
    dtype: torch.dtype = getattr(torch, policy.dtype)
    return None if dtype == torch.float32 or device == "cpu" else dtype


@dataclass(frozen=True)
class RolloutRequest:
    """A request to draw some of the groups that all ranks draw together."""

    curriculum: CurriculumState
    step: int
    attempt: int
    """Number of earlier draws in this step."""
    groups: tuple[int, ...]
    """Numbers of all groups that are drawn together, on any rank."""
    own: range
    """Indices in `groups` of the groups to draw on this rank."""


@dataclass(frozen=True)
class RefinementRequest:
    """A request to continue refined conversations of a step, at most one per group."""

    step: int
    groups: int
    """Number of groups of the batch."""
    chosen: tuple[int, ...]
    """The group of each conversation."""
    keys: tuple[ConversationKey, ...]
    starts: tuple[StartState, ...]
    so_far: tuple[CritiquedPrefix, ...]

    def some(self, places: range) -> RefinementRequest:
        """Return the request for the conversations at `places`."""
        part = slice(places.start, places.stop)
        parts = self.chosen[part], self.keys[part], self.starts[part], self.so_far[part]
        return RefinementRequest(self.step, self.groups, *parts)


@dataclass(frozen=True)
class SampledConversations:
    """Conversations as texts and as tokens."""

    conversations: list[Conversation]
    trajectories: list[TokenTrajectory]


@dataclass(frozen=True)
class RankResult:
    """A rank's result, and its current limit of tokens at once."""

    value: Any
    most: int | None


@dataclass(frozen=True)
class RankWork:
    """A rank's models and engine, and the work it does with them.

    Results do not depend on the division of work: for each conversation, the numbers of different
    ranks differ only by rounding.
    """

    config: RunConfig
    learner: Any
    judge: Any
    """The start model that scores replies (`loop.start.StartModels`); None for no scores."""
    chat: Chat
    engine: Engine
    limit: TokenLimit = field(default_factory=TokenLimit)
    """The limit of tokens in one pass through the learner."""

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Return a context in which the engine draws with the learner's current weights."""
        self.learner.eval()  # activation checkpointing in train mode would disable the cache
        with self.precision(), self.engine.awake():
            yield

    def precision(self) -> AbstractContextManager[Any]:
        """Return the context of `precision` for this rank's policy and device."""
        return precision(self.config.policy, self.learner.device.type)

    def listen(self) -> None:
        """Take part in the drawing of other ranks without a conversation of its own."""
        with self.engine.speaking():
            pass

    def draw(self, request: RolloutRequest) -> SampledConversations:
        """Draw the conversations of the groups `request.own`."""
        size = self.config.algorithm.group_size
        total = len(request.groups) * size
        rows = range(request.own.start * size, request.own.stop * size)
        uniforms = RolloutUniforms(self.config, request.step, request.attempt, total)
        parts = self._parts(len(rows))
        draws = [uniforms.of(rows[part.start : part.stop]) for part in parts]
        speakers = self._speakers(parts, draws)
        groups = [request.groups[index] for index in request.own]
        with self.engine.speaking():
            conversations = rollout_groups(
                request.curriculum, WaveSpeakers(speakers), request.step, groups
            )
        return SampledConversations(
            conversations, [t for speaker in speakers for t in speaker.trajectories]
        )

    def redraw(self, request: RefinementRequest) -> SampledConversations:
        """Draw the continuations of refined conversations, with trajectories of the whole."""
        rng = rng_of(self.config, request.step, REFINEMENT_STREAM)
        draws = GroupUniforms(rng, request.groups, request.chosen)
        judge = self._start_judge(len(request.starts))
        speaker = CritiquedSpeaker(self.engine, self.chat, self.config.policy, draws, judge)
        speaker.go_on_from(request.so_far)
        users = make(self.config.simulator, self.config.difficulty)
        with self.engine.speaking():
            conversations = take_over(users, speaker, request.keys, request.starts)
        return SampledConversations(conversations, speaker.trajectories)

    def meet(
        self,
        batch: Sequence[Meeting],
        swapped: deaf.Swapped | None,
        size: int,
        watch: evaluate.Watch | None = None,
    ) -> Mapping[Meeting, EpisodeResult]:
        """Return the results of some conversations of an evaluation, `size` at a time; see
        `evaluate.Meet`.
        """
        meet = evaluate.meet_here(self.config, self.held_out_speakers, size)
        with self.engine.speaking():
            return meet(batch, swapped, watch)

    def held_out_speakers(self, meetings: Sequence[Meeting]) -> WaveSpeakers[LanguageSpeaker]:
        """Return the speakers of some held-out conversations, one for each wave."""
        parts = self._parts(len(meetings))
        draws = [TurnDraws(self.config, meetings[part.start : part.stop]) for part in parts]
        return WaveSpeakers(self._speakers(parts, draws))

    def learn(self, batch: LossBatch, settings: LossSettings) -> LossResult:
        """Compute the loss over a batch, with its gradient in the learner's `grad`."""
        self.learner.train(computes_again(self.learner))  # after `awake`'s eval()
        with self.precision():
            return accumulate_gradient(self.learner, batch, settings, self.limit)

    def learn_cut(
        self, model: Any, batch: LossBatch, settings: LossSettings, parts: Sequence[list[int]]
    ) -> LossResult:
        """Compute the loss over a batch in the micro-batches `parts`, with its gradient in the
        `grad` of `model`, whose weights are sharded. Raises ShardedOutOfMemory.
        """
        with self.precision():
            try:
                return accumulate(model, batch, settings, parts)
            except torch.OutOfMemoryError as error:
                sizes = [max((len(batch.ids[i]) for i in part), default=0) for part in parts]
                tokens = max(len(part) * size for part, size in zip(parts, sizes, strict=True))
                problem = f"out of memory with at most {tokens} tokens at once"
                raise ShardedOutOfMemory(f"{problem} ({error})") from error

    def log_probabilities(
        self, ids: Sequence[Sequence[int]], own: Sequence[Sequence[bool]]
    ) -> list[Tensor]:
        """Return the log-probabilities of each conversation's own tokens at the sampling
        temperature.
        """
        with self.precision():
            temperature = self.config.policy.temperature
            return own_log_probabilities(self.learner, ids, own, temperature, self.limit)

    def _parts(self, count: int) -> list[range]:
        """Return the ranges of `count` conversations, one per wave."""
        return shares(count, waves(self.config, count, self.engine.together))

    def _speakers(
        self, parts: Sequence[range], draws: Sequence[TokenUniformSource]
    ) -> list[LanguageSpeaker]:
        """Return a speaker for each wave, whose conversations are one of `parts` of a batch."""
        policy = self.config.policy
        return [
            LanguageSpeaker(self.engine, self.chat, policy, wave_draws, judge)
            for wave_draws, judge in zip(draws, self._judges(parts), strict=True)
        ]

    def _judges(self, parts: Sequence[range]) -> Sequence[ReplyJudge | None]:
        """Return a judge for each wave.

        Waves share one where the engine draws for all of them at once. Otherwise each has its own:
        the first pass of a judge reads a shared prefix once, so with one for all the last digits of
        a score would depend on which wave is first.
        """
        shared = self._start_judge(sum(map(len, parts))) if self.engine.together else None
        if shared is None:
            return [self._start_judge(len(part)) for part in parts]
        queue = JudgeQueue(shared)
        return [queue.of(part) for part in parts]

    def _start_judge(self, count: int) -> StartJudge | None:
        """Return the judge of `count` conversations; None if replies are not scored."""
        return judge_of(self.judge, count, self.config.policy.temperature, self.chat.end)
