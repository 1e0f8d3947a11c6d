"""The results of a trial of a policy on this machine's device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrialSize:
    """The size of a trial's conversations."""

    conversations: int
    turns: int
    turn_tokens: int

    @property
    def words(self) -> str:
        return (
            f"{self.conversations} conversations of {self.turns} turns of at most "
            f"{self.turn_tokens} tokens"
        )


@dataclass(frozen=True)
class Precision:
    """The start policy's own tokens, computed in float32 and in bfloat16; nats per token."""

    entropy: float
    """Mean entropy in float32."""
    entropy_gap: float
    """Mean difference of entropies, bfloat16 minus float32."""
    logp_gap: float
    """Mean absolute difference between the two log-probabilities of a token."""
    largest_logp_gap: float


@dataclass(frozen=True)
class EngineGap:
    """Mean absolute difference in nats between an engine's and the trainer's log-probabilities."""

    engine: str
    sleeps: bool
    before: float
    """The difference with the initial weights."""
    after: float
    """The difference after an update whose weights were sent to the engine."""
    stale: float
    """The difference that an engine with the old weights would have after the update."""
    send_s: float
    """Seconds to wake the engine and send the weights."""


@dataclass(frozen=True)
class PhaseMemory:
    """One phase's memory in bytes."""

    name: str
    estimated: int
    peak: int | None
    """Peak in torch's allocator; None without a GPU."""


@dataclass(frozen=True)
class Gpu:
    """The GPU of a trial."""

    name: str
    memory_bytes: int
    cuda: str
    """The CUDA version that torch was built for."""


@dataclass(frozen=True)
class Trial:
    """The measurements on one device."""

    device: str
    """cpu or cuda."""
    gpu: Gpu | None
    """None on a CPU."""
    size: TrialSize
    longest: TrialSize
    """Size of a run's longest step, which the estimates of `phases` are for."""
    precision: Precision
    engine: EngineGap
    phases: tuple[PhaseMemory, ...]
    rollout_tokens_per_s: float
    """Own tokens of the policy per second, as in `training_tokens_per_s`."""
    training_tokens_per_s: float
    seconds: float
    """Duration of the whole trial, including the loading of models."""
