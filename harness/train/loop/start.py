"""What a run of a language model starts from: who learns, and the frozen copy that judges."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch

from harness.config.run import PolicyConfig, RunConfig
from harness.errors import DeviceError
from harness.policy import fetch, huggingface, tiny
from harness.policy.chat import Chat, chat_of
from harness.records import manifest
from harness.train.loop import memory
from harness.train.warm_start import start_cache, start_model


@dataclass(frozen=True)
class Start:
    """The models of a run."""

    name: str
    tokenizer: Any
    chat: Chat
    learner: Any
    judge: Any
    """The same weights, frozen: what a reply's likelihood is taken under."""
    sum: str | None = None
    """sha256 over the files that these were loaded from; None where there are none."""


def load(config: RunConfig, device: str) -> Start:
    """Load, download or build the policy's models.

    Raises ConfigError if there is no such model, or its chat template will not do, and DeviceError
    if it does not fit on the GPU.
    """
    if config.policy.kind == "tiny":
        return _tiny(config.policy, device)
    return _hugging_face(config, device)


def device_of(config: RunConfig) -> str:
    """Raises DeviceError, before anything is loaded, where torch sees no GPU for a run with one."""
    if not config.trainer.gpus:
        return "cpu"
    if not torch.cuda.is_available():
        rule = "must be 0 where torch sees no GPU"
        raise DeviceError(f"trainer.gpus: {rule}, got {config.trainer.gpus}; see `harness doctor`")
    return "cuda"


def precision(policy: PolicyConfig, device: str) -> AbstractContextManager[Any]:
    """Forward passes within compute in `policy.dtype`."""
    dtype = getattr(torch, policy.dtype)
    return torch.autocast(device, dtype=dtype, enabled=dtype != torch.float32)


def _tiny(policy: PolicyConfig, device: str) -> Start:
    folder = start_model.ensure(policy)
    tokenizer = tiny.load_tokenizer(folder)
    model, judge = tiny.load_model(folder, device), tiny.load_model(folder, device)
    loaded = start_cache.sum_of(folder)
    judge.requires_grad_(False)
    return Start(folder.name, tokenizer, chat_of(tokenizer), model, judge, loaded)


def _hugging_face(config: RunConfig, device: str) -> Start:
    policy = config.policy
    folder = fetch.ensure(policy)
    tokenizer = huggingface.load_tokenizer(policy, folder)
    chat = chat_of(tokenizer, policy.system_prompt, policy.thinking)
    if device == "cuda":
        free_bytes, total_bytes = torch.cuda.mem_get_info()
        parts = memory.with_engine(memory.estimate_bytes(config, folder), config, total_bytes)
        print(memory.told(parts), file=sys.stderr)
        memory.check(parts, free_bytes)
    judge = huggingface.load_model(policy, folder, device).requires_grad_(False)
    huggingface.check_vocabulary(policy, tokenizer, judge)
    model = huggingface.load_model(policy, folder, device)
    if policy.lora_rank:
        model = huggingface.with_adapters(policy, model)
    if policy.gradient_checkpointing:
        huggingface.quiet()
        model.gradient_checkpointing_enable({"use_reentrant": False})
    loaded = manifest.digest(folder, fetch.loaded(folder)) if folder else None
    return Start(_name(policy), tokenizer, chat, model, judge, loaded)


def _name(policy: PolicyConfig) -> str:
    if policy.init == "random":
        return f"random {policy.architecture} of {policy.layers} layers of {policy.hidden_size}"
    return f"{policy.model}@{policy.revision}" if policy.revision else policy.model
