"""TRL's GRPOTrainer with our conversations and losses. The loop imports TRL only in this file.

TRL owns the loop, the optimiser, clipping and checkpoints. Our code enters at three places:
`rollout_func` (conversations, with `env_mask` over the policy's own tokens), the loss, with our
advantages (those that TRL computes are not used), and the gradient check before the optimiser's
step. If weights are sharded (trainer.shard), the optimiser gets rank 0's shards and clipping is
ours.

This file works around the following behaviour of TRL 1.16:

* Its checkpoints lack its `_step` counter and buffered inputs, so ours are only saved after whole
  batches.
* Its sampler forgets the epoch on resume, so the dataset has one row per step and is read once.
* An `env_mask` that is too short is silently padded with ones, so lengths are checked
  (`trl_batches.py`).
* Its fused head scores every position and needs a buffer of 537 MB on a CPU, so the method that
  calls it is overridden.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")  # TRL imports vLLM if it is installed
os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")

import torch
from torch import Tensor
from transformers import PrinterCallback, TrainerCallback
from transformers.trainer import SCHEDULER_NAME, TRAINING_ARGS_NAME
from trl import GRPOConfig, GRPOTrainer

from harness.config.run import RunConfig
from harness.policy import huggingface
from harness.policy.tiny import saving
from harness.records import atomic, checkpoints
from harness.train.loop import trl_arguments
from harness.train.loop.checkpoint_copy import CheckpointCopy
from harness.train.loop.saving import Fill
from harness.train.loop.trl_batches import RolloutBatch
from harness.train.objective.loss_batch import LossBatch
from harness.train.ranks.team import Team


class Learner(Protocol):
    """The work of a run around TRL's updates; implemented in `harness.train.loop.language`."""

    team: Team
    """Computes log-probabilities and gradients."""

    def rollout(self, step: int) -> RolloutBatch:
        """Draw the conversations of `step` with the current weights."""
        ...

    def learn(self, batch: LossBatch) -> float:
        """Write the gradient of the loss over a batch to the parameters' `grad`; return the loss.

        The conversations of `batch` are in the order of `rollout`.
        """
        ...

    def check_gradient(self, norm: float) -> None:
        """Called before each optimiser step. Raises DivergedError to prevent it."""
        ...

    def finish(self, step: int) -> None:
        """Called after the updates of `step`. May raise StoppedError."""
        ...


class ConversationTrainer(GRPOTrainer):  # type: ignore[misc]
    """A GRPOTrainer whose samples are whole conversations."""

    def __init__(self, learner: Learner, is_sharded: bool, **arguments: Any) -> None:
        self._learner, self._is_to_be_sharded = learner, is_sharded
        self._copying: CheckpointCopy | None = None
        super().__init__(rollout_func=_rollout, reward_funcs=_reward, **arguments)
        self.remove_callback(PrinterCallback)
        self.add_callback(_EndOfStep(self))

    def save(self, folder: Path) -> None:
        """Write weights, optimiser, scheduler and random state below `folder`. Raises OSError."""
        with atomic.pinned(folder) as pinned:
            self.args.output_dir = str(pinned)
            with saving(), self._learner.team.exact():
                self._save_checkpoint(self.model, trial=None)
            (pinned / f"checkpoint-{self.state.global_step}").rename(pinned / checkpoints.MODEL)

    def copy_state(self) -> Fill:
        """Copy what `save` would write to CPU memory; return a function that writes the copy."""
        copy = self._copying = CheckpointCopy()
        try:
            exact = self._learner.team.exact()
            with tempfile.TemporaryDirectory() as folder, saving(), exact:
                self.args.output_dir = folder
                self._save_checkpoint(self.model, trial=None)
                copy.take_files(Path(folder) / f"checkpoint-{self.state.global_step}")
        finally:
            self._copying = None
        return partial(copy.write, self.model)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Write weights, tokenizer and arguments; while copying, do not write the weights."""
        if self._copying is None:
            super()._save(output_dir, state_dict)
            return
        folder = Path(output_dir or self.args.output_dir)
        folder.mkdir()
        self._copying.take_weights(self.model, self._learner.team.is_sharded)
        self.processing_class.save_pretrained(folder)
        torch.save(self.args, folder / TRAINING_ARGS_NAME)

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        """Write both; while copying, write only the scheduler."""
        if self._copying is None:
            super()._save_optimizer_and_scheduler(output_dir)
            return
        self._copying.take_optimiser(self.optimizer, self._learner.team.is_sharded)
        torch.save(self.lr_scheduler.state_dict(), Path(output_dir) / SCHEDULER_NAME)

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Do nothing: a checkpoint is part of a run folder, which describes it."""

    def rollout(self) -> dict[str, Any]:
        """Return the conversations of the current step in the format of `rollout_func`."""
        self._batch = self._learner.rollout(self._rows[0]["step"])
        return self._batch.to_trl()

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._rows = inputs
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        device = batch["advantages"].device
        batch["number"] = torch.arange(len(self._batch.rows), device=device)
        self._metrics["train"].clear()
        return batch

    def _compute_loss(self, model: Any, inputs: Mapping[str, Any]) -> Tensor:
        """Accumulate the gradient; return a loss whose `backward`, called by TRL, does nothing."""
        value = self._learner.learn(self._batch.loss_batch(inputs))
        return torch.tensor(value, device=model.device, requires_grad=True)

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, **_: Any
    ) -> tuple[Tensor, None, None]:
        """Return the log-probabilities of own tokens, 0 elsewhere, shape (rows, kept)."""
        ids = [
            row[mask.bool()].tolist() for row, mask in zip(input_ids, attention_mask, strict=True)
        ]
        logps = self._learner.team.log_probabilities(ids, self._batch.own)
        padded = input_ids.new_zeros(len(ids), logits_to_keep, dtype=torch.float32)
        self._batch.fill_in(padded, logps)
        return padded, None, None

    def create_optimizer(self, model: Any = None) -> Any:
        """Return the optimiser; with sharded weights it holds rank 0's shards."""
        if not self._is_to_be_sharded:
            return super().create_optimizer(model)
        create = super().create_optimizer
        return self._learner.team.shard(lambda parts: create(parts))

    def _clip_grad_norm(self, model: Any) -> Any:
        norm = self._learner.team.clip_gradient(self.args.max_grad_norm)
        return super()._clip_grad_norm(model) if norm is None else norm

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        """Let the learner check the gradient before the optimiser uses it."""
        if grad_norm is None:  # not computed if algorithm.max_grad_norm=0
            grad_norm = self._learner.team.clip_gradient(float("inf"))
        norm = super()._get_grad_norm(model, grad_norm)
        self._learner.check_gradient(float(norm))
        return norm

    def finish(self, updates: int) -> None:
        """Called after every update. The last one on a batch ends the step."""
        if updates % self.num_iterations == 0:
            self._learner.finish(updates // self.num_iterations)
        else:
            self._learner.team.share_weights()


class _EndOfStep(TrainerCallback):  # type: ignore[misc]
    def __init__(self, trainer: ConversationTrainer) -> None:
        self._trainer = trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._trainer.finish(state.global_step)


def make_trainer(
    model: Any, tokenizer: Any, config: RunConfig, learner: Learner, scratch: Path
) -> ConversationTrainer:
    """Return a trainer for the whole run; only `save` writes to `scratch`."""
    huggingface.quiet()
    return ConversationTrainer(
        learner,
        config.trainer.shard != "none",
        model=model,
        args=GRPOConfig(**trl_arguments.arguments(config, scratch)),
        train_dataset=trl_arguments.dataset(config),
        processing_class=tokenizer,
    )


def resume_point(checkpoint: Path | None) -> str | None:
    """Return the argument of `train(resume_from_checkpoint=...)`; None for a fresh run."""
    return None if checkpoint is None else str(checkpoint / checkpoints.MODEL)


def _rollout(prompts: Sequence[Any], trainer: ConversationTrainer) -> dict[str, Any]:
    return trainer.rollout()


def _reward(conversation_reward: list[float], **_: Any) -> list[float]:
    return conversation_reward
