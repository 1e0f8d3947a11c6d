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
from harness.train.metrics.evaluate import Result
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
    InWaves,
    StartState,
    shares,
    take_over,
)
from harness.train.rollout.critiqued_speaker import Begun, CritiquedSpeaker
from harness.train.rollout.curriculum import CurriculumState
from harness.train.rollout.refinement import GroupUniforms
from harness.train.rollout.speaker import LanguageSpeaker, TokenTrajectory, Uniforms
from harness.train.rollout.uniforms import RolloutUniforms


def precision(policy: PolicyConfig, device: str) -> AbstractContextManager[Any]:
    """A context in which forward passes compute in `policy.dtype`; on a CPU in float32."""
    dtype = rounded_to(policy, device)
    return torch.autocast(device, dtype=dtype, enabled=dtype is not None)


def rounded_to(policy: PolicyConfig, device: str) -> torch.dtype | None:
    """The data type that `precision` rounds weights of linear layers to; None for none."""
    dtype: torch.dtype = getattr(torch, policy.dtype)
    return None if dtype == torch.float32 or device == "cpu" else dtype


@dataclass(frozen=True)
class Draw:
    """Some of the groups that are drawn at once."""

    curriculum: CurriculumState
    step: int
    attempt: int
    """How often groups of this step were drawn before."""
    groups: tuple[int, ...]
    """The numbers of all that are drawn at once, whoever draws them."""
    own: range
    """Places in `groups` of those to draw."""


@dataclass(frozen=True)
class Redraw:
    """Conversations of a step that are spoken again at once, one of a group at most."""

    step: int
    groups: int
    """Of the batch."""
    chosen: tuple[int, ...]
    """The group of each conversation."""
    keys: tuple[ConversationKey, ...]
    starts: tuple[StartState, ...]
    so_far: tuple[Begun, ...]

    def some(self, own: range) -> Redraw:
        """Those at the places `own`."""
        at = slice(own.start, own.stop)
        parts = self.chosen[at], self.keys[at], self.starts[at], self.so_far[at]
        return Redraw(self.step, self.groups, *parts)


@dataclass(frozen=True)
class Drawn:
    """Conversations in words and in tokens."""

    conversations: list[Conversation]
    trajectories: list[TokenTrajectory]


@dataclass(frozen=True)
class Limited:
    """What a rank has computed, and how many tokens of a batch it reads at once by now."""

    value: Any
    most: int | None


@dataclass(frozen=True)
class Work:
    """A rank's models and engine, and what it does with them.

    What it returns does not depend on how the work is shared: conversation by conversation, its
    numbers differ from those of another rank by rounding alone.
    """

    config: RunConfig
    learner: Any
    judge: Any
    """See `loop.start.StartModels`; None to leave its judgement out."""
    chat: Chat
    engine: Engine
    limit: TokenLimit = field(default_factory=TokenLimit)
    """How much of a batch passes through the learner at once."""

    @contextmanager
    def awake(self) -> Iterator[None]:
        """A context in which conversations are drawn, with the learner's current weights."""
        self.learner.eval()  # where memory is saved in training, no keys and values would be kept
        with self.precision(), self.engine.awake():
            yield

    def precision(self) -> AbstractContextManager[Any]:
        """See `precision`."""
        return precision(self.config.policy, self.learner.device.type)

    def listen(self) -> None:
        """Hold no conversation while other ranks do."""
        with self.engine.speaking():
            pass

    def draw(self, asked: Draw) -> Drawn:
        """The conversations of the groups `asked.own`."""
        size = self.config.algorithm.group_size
        whole, rows = len(asked.groups) * size, range(asked.own.start * size, asked.own.stop * size)
        speakers = []
        for part in self._parts(len(rows)):
            mine = rows[part.start : part.stop]
            draws = RolloutUniforms(self.config, asked.step, asked.attempt, whole, mine)
            speakers.append(self._speaker(draws))
        groups = [asked.groups[place] for place in asked.own]
        with self.engine.speaking():
            conversations = rollout_groups(asked.curriculum, InWaves(speakers), asked.step, groups)
        return Drawn(conversations, [t for speaker in speakers for t in speaker.trajectories])

    def redraw(self, asked: Redraw) -> Drawn:
        """What becomes of conversations that are spoken again; trajectories hold all of each."""
        rng = rng_of(self.config, asked.step, REFINEMENT_STREAM)
        draws = GroupUniforms(rng, asked.groups, asked.chosen)
        policy = self.config.policy
        speaker = CritiquedSpeaker(self.engine, self.chat, policy, draws, self.judge)
        speaker.go_on_from(asked.so_far)
        users = make(self.config.simulator, self.config.difficulty)
        with self.engine.speaking():
            conversations = take_over(users, speaker, asked.keys, asked.starts)
        return Drawn(conversations, speaker.trajectories)

    def meet(
        self,
        some: Sequence[Meeting],
        instead: deaf.Swapped | None,
        size: int,
        watch: evaluate.Watch | None = None,
    ) -> Mapping[Meeting, Result]:
        """The results of some conversations of an evaluation, `size` at a time; see
        `evaluate.Meet`.
        """
        meet = evaluate.meet_here(self.config, self.held_out_speakers, size)
        with self.engine.speaking():
            return meet(some, instead, watch)

    def held_out_speakers(self, held: Sequence[Meeting]) -> InWaves[LanguageSpeaker]:
        """The speakers of some held-out conversations, one for each wave."""
        parts = self._parts(len(held))
        draws = [TurnDraws(self.config, held[part.start : part.stop]) for part in parts]
        return InWaves([self._speaker(drawn) for drawn in draws])

    def learn(self, batch: LossBatch, settings: LossSettings) -> LossResult:
        """Put the gradient of the loss over a batch into the learner's `grad`."""
        self.learner.train(computes_again(self.learner))  # after `awake`'s eval()
        with self.precision():
            return accumulate_gradient(self.learner, batch, settings, self.limit)

    def learn_cut(
        self, model: Any, batch: LossBatch, settings: LossSettings, parts: Sequence[list[int]]
    ) -> LossResult:
        """Put the gradient of the loss over a batch into the `grad` of `model`, whose weights are
        sharded, in the micro-batches `parts`. Raises ShardedOutOfMemory.
        """
        with self.precision():
            try:
                return accumulate(model, batch, settings, parts)
            except torch.OutOfMemoryError as error:
                sizes = [max((len(batch.ids[i]) for i in part), default=0) for part in parts]
                most = max(len(part) * size for part, size in zip(parts, sizes, strict=True))
                said = f"out of memory with at most {most} tokens at once"
                raise ShardedOutOfMemory(f"{said} ({error})") from error

    def log_probabilities(
        self, ids: Sequence[Sequence[int]], own: Sequence[Sequence[bool]]
    ) -> list[Tensor]:
        """Log-probabilities of each conversation's own tokens at the sampling temperature."""
        with self.precision():
            temperature = self.config.policy.temperature
            return own_log_probabilities(self.learner, ids, own, temperature, self.limit)

    def _parts(self, count: int) -> list[range]:
        """The waves of `count` conversations."""
        return shares(count, waves(self.config, count, self.engine.together))

    def _speaker(self, draws: Uniforms) -> LanguageSpeaker:
        return LanguageSpeaker(self.engine, self.chat, self.config.policy, draws, self.judge)
