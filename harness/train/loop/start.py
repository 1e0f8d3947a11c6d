"""The start of a language model's run: the model that learns, the one that judges, the engine."""

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
from harness.train.engines.engine import Engine, Polled, Transformers
from harness.train.engines.turn_group import Mates
from harness.train.loop.session import Session
from harness.train.memory import conversation_memory, estimate
from harness.train.objective import registry
from harness.train.warm_start import start_model
from harness.utils import process, safe_text

IN_FLOAT32 = "policy.dtype: float32 is used on a CPU, where {} is slower (trainer.gpus=0)"


@dataclass(frozen=True)
class StartModels:
    """The models of a run."""

    name: str
    tokenizer: Any
    chat: Chat
    learner: Any
    judge: Any
    """The model of the weights that a run starts from: a reply's likelihood is taken under them.
    A frozen copy, or the learner itself where only its adapters learn, to be read without them.
    None where nobody reads it.
    """
    sum: str | None = None
    """sha256 over the files that they were loaded from; None if there are none."""


def build(session: Session) -> None:
    """Build the start model of policy=tiny where there is none; a stop request ends that."""
    policy = session.config.policy
    if policy.kind == "tiny" and not start_model.is_built(policy):
        with session.leaving.at_once("while the start model was built"):
            start_model.ensure(policy)


def load(config: RunConfig, device: str, learns: bool = True) -> StartModels:
    """Load, download or build the policy's models; `learns`: whether they are to be trained.

    Raises ConfigError if there is no such model, or its chat template will not do, and DeviceError
    if it does not fit on the GPU.
    """
    if device == "cpu" and config.policy.dtype != "float32":
        print(IN_FLOAT32.format(config.policy.dtype), file=sys.stderr)
        config = replace(config, policy=replace(config.policy, dtype="float32"))
    return load_as(config, device, learns)


def load_as(config: RunConfig, device: str, learns: bool = True) -> StartModels:
    """As `load`, in the data type of the config on every device."""
    if config.policy.kind == "tiny":
        return _tiny(config, device)
    return _hugging_face(config, device, learns)


def device_of(config: RunConfig) -> str:
    """'cpu' or 'cuda'. Raises DeviceError if the run needs a GPU and torch sees none."""
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
    loaded = start_model.sum_of(folder)
    return StartModels(folder.name, tokenizer, chat_of(tokenizer), model, judge, loaded)


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
    most = conversation_memory.most_tokens(config, turns, prompt_tokens)
    forward_check.check(policy, model, chat, most + conversation_memory.told_tokens(config))
    if policy.lora_rank:
        model = huggingface.with_adapters(policy, model)
    judge = None
    if registry.reads_start_model(config):
        judge = model if policy.lora_rank else _frozen(policy, folder, device)
    if policy.gradient_checkpointing:
        huggingface.quiet()
        model.gradient_checkpointing_enable({"use_reentrant": False})
    loaded = manifest.digest(folder, model_files.loaded(folder)) if folder else None
    return StartModels(_name(policy), tokenizer, chat, model, judge, loaded)


def _check_memory(config: RunConfig, folder: Path | None, prompt_tokens: int, learns: bool) -> None:
    """Print the estimate; warn of one above what is free. Raises DeviceError far above it."""
    free_bytes, total_bytes = torch.cuda.mem_get_info()
    part_bytes = total_bytes // config.trainer.runs_per_gpu
    needed: Sequence[estimate.Phase] = [estimate.of_reading(config, folder, prompt_tokens)]
    if learns:
        needed = estimate.phases(config, folder, part_bytes, prompt_tokens)
    print(estimate.summary(needed), file=sys.stderr)
    warning = estimate.check(needed, min(free_bytes, part_bytes))
    if warning is not None:
        safe_text.say(warning)


def _frozen(policy: PolicyConfig, folder: Path | None, device: str) -> Any:
    """A copy of the weights that a run starts from."""
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
    end_hung: Callable[[str], None],
    scratch: Path,
    mates: Mates | None = None,
) -> Iterator[Engine]:
    """A run's engine, which has loaded the weights and drawn a test turn; closed in the end.

    `note_entropies`: record the entropy at each token; vLLM cannot. `poll`: called between tokens
    or turns, raises to stop; `end_hung`: ends the process, with the reason; `scratch` and `mates`:
    see `engine_of`. Raises ConfigError if vLLM refuses this model, StoppedError if a server is out
    of reach.
    """
    if engine_choice.chosen(config) == engine_choice.TRANSFORMERS:
        yield Transformers(start.learner, note_entropies, poll)
        return
    engine = engine_of(config, start, end_hung, scratch, mates)
    try:
        with engine.awake():
            _probe(engine, start.chat.end, config.policy.temperature)
        yield Polled(engine, poll)
    finally:
        engine.close()


def engine_of(
    config: RunConfig,
    start: StartModels,
    end_hung: Callable[[str], None],
    scratch: Path,
    mates: Mates | None = None,
) -> Engine:
    """The engine that a run's config asks for; vLLM is imported only here.

    `end_hung` is called, from a thread, with the reason where vLLM takes too long; `scratch`: a
    folder that one run has, for adapters that a server reads; `mates`: the ranks that have vLLM's
    weights in parts, None for one that has them whole.
    """
    if engine_choice.chosen(config) == engine_choice.TRANSFORMERS:
        return Transformers(start.learner)
    if engine_choice.chosen(config) == engine_choice.COLOCATED:
        from harness.train.engines.vllm_engine import Colocated

        return Colocated(start.learner, config, end_hung, mates)
    if engine_choice.chosen(config) == engine_choice.ADAPTERS:
        from harness.train.engines.vllm_adapters import Adapted

        return Adapted(start.learner, config, start.chat, scratch / "adapters", end_hung)
    from harness.train.engines.vllm_server import Served

    return Served(start.learner, config, end_hung)


def _probe(engine: Engine, end: int, temperature: float) -> None:
    """Draw a turn: an engine can pass a health check and draw nothing (vllm issue 36451)."""
    uniforms = torch.full((1, PROBE_TOKENS), 0.5, dtype=torch.float64)
    engine.sampler(1, end, temperature).speak([0], [[end]], uniforms)
