"""The engine of a run, begun before its first step and asked for a word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from harness.config import engine_choice
from harness.train.engines.engine import Engine, Transformers
from harness.train.loop.session import Session
from harness.train.loop.start import Start

PROBE_TOKENS = 2


@contextmanager
def running(session: Session, start: Start, note_entropies: bool) -> Iterator[Engine]:
    """The run's engine, which has taken the weights and drawn a turn; closed in the end.

    `note_entropies`: of what each token is drawn from, where the engine can, which vLLM cannot.
    Raises ConfigError if vLLM will not have this model, StoppedError if a server is out of reach.
    """
    if engine_choice.chosen(session.config) == engine_choice.TRANSFORMERS:
        yield Transformers(start.learner, note_entropies)
        return
    engine = _made(session, start)
    try:
        with engine.awake():
            _probe(engine, start.chat.end, session.config.policy.temperature)
        yield engine
    finally:
        engine.close()


def _made(session: Session, start: Start) -> Engine:
    """vLLM is imported only here."""
    if engine_choice.chosen(session.config) == engine_choice.COLOCATED:
        from harness.train.engines.vllm_engine import Colocated

        return Colocated(start.learner, session.config, session.end_hung)
    from harness.train.engines.vllm_server import Served

    return Served(start.learner, session.config, session.end_hung)


def _probe(engine: Engine, end: int, temperature: float) -> None:
    """A health check says too little: an engine can be up and draw nothing (vllm issue 36451)."""
    uniforms = torch.full((1, PROBE_TOKENS), 0.5, dtype=torch.float64)
    engine.sampler(1, end, temperature).speak([0], [[end]], uniforms)
