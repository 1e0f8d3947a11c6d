"""Configs of Critique-GRPO for language models, and an engine that keeps what it reads."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.config.run import (
    AlgorithmConfig,
    PolicyConfig,
    RemedyConfig,
    RunConfig,
    TrainerConfig,
)
from harness.train.engines.engine import PromptedSampler, TransformersEngine, TurnRequest, at_once
from harness.train.engines.sampler import SampledTurn, Sampler
from harness.utils.pending import Pending
from tests.train.made import short

KINDS = ("none", "score", "reaction", "reason")
SIZE, GROUPS = 4, 4
POLICY = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=32, layers=2, attention_heads=4,
    key_value_heads=2, head_size=8, feed_forward_size=64, vocabulary=800, max_turn_tokens=8,
)  # fmt: skip
NO_BONUS = RemedyConfig(name="no_bonus", methods={"entropy_bonus": {"coefficient": 0.0}})
"""A remedy that changes nothing, but for what is measured for it."""


def config(critique: str = "reason", kind: str = "critique_grpo", **trainer: Any) -> RunConfig:
    options = {"critique": critique} if kind == "critique_grpo" else {}
    levels = short(4)
    return RunConfig(
        difficulty=levels.hard,
        levels=levels,
        policy=POLICY,
        algorithm=AlgorithmConfig(
            kind=kind, group_size=SIZE, denominator="constant", options=options
        ),
        trainer=TrainerConfig(
            **({"steps": 2, "conversations": SIZE * GROUPS, "eval_every": 0} | trainer)
        ),
    )


class Recording:
    """The transformers engine, which keeps the ids that its samplers are given."""

    corrected = together = False

    def __init__(self, model: Any, prompted: bool = False) -> None:
        self._engine, self._model, self._prompted = TransformersEngine(model), model, prompted
        self.read: list[list[list[int]]] = []

    def awake(self) -> contextlib.AbstractContextManager[None]:
        return self._engine.awake()

    def sampler(self, count: int, end: int, temperature: float) -> Any:
        """As vLLM's where `prompted`: whole conversations in, from their start."""
        if self._prompted:
            return PromptedSampler(at_once(self._complete), count, end, temperature)
        return _Recorded(self._engine.sampler(count, end, temperature), self.read)

    def speaking(self) -> contextlib.AbstractContextManager[None]:
        return self._engine.speaking()

    def close(self) -> None:
        self._engine.close()

    def _complete(self, ask: TurnRequest) -> list[SampledTurn]:
        self.read.append([list(ids) for ids in ask.prompts])
        shape = (len(ask.prompts), ask.limit)
        uniforms = torch.from_numpy(np.random.default_rng(ask.seeds).random(shape))
        sampler = Sampler(self._model, len(ask.prompts), ask.end, ask.temperature)
        return sampler.speak(range(len(ask.prompts)), ask.prompts, uniforms)


class _Recorded:
    def __init__(self, sampler: Any, read: list[list[list[int]]]) -> None:
        self._sampler, self._read = sampler, read

    def begin_turn(
        self, live: Sequence[int], heard: Sequence[Sequence[int]], uniforms: Tensor
    ) -> Pending[list[SampledTurn]]:
        self._read.append([list(ids) for ids in heard])
        made: Pending[list[SampledTurn]] = self._sampler.begin_turn(live, heard, uniforms)
        return made

    def rewind(self, lengths: Mapping[int, int]) -> None:
        self._sampler.rewind(lengths)
