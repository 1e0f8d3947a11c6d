"""A shape whose weights are sharded, and its runs."""

from dataclasses import replace
from typing import Any

from harness.config.run import AlgorithmConfig, PolicyConfig, RunConfig
from tests.train import made_ranks

POLICY = replace(made_ranks.POLICY, tied_head=False)


MOST_NORM = 0.02


def config(ranks: int, policy: PolicyConfig = POLICY, **trainer: Any) -> RunConfig:
    """As those of test_ranks, with several micro-batches and a gradient that is clipped."""
    shard = {"shard": "full"} if ranks > 1 else {}
    given = made_ranks.config(ranks, policy, **({"tokens_at_once": 200} | shard | trainer))
    return replace(given, algorithm=AlgorithmConfig(group_size=4, max_grad_norm=MOST_NORM))
