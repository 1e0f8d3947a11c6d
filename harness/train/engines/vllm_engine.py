"""vLLM inside the run's own process, on its GPU. This is the only file that imports vllm.

TRL's VLLMGeneration is not used: it has neither seeds per request nor a choice of precision, and
needs the model in a folder, which a run with random weights does not have.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # weights are loaded by a direct call
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")

import torch
import torch.distributed as dist
from vllm import LLM, SamplingParams
from vllm.distributed.parallel_state import cleanup_dist_env_and_memory
from vllm.sampling_params import RequestOutputKind

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import ConfigError, DeviceError
from harness.train.engines import vllm_model
from harness.train.engines.engine import (
    PromptedSampler,
    TurnRequest,
    TurnSampler,
    at_once,
    in_time,
    plain_model,
    plain_weights,
)
from harness.train.engines.running_turns import RunningTurns
from harness.train.engines.sampler import SampledTurn
from harness.train.engines.turn_group import GroupPeers, TurnGroup
from harness.utils.pending import Pending

STDOUT, STDERR = 1, 2
IN_PARTS = {"distributed_executor_backend": "external_launcher"}
"""Each rank runs its own vLLM with a part of the weights."""


class ColocatedEngine:
    """vLLM on the trainer's GPU. It sleeps during updates if no other run shares the GPU.

    If runs share a GPU, vLLM keeps its memory: waking up would fail an assertion if another process
    had taken memory meanwhile.
    """

    corrected = True

    def __init__(
        self,
        model: Any,
        config: RunConfig,
        on_hang: Callable[[str], None],
        mates: GroupPeers | None = None,
    ) -> None:
        """`on_hang` ends the run. `mates`: the ranks that share vLLM's weights by tensor
        parallelism, in torch's default group; None if this rank has all weights.

        Raises ConfigError if vLLM refuses the model, DeviceError if memory does not suffice.
        """
        self._model, self._on_hang = model, on_hang
        self._deadline_s = config.trainer.engine_deadline_s
        self.sleeps = model.device.type == "cuda" and config.trainer.runs_per_gpu == 1
        folder = vllm_model.folder(model)
        options = _options(model, config, self.sleeps)
        self.together, self._group = mates is None, None
        if mates is not None:
            options |= IN_PARTS | {"tensor_parallel_size": mates.size}
            self._group = TurnGroup(lambda request: self._begin(request)(), mates)
        with _stdout_is_stderr(), self._in_time(), _torchrun_variables():
            try:
                self._llm = LLM(str(folder), **options)
            except (ValueError, RuntimeError, AssertionError) as error:  # vLLM asserts free memory
                raise _start_error(error) from error
        self._running = RunningTurns(self._llm.llm_engine, _sampling, self._in_step)
        if self.sleeps:
            self._llm.sleep(level=2)

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        """Load the weights, then reserve the cache, since loading needs memory too.

        vLLM sleeps at level 2, which keeps neither, since both are replaced on waking up.
        """
        with self._in_time():
            if self.sleeps:
                torch.cuda.empty_cache()
                self._llm.wake_up(tags=["weights"])
            self._take_weights()
            if self.sleeps:
                self._llm.wake_up(tags=["kv_cache"])
            self._llm.reset_prefix_cache()
        yield
        if self.sleeps:
            self._llm.sleep(level=2)

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        return PromptedSampler(self.begin, count, end, temperature)

    def speaking(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._group is None else self._group.speaking()

    def begin(self, request: TurnRequest) -> Pending[list[SampledTurn]]:
        """Begin a turn for each prompt; in a group they are complete on return.

        Raises DeviceError if a prompt does not fit into the cache, and as `TurnGroup.complete`.
        """
        begin = self._begin if self._group is None else at_once(self._group.complete)
        return begin(request)

    def _begin(self, request: TurnRequest) -> Pending[list[SampledTurn]]:
        try:
            return self._running.begin(request)
        except ValueError as error:
            raise DeviceError(
                f"trainer.gpu_memory_share: a conversation must fit into vLLM's cache, {error}"
            ) from error

    def close(self) -> None:
        self._llm.llm_engine.engine_core.shutdown()
        cleanup_dist_env_and_memory()

    def _take_weights(self) -> None:
        """Load the policy's weights into vLLM.

        Raises ConfigError if a weight of vLLM's model has no counterpart in the policy.
        """
        model = self._llm.llm_engine.model_executor.driver_worker.model_runner.model
        loaded = model.load_weights(plain_weights(self._model))
        missing = {name for name, _ in model.named_parameters()} - (loaded or set())
        if loaded is not None and missing:
            raise ConfigError(
                f"trainer.engine: every weight of vLLM's model must come from the policy, got none "
                f"for {min(missing)}; choose trainer.engine=transformers"
            )

    def _in_time(self, waited_s: float = 0.0) -> contextlib.AbstractContextManager[None]:
        return in_time(self._deadline_s, self._on_hang, waited_s)

    @contextlib.contextmanager
    def _in_step(self, waited_s: float) -> Iterator[None]:
        """Return a context in which vLLM draws a token: without autocast, in the remaining time."""
        with self._in_time(waited_s), torch.autocast(self._model.device.type, enabled=False):
            yield


def _options(model: Any, config: RunConfig, sleeps: bool) -> dict[str, Any]:
    """Return vLLM's options; weights are dummies until the policy's are loaded before a turn."""
    trainer, on_gpu = config.trainer, model.device.type == "cuda"
    return {
        "load_format": "dummy",
        "skip_tokenizer_init": True,
        "generation_config": "vllm",
        "dtype": config.policy.dtype,
        "hf_overrides": vllm_model.overrides(engine_choice.installed_vllm()),
        "max_model_len": -1,  # as much as the cache can hold
        "gpu_memory_utilization": trainer.gpu_memory_share / trainer.runs_per_gpu,
        "kv_cache_memory_bytes": _cache_bytes(model, config) if on_gpu else None,
        "enable_prefix_caching": True,
        "enable_sleep_mode": sleeps,
        "logprobs_mode": "processed_logprobs",  # at the sampling temperature
        "seed": config.seed,
    }


def _cache_bytes(model: Any, config: RunConfig) -> int | None:
    """Return the bytes of vLLM's cache on a GPU that runs share; None to let vLLM measure.

    vLLM's measurement of free memory fails if another process frees memory meanwhile. Raises
    DeviceError if the weights leave no memory.
    """
    trainer = config.trainer
    if trainer.runs_per_gpu == 1:
        return None
    total = torch.cuda.get_device_properties(model.device).total_memory
    size: int = getattr(torch, config.policy.dtype).itemsize
    weights = size * sum(p.numel() for p in plain_model(model).parameters())
    cache: int = int(trainer.gpu_memory_share * total / trainer.runs_per_gpu) - weights
    if cache <= 0:
        raise DeviceError(
            f"trainer.gpu_memory_share: vLLM's part must hold the weights, {weights / 1e9:.1f} GB, "
            f"got {trainer.gpu_memory_share:g} of a GPU for {trainer.runs_per_gpu} runs"
        )
    return cache


def _sampling(request: TurnRequest, seed: int) -> SamplingParams:
    return SamplingParams(
        temperature=request.temperature,
        max_tokens=request.limit,
        seed=seed,
        logprobs=0,  # only of the drawn token
        stop_token_ids=[request.end],
        ignore_eos=True,  # a model's own config may name other end tokens
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _start_error(error: Exception) -> ConfigError | DeviceError:
    """Return the error for a model or a memory share that vLLM refused with `error`."""
    reason = " ".join(str(error).split())[:300]
    if "memory" in reason.lower():
        return DeviceError(f"trainer.gpu_memory_share: vLLM must find room to start, got: {reason}")
    return ConfigError(
        f"trainer.engine: vLLM must know this model, got: {reason}; "
        "choose trainer.engine=transformers"
    )


@contextlib.contextmanager
def _torchrun_variables() -> Iterator[None]:
    """Set the variables of torchrun that vLLM reads in a group, only while it starts.

    If they stayed set, the run would look like one started by accelerate. Each rank sees one GPU.
    """
    previous = {name: os.environ.get(name) for name in ("RANK", "LOCAL_RANK")}
    if dist.is_initialized():
        os.environ |= {"RANK": str(dist.get_rank()), "LOCAL_RANK": "0"}
    try:
        yield
    finally:
        for name, value in previous.items():
            os.environ.pop(name, None)
            os.environ |= {} if value is None else {name: value}


@contextlib.contextmanager
def _stdout_is_stderr() -> Iterator[None]:
    """Redirect stdout to stderr, since libraries print to stdout, which is only for events."""
    saved = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        yield
    finally:
        os.dup2(saved, STDOUT)
        os.close(saved)
