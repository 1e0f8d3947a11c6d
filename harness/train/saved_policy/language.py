"""The language model of a run: the weights of a checkpoint, or those that the run began with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from harness.config.run import PolicyConfig, RunConfig
from harness.errors import ConfigError
from harness.policy import huggingface, merged, tiny
from harness.train.engines.engine import Transformers
from harness.train.loop import start as starts
from harness.train.metrics.evaluate import HeldOutUsers
from harness.train.metrics.held_out import Meeting
from harness.train.ranks.work import Work
from harness.train.rollout.speaker import TokenTrajectory
from harness.train.saved_policy.policy import Divergence, Held
from harness.train.saved_policy.words import ModelWords


@dataclass(frozen=True)
class SavedModel:
    """A model that speaks by itself, whichever engine drew its run's conversations."""

    config: RunConfig
    work: Work

    @classmethod
    def of(cls, config: RunConfig, weights: Path | None, start_sum: str | None) -> SavedModel:
        """Load the model. See `loading.load`."""
        config = _here(config)
        torch.set_num_threads(config.trainer.threads)
        device = starts.device_of(config)
        models = starts.load(config, device, learns=False)
        if None not in (start_sum, models.sum) and models.sum != start_sum:
            raise ConfigError(
                f"policy.model: {models.name} must be the model that the run began with, sha256 "
                f"{str(start_sum)[:12]}, got {str(models.sum)[:12]}"
            )
        learner = models.learner
        if weights is not None:
            if not config.policy.lora_rank:  # both at once may be more than there is room for
                models, learner = replace(models, learner=None), None
            learner = _trained(config.policy, learner, weights, device)
        engine = Transformers(learner)
        return cls(config, Work(config, learner, models.judge, models.chat, engine))

    @cached_property
    def words(self) -> ModelWords:
        return ModelWords(self.work.learner, self.work.chat, self.work.engine, self.config.policy)

    @contextmanager
    def speaking(self) -> Iterator[None]:
        with torch.no_grad(), self.work.awake():
            yield

    def rollout(self, users: HeldOutUsers, some: Sequence[Meeting]) -> list[Held]:
        speakers = self.work.held_out_speakers(some)
        conversations = users.meet(some, speakers)
        moved = [_moved(t) for speaker in speakers.speakers for t in speaker.trajectories]
        return [Held(*one) for one in zip(some, conversations, moved, strict=True)]


def _here(config: RunConfig) -> RunConfig:
    """The config for one process of this machine: with one GPU, or without where there is none."""
    config = config.on_ranks(1)
    if config.trainer.gpus and torch.cuda.is_available():
        return config
    policy = replace(config.policy, dtype="float32")
    return replace(config, policy=policy, trainer=replace(config.trainer, gpus=0))


def _trained(policy: PolicyConfig, learner: Any, saved: Path, device: str) -> Any:
    """The learner with the weights that a checkpoint saved; of adapters `learner` has the rest."""
    if policy.kind == "tiny":
        return tiny.load_model(saved, device)
    if policy.lora_rank:
        merged.put(learner, saved)
        return learner
    return huggingface.load_model(policy, saved, device)


def _moved(trajectory: TokenTrajectory) -> Divergence:
    differences = sum(trajectory.logp) - sum(trajectory.start_logp)
    return Divergence(differences, len(trajectory.logp))
