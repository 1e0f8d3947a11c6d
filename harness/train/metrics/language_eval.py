"""The yardsticks of a language model: held-out users, and the entropy on the frozen prefixes.

Both draw from generators of their own, seeded alike at every look, and leave the training's alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from harness.config.run import PolicyConfig, RunConfig
from harness.policy.chat import Chat
from harness.train.engines.engine import Engine
from harness.train.metrics import evaluate, probe
from harness.train.metrics.measure import Metrics
from harness.train.objective.language_loss import own_entropies
from harness.train.rollout.batch import waves
from harness.train.rollout.conversation import InWaves
from harness.train.rollout.speaker import LanguageSpeaker


def look(engine: Engine, model: Any, chat: Chat, config: RunConfig, start: Any) -> Metrics:
    """eval/* and entropy/probe of `model` as it is, for which `engine` speaks."""
    speakers = [
        LanguageSpeaker(engine, chat, config.policy, evaluate.ByTurn(wave), start)
        for wave in range(waves(config))
    ]
    return {
        **evaluate.evaluate(config, InWaves(speakers)),
        "entropy/probe": probe_entropy_nats(engine, model, chat, config.policy),
    }


def probe_entropy_nats(engine: Engine, model: Any, chat: Chat, policy: PolicyConfig) -> float:
    """Mean exact entropy a token over one reply to each frozen prefix, by fixed uniforms."""
    prefixes = [chat.prefix(prefix.turns) for prefix in probe.prefixes()]
    draws = np.random.default_rng(probe.SEED)
    uniforms = torch.from_numpy(draws.random((len(prefixes), policy.max_turn_tokens)))
    sampler = engine.sampler(len(prefixes), chat.end, policy.temperature)
    said = sampler.speak(range(len(prefixes)), prefixes, uniforms)
    ids = [[*prefix, *turn.ids] for prefix, turn in zip(prefixes, said, strict=True)]
    own = [
        [False] * len(prefix) + [True] * len(turn.ids)
        for prefix, turn in zip(prefixes, said, strict=True)
    ]
    return float(torch.cat(own_entropies(model, ids, own, policy.temperature)).double().mean())
