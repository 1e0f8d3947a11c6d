"""Measures a policy on this machine's device: precision, engine, memory and speed.

The order keeps the measurements independent: first memory and speed, with only a run's models
loaded; then the engine after one update; last the precision, for which the model is loaded again in
float32.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.policy import huggingface, model_files, tiny
from harness.train.engines.engine import Engine
from harness.train.loop import device_errors, start
from harness.train.loop.start import StartModels
from harness.train.memory import estimate
from harness.train.objective.own_tokens import own_entropies, own_log_probabilities
from harness.train.ranks.work import precision
from harness.train.rollout.speaker import TokenTrajectory
from harness.train.trial.results import (
    EngineGap,
    Gpu,
    PhaseMemory,
    Precision,
    Trial,
    TrialSize,
)
from harness.train.trial.step import (
    CudaMeter,
    MeasuredPhase,
    Meter,
    WallClockMeter,
    full_size,
    learn,
    optimiser_of,
    rollout,
    trained_size,
)
from harness.train.warm_start import start_model
from harness.utils import safe_text

ON_A_CPU = TrialSize(conversations=8, turns=2, turn_tokens=16)
"""Largest size of a trial without a GPU, so that it takes a minute."""
COMPARED = 8
"""Number of conversations whose precision and engine gap are measured."""
FULL_RATE, ADAPTER_RATE = 1e-4, 1e-2
"""Learning rates of the single update, far larger than a run's so that stale weights would show."""


def size_on(device: str, config: RunConfig) -> TrialSize:
    """Return the size of a trial on `device`: a run's longest step, or less on a CPU."""
    full = full_size(config)
    if device != "cpu":
        return full
    return TrialSize(
        min(full.conversations, ON_A_CPU.conversations),
        min(full.turns, ON_A_CPU.turns),
        min(full.turn_tokens, ON_A_CPU.turn_tokens),
    )


def measure(config: RunConfig) -> Trial:
    """Measure the policy of `config` on the device that it asks for.

    Raises ConfigError for a model that cannot be used, DeviceError if it does not fit.
    """
    try:
        with tempfile.TemporaryDirectory() as scratch:
            return _measure(config, Path(scratch))
    except Exception as error:
        device_error = device_errors.explain("the trial", error)
        if device_error is None:
            raise
        raise device_error from error


def _measure(config: RunConfig, scratch: Path) -> Trial:
    began, device = time.monotonic(), start.device_of(config)
    torch.set_num_threads(config.trainer.threads)
    size = size_on(device, config)
    safe_text.say("loads the model")
    models = start.load(config, device)
    if device == "cpu":  # as start.load does
        config = replace(config, policy=replace(config.policy, dtype="float32"))
    rate = ADAPTER_RATE if config.policy.lora_rank else FULL_RATE
    optimiser = optimiser_of(config, models, rate)
    before_engine = _allocated(device)
    engine = start.engine_of(config, models, _end_on_hang, scratch)
    meter: Meter = WallClockMeter()
    if device == "cuda":
        meter = CudaMeter(_allocated(device) - before_engine)
    try:
        safe_text.say(f"holds {size.words}")
        rollout_phase = meter.over(partial(rollout, config, models, engine, size))
        trained, shorter = rollout_phase.value, trained_size(config, size)
        if shorter != size:
            trained = rollout(config, models, engine, shorter)
        old_logp = _logp(config, models, trained)
        safe_text.say("makes one update")
        update_phase = meter.over(partial(learn, config, models, trained, optimiser))
        stale = _logp(config, models, trained)
        safe_text.say("compares the engine's log-probabilities with the trainer's")
        gap = _gap(config, models, engine, size, (trained, old_logp, stale))
    finally:
        engine.close()
    del optimiser
    trajectories = trained[:COMPARED]
    prompt = len(models.chat.opening(""))
    del models, engine
    safe_text.say("compares bfloat16 with float32")
    return Trial(
        device=device,
        gpu=_gpu() if device == "cuda" else None,
        size=size,
        longest=full_size(config),
        precision=_precision(config, device, trajectories),
        engine=gap,
        phases=_phases(config, prompt, (rollout_phase, update_phase)),
        rollout_tokens_per_s=_own_tokens(rollout_phase.value) / rollout_phase.seconds,
        training_tokens_per_s=_own_tokens(trained) / update_phase.seconds,
        seconds=time.monotonic() - began,
    )


def _allocated(device: str) -> int:
    """Return the bytes that torch has allocated on the GPU; 0 on a CPU."""
    return torch.cuda.memory_allocated() if device == "cuda" else 0


def _own_tokens(trajectories: Sequence[TokenTrajectory]) -> int:
    return sum(len(t.logp) for t in trajectories)


def _gpu() -> Gpu:
    properties = torch.cuda.get_device_properties(0)
    return Gpu(properties.name, properties.total_memory, torch.version.cuda or "")


def _gap(
    config: RunConfig,
    models: StartModels,
    engine: Engine,
    size: TrialSize,
    first: tuple[list[TokenTrajectory], Tensor, Tensor],
) -> EngineGap:
    """Return the engine's gap before the update, and in a few conversations after it.

    `first`: the trajectories drawn before the update, and the trainer's log-probabilities of their
    tokens before and after it.
    """
    trajectories, old_logp, stale = first
    small = replace(size, conversations=min(size.conversations, COMPARED), turns=1)
    wake = WallClockMeter().over(lambda: _wake(engine))
    redrawn = rollout(config, models, engine, small)
    return EngineGap(
        engine=engine_choice.engine_of(config),
        sleeps=bool(getattr(engine, "sleeps", False)),
        before=_distance(old_logp, _engine_logp(trajectories[:COMPARED])),
        after=_distance(_logp(config, models, redrawn), _engine_logp(redrawn)),
        stale=_distance(old_logp, stale),
        send_s=wake.seconds,
    )


def _wake(engine: Engine) -> None:
    with engine.awake():
        return


def _end_on_hang(why: str) -> None:
    """End the process, since nothing else can interrupt an engine that hangs."""
    safe_text.say(f"the trial ended {why}")
    os._exit(StoppedError.exit_code)


def _phases(
    config: RunConfig, prompt_tokens: int, measured: Sequence[MeasuredPhase[Any]]
) -> tuple[PhaseMemory, ...]:
    """Return the estimated and measured memory of a run's longest step, without vLLM's share.

    Empty unless policy.kind is hf.
    """
    if config.policy.kind != "hf":
        return ()
    trainer = config.trainer
    total = torch.cuda.mem_get_info()[1] // trainer.runs_per_gpu if trainer.gpus else 0
    folder = model_files.ensure(config.policy)
    estimated = estimate.phases(config, folder, total, prompt_tokens)
    return tuple(
        PhaseMemory(phase.name, phase.total - phase.parts.get("vLLM", 0), measured_phase.peak_bytes)
        for phase, measured_phase in zip(estimated, measured, strict=True)
    )


def _logp(
    config: RunConfig, models: StartModels, trajectories: Sequence[TokenTrajectory]
) -> Tensor:
    """Return the trainer's log-probabilities of own tokens in the first COMPARED conversations."""
    learner: Any = models.learner
    ids, own = _rows(trajectories)
    with precision(config.policy, learner.device.type):
        return torch.cat(own_log_probabilities(learner, ids, own, config.policy.temperature))


def _rows(
    trajectories: Sequence[TokenTrajectory],
) -> tuple[list[list[int]], list[list[bool]]]:
    rows = [t.row for t in trajectories[:COMPARED]]
    return [row.ids for row in rows], [[turn > 0 for turn in row.turn] for row in rows]


def _engine_logp(trajectories: Sequence[TokenTrajectory]) -> Tensor:
    """Return the engine's log-probabilities of the tokens that it drew."""
    return torch.tensor([logp for t in trajectories for logp in t.logp])


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one.double().cpu() - other.double().cpu()).abs().mean())


def _precision(
    config: RunConfig, device: str, trajectories: Sequence[TokenTrajectory]
) -> Precision:
    """Return the difference between float32 and bfloat16 at the own tokens of `trajectories`."""
    model, (ids, own) = _load_float32(config, device), _rows(trajectories)
    temperature = config.policy.temperature
    entropies, logps = [], []
    for rounded in (False, True):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=rounded):
            entropies.append(torch.cat(own_entropies(model, ids, own, temperature)).double())
            logps.append(torch.cat(own_log_probabilities(model, ids, own, temperature)).double())
    gaps = (logps[1] - logps[0]).abs()
    return Precision(
        entropy=float(entropies[0].mean()),
        entropy_gap=float((entropies[1] - entropies[0]).mean()),
        logp_gap=float(gaps.mean()),
        largest_logp_gap=float(gaps.max()),
    )


def _load_float32(config: RunConfig, device: str) -> Any:
    """Load the start policy with float32 weights and without adapters."""
    if config.policy.kind == "tiny":
        return tiny.load_model(start_model.ensure(config.policy), device)
    policy = replace(config.policy, lora_rank=0, dtype="float32")
    return huggingface.load_model(policy, model_files.ensure(config.policy), device)
