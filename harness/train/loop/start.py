"""The start of a language model's run: load the learner and the start model, start the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from harness.config import engine_choice
from harness.config.run import PolicyConfig, RunConfig
from harness.errors import DeviceError
from harness.policy import huggingface, model_files, tiny
from harness.policy.chat import Chat, chat_of
from harness.records import manifest
from harness.train.engines import forward_check
from harness.train.engines.engine import Engine, PollingEngine, TransformersEngine
from harness.train.engines.turn_group import GroupPeers
from harness.train.loop.session import Session
from harness.train.memory import conversation_memory, estimate
from harness.train.objective import registry
from harness.train.warm_start import start_model
from harness.utils import process, safe_text

IN_FLOAT32 = "policy.dtype: float32 is used on a CPU, where {} is not faster (trainer.gpus=0)"


@dataclass(frozen=True)
class StartModels:
    """The models of a run at its start."""

    name: str
    tokenizer: Any
    chat: Chat
    learner: Any
    judge: Any
    """The start model, under which replies are scored: a frozen copy, or the learner itself if only
    adapters are trained (it is then read with adapters switched off). None if no reply is scored.
    """
    sum: str | None = None
    """sha256 over the files that the models were loaded from; None if there are none."""


def build(session: Session) -> None:
    """Build the start model of policy=tiny unless it exists. A stop request ends the build."""
    policy = session.config.policy
    if policy.kind == "tiny" and not start_model.is_built(policy):
        with session.stop_handlers.at_once("while the start model was built"):
            start_model.ensure(policy)


def load(config: RunConfig, device: str, learns: bool = True) -> StartModels:
    """Load, download or build the policy's models; `learns`: whether they are to be trained.

    Raises ConfigError if the model does not exist or its chat template cannot be used, and
    DeviceError if it does not fit on the GPU.
    """
    if device == "cpu" and config.policy.dtype != "float32":
        print(IN_FLOAT32.format(config.policy.dtype), file=sys.stderr)
        config = replace(config, policy=replace(config.policy, dtype="float32"))
    return load_as(config, device, learns)


def load_as(config: RunConfig, device: str, learns: bool = True) -> StartModels:
    """Load as `load` does, in the data type of the config on every device."""
    if config.policy.kind == "tiny":
        return _tiny(config, device)
    return _hugging_face(config, device, learns)


def device_of(config: RunConfig) -> str:
    """Return 'cpu' or 'cuda'. Raises DeviceError if the run needs a GPU and torch sees none."""
    if not config.trainer.gpus:
        return "cpu"
    if not torch.cuda.is_available():
        rule = "must be 0 where torch sees no GPU"
        raise DeviceError(f"trainer.gpus: {rule}, got {config.trainer.gpus}; see `harness doctor`")
    return "cuda"


def _tiny(config: RunConfig, device: str) -> StartModels:
    folder = start_model.ensure(config.policy)
    tokenizer = tiny.load_tokenizer(folder)
    model, judge = tiny.load_model(folder, device), None
    if registry.reads_start_model(config):
        judge = tiny.load_model(folder, device).requires_grad_(False)
    digest = start_model.sum_of(folder)
    return StartModels(folder.name, tokenizer, chat_of(tokenizer), model, judge, digest)


def _hugging_face(config: RunConfig, device: str, learns: bool) -> StartModels:
    policy = config.policy
    if device == "cpu":
        process.return_large_blocks()
    folder = model_files.ensure(policy)
    tokenizer = huggingface.load_tokenizer(policy, folder)
    chat = chat_of(tokenizer, policy.system_prompt, policy.thinking)
    if device == "cuda":
        _check_memory(config, folder, len(chat.opening("")), learns)
    model = huggingface.load_model(policy, folder, device)
    huggingface.check_vocabulary(policy, tokenizer, model)
    turns, prompt_tokens = conversation_memory.most_turns(config), len(chat.opening(""))
    longest = conversation_memory.most_tokens(config, turns, prompt_tokens)
    forward_check.check(policy, model, chat, longest + conversation_memory.told_tokens(config))
    if policy.lora_rank:
        model = huggingface.with_adapters(policy, model)
    judge = None
    if registry.reads_start_model(config):
        judge = model if policy.lora_rank else _frozen_copy(policy, folder, device)
    if policy.gradient_checkpointing:
        huggingface.quiet()
        model.gradient_checkpointing_enable({"use_reentrant": False})
    digest = manifest.digest(folder, model_files.model_file_names(folder)) if folder else None
    return StartModels(_name(policy), tokenizer, chat, model, judge, digest)


def _check_memory(config: RunConfig, folder: Path | None, prompt_tokens: int, learns: bool) -> None:
    """Print the memory estimate; warn or raise DeviceError if too little memory is free."""
    free_bytes, total_bytes = torch.cuda.mem_get_info()
    part_bytes = total_bytes // config.trainer.runs_per_gpu
    phases: Sequence[estimate.Phase] = [estimate.of_reading(config, folder, prompt_tokens)]
    if learns:
        phases = estimate.phases(config, folder, part_bytes, prompt_tokens)
    print(estimate.summary(phases), file=sys.stderr)
    warning = estimate.check(phases, min(free_bytes, part_bytes))
    if warning is not None:
        safe_text.say(warning)


def _frozen_copy(policy: PolicyConfig, folder: Path | None, device: str) -> Any:
    """Return a frozen copy of the start model."""
    return huggingface.load_model(policy, folder, device).requires_grad_(False)


def _name(policy: PolicyConfig) -> str:
    if policy.init == "random":
        return f"random {policy.architecture} of {policy.layers} layers of {policy.hidden_size}"
    return f"{policy.model}@{policy.revision}" if policy.revision else policy.model


PROBE_TOKENS = 2


@contextmanager
def running_engine(
    config: RunConfig,
    start: StartModels,
    note_entropies: bool,
    poll: Callable[[], None],
    on_hang: Callable[[str], None],
    scratch: Path,
    mates: GroupPeers | None = None,
) -> Iterator[Engine]:
    """Start a run's engine and close it at the end. vLLM has drawn a test turn by then.

    `note_entropies`: record the entropy at each token, which vLLM cannot do. `poll`: called between
    tokens or turns; may raise to stop. `on_hang`: ends the process for the given reason. `scratch`
    and `mates`: see `engine_of`. Raises ConfigError if vLLM refuses this model and StoppedError if
    a server is out of reach.
    """
    if engine_choice.engine_of(config) == engine_choice.TRANSFORMERS:
        yield TransformersEngine(start.learner, note_entropies, poll)
        return
    engine = engine_of(config, start, on_hang, scratch, mates)
    try:
        with engine.awake():
            _probe(engine, start.chat.end, config.policy.temperature)
        yield PollingEngine(engine, poll)
    finally:
        engine.close()


def engine_of(
    config: RunConfig,
    start: StartModels,
    on_hang: Callable[[str], None],
    scratch: Path,
    mates: GroupPeers | None = None,
) -> Engine:
    """Return the engine that the config asks for. Only this function imports vLLM.

    `on_hang`: called from a thread, with the reason, if vLLM takes too long. `scratch`: a folder
    of this run alone, for adapters that a server reads. `mates`: the ranks that share vLLM's
    tensor-parallel weights; None if this rank has all weights.
    """
    if engine_choice.engine_of(config) == engine_choice.TRANSFORMERS:
        return TransformersEngine(start.learner)
    if engine_choice.engine_of(config) == engine_choice.COLOCATED:
        from harness.train.engines.vllm_engine import ColocatedEngine

        return ColocatedEngine(start.learner, config, on_hang, mates)
    if engine_choice.engine_of(config) == engine_choice.ADAPTERS:
        from harness.train.engines.vllm_adapters import AdapterEngine

        return AdapterEngine(start.learner, config, start.chat, scratch / "adapters", on_hang)
    from harness.train.engines.vllm_server import ServedEngine

    return ServedEngine(start.learner, config, on_hang)


def _probe(engine: Engine, end: int, temperature: float) -> None:
    """Draw a test turn: an engine can pass a health check and draw nothing (vllm issue 36451)."""
    uniforms = torch.full((1, PROBE_TOKENS), 0.5, dtype=torch.float64)
    engine.sampler(1, end, temperature).speak([0], [[end]], uniforms)
