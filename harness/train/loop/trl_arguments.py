"""TRL's arguments for a run's config, and a dataset that only counts steps.

Every option that could matter is set, so that changes of TRL's defaults have no effect. TRL only
steps the optimiser; conversations, loss, evaluation, rows and logs are ours, so most options switch
something off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import TrainingArguments

from harness.config.run import RunConfig

NEWER_NAMES = {"activation_checkpointing"}
"""Newer names of gradient_checkpointing; transformers 5.23 knows them, 5.17 does not."""


def arguments(config: RunConfig, scratch: Path) -> dict[str, Any]:
    """Return the arguments of trl.GRPOConfig by name; `scratch`: its output folder."""
    algorithm, trainer = config.algorithm, config.trainer
    return dict(
        output_dir=str(scratch),
        seed=config.seed,
        # The batch: one generation, one optimiser step per pass, no accumulation.
        per_device_train_batch_size=trainer.conversations,
        gradient_accumulation_steps=1,
        steps_per_generation=1,
        num_generations=trainer.conversations,  # TRL takes a batch for one group
        num_iterations=trainer.updates_per_batch,
        max_steps=trainer.steps * trainer.updates_per_batch,
        shuffle_dataset=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        # The loss is ours; these keep TRL from computing anything else.
        loss_type="dapo",
        beta=0.0,
        scale_rewards="none",
        mask_truncated_completions=False,
        importance_sampling_level="token",
        epsilon=algorithm.clip_low,
        epsilon_high=algorithm.clip_high,
        temperature=config.policy.temperature,
        max_completion_length=config.policy.max_turn_tokens * config.most_replies,
        use_vllm=False,
        use_liger_kernel=False,
        disable_dropout=True,
        # The optimiser.
        optim="adamw_torch_fused",
        learning_rate=algorithm.learning_rate,
        lr_scheduler_type="constant",
        warmup_steps=0,
        weight_decay=0.0,
        adam_beta1=algorithm.adam_beta1,
        adam_beta2=algorithm.adam_beta2,
        adam_epsilon=algorithm.adam_epsilon,
        max_grad_norm=algorithm.max_grad_norm,
        # Numbers and devices.
        bf16=False,
        fp16=False,
        tf32=False if trainer.gpus else None,
        gradient_checkpointing=False,
        **dict.fromkeys(NEWER_NAMES & set(TrainingArguments.__dataclass_fields__), False),
        use_cpu=trainer.gpus == 0,
        logging_nan_inf_filter=False,
        # Records are ours.
        logging_strategy="no",
        save_strategy="no",
        eval_strategy="no",
        report_to=[],
        disable_tqdm=True,
        push_to_hub=False,
        log_completions=False,
    )


def dataset(config: RunConfig) -> Dataset:
    """Return a dataset with one row per step, in order; prompts are empty."""
    steps = list(range(1, config.trainer.steps + 1))
    return Dataset.from_dict({"prompt": [""] * len(steps), "step": steps})
