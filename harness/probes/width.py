"""What is the best of several conversations worth, and how sure is one of them?

Training can raise the mean without the best of k; a temperature changes both without training.
Success is an emotion of 100. Best of k, any of k and all of k are unbiased estimates from at least
k repeats (train/metrics/repeats.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from harness.config.run import RunConfig
from harness.probes.quantity import AS_TRAINED, Probe, ProbeQuantity, Setting
from harness.train.metrics import repeats
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.saved_policy.policy import HeldOutConversation

SIZES = (1, 2, 4, 8, 16, 32)
GREEDY = 0.05
"""The lowest allowed temperature, which is nearly greedy."""
HOTTEST = 10.0
"""The highest allowed temperature."""
BEST, ANY, ALL = "best of", "a success in", "all succeed of"
MEASURES: dict[str, tuple[Callable[[FloatArray, int], float], tuple[int, ...]]] = {
    BEST: (repeats.best_of, SIZES),
    ANY: (repeats.success_any, (8, 32)),
    ALL: (repeats.success_all, (2, 4)),
}


def _measure_user(
    measure: Callable[[FloatArray, int], float],
    k: int,
    conversations: Sequence[HeldOutConversation],
) -> tuple[float, float]:
    last_turns = [held_out.conversation.last for held_out in conversations]
    rewards = [turn.emotion / 100 for turn in last_turns if turn.ended != "failed"]
    if len(rewards) < k:
        return 0.0, 0.0
    return measure(np.array([rewards]), k), 1.0


QUANTITIES = tuple(
    ProbeQuantity(
        f"{name} {k}",
        "reward" if name == BEST else "share of users",
        partial(_measure_user, measure, k),
        least_repeats=k,
        whole=1.0,
    )
    for name, (measure, sizes) in MEASURES.items()
    for k in sizes
)


def _greedy(config: RunConfig) -> RunConfig:
    return replace(config, policy=replace(config.policy, temperature=GREEDY))


def _scale_temperature(factor: float, config: RunConfig) -> RunConfig:
    """Return the config with `factor` times the run's temperature, within the allowed range."""
    temperature = min(HOTTEST, max(GREEDY, factor * config.policy.temperature))
    return replace(config, policy=replace(config.policy, temperature=temperature))


SETTINGS = (
    Setting("greedy", _greedy),
    Setting("half the temperature", partial(_scale_temperature, 0.5)),
    AS_TRAINED,
    Setting("twice the temperature", partial(_scale_temperature, 2.0)),
)


PROBE = Probe(
    "width",
    "How good is the best of several conversations, and how much do they vary?",
    lambda config: QUANTITIES,
    max(SIZES),
    lambda config: SETTINGS,
)
