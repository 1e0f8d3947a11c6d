"""Who plays the user, and where that user is reached; a part of config.py."""

from __future__ import annotations

from dataclasses import dataclass

from harness.config import grant
from harness.config.grant import Grant
from harness.config.ranges import address, in_range, one_of, unheeded
from harness.errors import ConfigError

SIMULATOR_FAULTS = (
    "connection",  # refused, reset, or closed before the answer was whole
    "timeout",  # not answered whole within simulator.deadline_s
    "rate_limit",  # 429
    "server",  # 5xx
    "request",  # 4xx: asking again would not help
    "redirect",  # 3xx: not followed, so that the key goes nowhere else
    "oversized",  # a body beyond what an answer can need
    "malformed",  # no JSON, or not of the shape asked for
    "out_of_range",  # a change of emotion that is missing or that the level does not allow
    "empty",  # nothing said
    "leaked",  # the reply gives away what is hidden
)
"""How a served user can fail to answer, after retries."""

OF_SERVED = (
    "base_url", "model", "api_key_env", "deadline_s", "concurrency", "requests_per_minute",
    "tokens_per_minute", "retries", "backoff_s", "temperature", "max_tokens",
    "outage_s",
)  # fmt: skip
KEY_BELONGS = "put the key in a variable and its name in simulator.api_key_env"


@dataclass(frozen=True)
class SimulatorConfig:
    """Who plays the user: our own code, or a model behind an OpenAI-compatible endpoint."""

    name: str = "scripted"
    kind: str = "scripted"
    """scripted (in process, no model) or served; the keys below are the served user's."""
    base_url: str = "http://127.0.0.1:8000/v1"
    model: str = "Qwen/Qwen3-4B-Instruct-2507"
    api_key_env: str = ""
    """Name of the environment variable that holds the key; empty where none is needed."""
    deadline_s: float = 60.0
    """For one call as a whole, its slowest byte included."""
    concurrency: int = 64
    """Calls under way at once."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Prompts and answers together."""
    retries: int = 5
    """Further tries of a call that failed, before its conversation is given up."""
    backoff_s: float = 0.5
    """Wait before the first retry, doubled at each further one, with jitter."""
    temperature: float | None = 0.5
    """null leaves it to the endpoint; RLVER's users speak at 0.5 (arXiv 2507.03112)."""
    max_tokens: int = 400
    """Of one answer."""
    outage_s: float = 3600.0
    """How long a run waits for an endpoint that is gone before it stops; 0 for not at all."""
    profiles: str = ""
    """JSONL file of users of one's own; empty for ours."""

    def __post_init__(self) -> None:
        one_of("simulator.kind", self.kind, ("scripted", "served"))
        address("simulator.base_url", self.base_url, KEY_BELONGS)
        if not self.model.strip():
            raise ConfigError("simulator.model must name a model that the endpoint serves, got ''")
        if self.api_key_env:
            grant.check_variable("simulator.api_key_env", self.api_key_env)
        in_range("simulator.deadline_s", self.deadline_s, 0.05, 3600)
        in_range("simulator.concurrency", self.concurrency, 1, 4096)
        if self.requests_per_minute is not None:
            in_range("simulator.requests_per_minute", self.requests_per_minute, 0.1, 1e7)
        if self.tokens_per_minute is not None:
            in_range("simulator.tokens_per_minute", self.tokens_per_minute, 1, 1e10)
        in_range("simulator.retries", self.retries, 0, 50)
        in_range("simulator.backoff_s", self.backoff_s, 0, 60)
        if self.temperature is not None:
            in_range("simulator.temperature", self.temperature, 0, 2)
        in_range("simulator.max_tokens", self.max_tokens, 16, 100_000)
        in_range("simulator.outage_s", self.outage_s, 0, 1e6)
        if self.kind == "scripted":
            unheeded("simulator", self, OF_SERVED, "the served user")

    @property
    def sends(self) -> Grant | None:
        """The key that each call carries, and where to; None without one.

        Raises ConfigError for a host that a key must not go to.
        """
        try:
            return grant.to(self.base_url, self.api_key_env) if self.api_key_env else None
        except ConfigError as error:
            raise ConfigError(f"simulator.base_url: {self.base_url}: {error}") from error
