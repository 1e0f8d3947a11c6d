"""The tabular policy's evaluation: held-out users, and its exact entropy on frozen prefixes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from harness.policy.tabular import Observations, TabularPolicy, observe, recall, with_slots
from harness.train.loop.session import Session
from harness.train.metrics import evaluate
from harness.train.metrics.deaf import Speakers
from harness.train.metrics.held_out import TableDraws, slots_of
from harness.train.metrics.token_metrics import Metrics
from harness.train.rollout.tabular_speaker import RECEPTION, TabularSpeaker


def evaluated(session: Session, policy: TabularPolicy, step: int) -> Metrics:
    """Return eval/* and entropy/probe of the policy before step `step`; empty if none is due."""
    config, temperature = session.config, session.config.policy.temperature
    if not evaluate.is_due(step, config):
        return {}
    meet = evaluate.meet_here(config, speakers(policy, temperature, session.poll))
    with session.evaluation(step) as watch:
        return {
            **evaluate.evaluate(
                config,
                meet,
                watch,
                keep=evaluate.keep_in(session.run.outcomes, step),
                timed=session.timed,
            ),
            "entropy/probe": probe_entropy_nats(policy, temperature, config.eval.prefixes),
        }


def speakers(
    policy: TabularPolicy, temperature: float, before_turn: Callable[[], None] = lambda: None
) -> Speakers:
    """Return a function that makes the speaker of given held-out conversations."""
    return lambda meetings: TabularSpeaker(
        policy,
        temperature,
        TableDraws(meetings),
        before_turn,
        slot=slots_of(meetings, policy.slots),
    )


def probe_entropy_nats(
    policy: TabularPolicy, temperature: float, count: int = evaluate.PREFIXES
) -> float | None:
    """Return the mean exact entropy of an act on the first `count` frozen prefixes, in nats.

    None if `count` is 0.
    """
    if not count:
        return None
    observations = probe(policy.observation, count, policy.slots)
    return float(policy.entropy_nats(observations, temperature).mean())


@lru_cache(maxsize=4)
def probe(observation: str, count: int = evaluate.PREFIXES, slots: int = 1) -> Observations:
    """Return the observations at the first `count` frozen prefixes; slots are assigned in turn."""
    observations = [
        observe(observation, recall(p.heard, p.strategies, RECEPTION))
        for p in evaluate.prefixes(count)
    ]
    stacked = Observations(np.concatenate([s.features for s in observations]))
    return with_slots(stacked, np.arange(count) % slots, slots)
