"""Rewards by turns and mixed ones, and runs that they score."""

from __future__ import annotations

from dataclasses import replace

from harness.config.reward import RewardConfig
from harness.config.run import RunConfig
from tests.train import made

TURNS = RewardConfig(mode="turns")


MIXED = RewardConfig(mode="mixed", mix=0.25)


def config_of(reward: RewardConfig, **algorithm: object) -> RunConfig:
    base = made.tabular(algorithm={"group_size": 4, **algorithm}, conversations=4)
    return replace(base, reward=reward)
