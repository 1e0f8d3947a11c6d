"""What a trial of a policy on this machine's device measures."""

from __future__ import annotations

from dataclasses import dataclass

from harness.train.trial.step import Size


@dataclass(frozen=True)
class Precision:
    """The start policy's own tokens, computed in float32 and in bfloat16; nats a token."""

    entropy: float
    """In float32."""
    entropy_gap: float
    """Mean of bfloat16 minus float32."""
    logp_gap: float
    """Mean distance between the two log-probabilities of a token."""
    largest_logp_gap: float


@dataclass(frozen=True)
class EngineGap:
    """Mean distance in nats between an engine's log-probability of a token and the trainer's."""

    engine: str
    sleeps: bool
    before: float
    """With the weights that the trial began with."""
    after: float
    """After an update, and after its weights were sent."""
    stale: float
    """What an engine that still had the old weights would show."""
    send_s: float
    """Seconds to wake the engine and send the weights."""


@dataclass(frozen=True)
class PhaseMemory:
    """One phase's memory in bytes."""

    name: str
    estimated: int
    peak: int | None
    """As torch's allocator counts it; None without a GPU."""


@dataclass(frozen=True)
class Gpu:
    """The GPU of a trial."""

    name: str
    memory_bytes: int
    cuda: str
    """Version that torch was built for."""


@dataclass(frozen=True)
class Trial:
    """What was measured on one device."""

    device: str
    """cpu or cuda."""
    gpu: Gpu | None
    """None on a CPU."""
    size: Size
    precision: Precision
    engine: EngineGap
    phases: tuple[PhaseMemory, ...]
    rollout_tokens_per_s: float
    """The policy's own tokens."""
    training_tokens_per_s: float
    seconds: float
    """Of the whole trial, the loading of models included."""
