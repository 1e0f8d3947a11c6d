"""The probe of a language model: its replies to frozen prefixes, which never change.

Two things are measured at each evaluation: the entropy of these replies, and whether their words
depend on the conversation. For the second, as in RAGEN-2 (arXiv 2604.06268), each reply's
log-probability is computed after its own prefix and after the other prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from harness.config.run import PolicyConfig, RunConfig
from harness.policy.chat import Chat
from harness.train.engines.engine import Engine
from harness.train.engines.sampler import SampledTurn
from harness.train.ledger.language_book import ProbeTokens
from harness.train.metrics import evaluate
from harness.train.metrics.token_metrics import Metrics
from harness.train.metrics.words import words_information
from harness.train.objective.own_tokens import own_entropies, own_log_probabilities
from harness.train.policy_gradient.advantages import FloatArray

CROSS_SCORED = 16
"""Most prefixes of which each reply is scored after every prefix: the cost grows with the square of
their number."""

Keep = Callable[[ProbeTokens, FloatArray], None]
"""Takes the replies to the probe and the entropies of their tokens, shape (tokens,)."""


def forget(_tokens: ProbeTokens, _entropies: FloatArray) -> None:
    """Keep nothing."""


def probe(
    engine: Engine,
    model: Any,
    chat: Chat,
    config: RunConfig,
    size: int,
    timed: evaluate.Timed,
    keep: Keep = forget,
) -> Metrics:
    """Draw one reply to each frozen prefix and return the columns that come of it.

    `entropy/probe`: mean exact entropy of their tokens, nats. `eval/words_listening` and
    `eval/words_retrieval`: see `words_information`; they need two prefixes. With eval.prefixes=0
    nothing is drawn, and there are no columns.

    Each prefix has random numbers of its own, the same at every evaluation and whatever the number
    of prefixes. `size`: prefixes that are replied to at a time; `timed`: a context for the part of
    the words, which is timed apart; `keep` is given the replies and their tokens' entropies.
    """
    count, temperature = config.eval.prefixes, config.policy.temperature
    if not count:
        return {}
    prefixes = [chat.prefix(prefix.turns) for prefix in evaluate.prefixes(count)]
    replies = [turn.ids for turn in _replies(engine, chat, config.policy, prefixes, size)]
    ids, own = _rows(prefixes, replies)
    entropies = torch.cat(own_entropies(model, ids, own, temperature)).double()
    keep(ProbeTokens(ids, own), entropies.cpu().numpy())
    metrics: Metrics = {"entropy/probe": float(entropies.mean())}
    few = _cross_scored(count)
    if len(few) < 2:
        return metrics
    with timed("words"):
        log_p = _cross_scores(
            model, [prefixes[n] for n in few], [replies[n] for n in few], temperature
        )
    nats, share = words_information(log_p)
    return metrics | {"eval/words_listening": nats, "eval/words_retrieval": share}


def _cross_scored(count: int) -> list[int]:
    """Which of `count` prefixes are cross-scored: the first ones of both kinds, openings and later
    turns, as places in the list of prefixes.
    """
    places = {number: n for n, number in enumerate(_numbers(count))}
    return [places[number] for number in _numbers(min(count, CROSS_SCORED))]


def _numbers(count: int) -> list[int]:
    openings, later = evaluate.prefix_numbers(count)
    return [*openings, *later]


def _replies(
    engine: Engine, chat: Chat, policy: PolicyConfig, prefixes: Sequence[list[int]], size: int
) -> list[SampledTurn]:
    """Draw one reply to each prefix, `size` at a time."""
    rng = np.random.default_rng(evaluate.PROBE_SEED)
    every = rng.random((evaluate.PREFIXES, policy.max_turn_tokens))
    uniforms = torch.from_numpy(every[_numbers(len(prefixes))])
    replies: list[SampledTurn] = []
    for first in range(0, len(prefixes), size):
        some = prefixes[first : first + size]
        sampler = engine.sampler(len(some), chat.end, policy.temperature)
        replies += sampler.speak(range(len(some)), some, uniforms[first : first + len(some)])
    return replies


def _cross_scores(
    model: Any,
    prefixes: Sequence[Sequence[int]],
    replies: Sequence[Sequence[int]],
    temperature: float,
) -> FloatArray:
    """Log-probability of each reply after each prefix, shape (replies, prefixes)."""
    count = len(prefixes)
    pairs = [(prefix, reply) for reply in replies for prefix in prefixes]
    ids, own = _rows([prefix for prefix, _ in pairs], [reply for _, reply in pairs])
    logp = own_log_probabilities(model, ids, own, temperature)
    sums = [float(values.double().sum()) for values in logp]
    return np.array(sums).reshape(count, count)


def _rows(
    prefixes: Sequence[Sequence[int]], replies: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[list[bool]]]:
    """Token ids of prefix and reply, and which of them are the reply's."""
    pairs = list(zip(prefixes, replies, strict=True))
    ids = [[*prefix, *reply] for prefix, reply in pairs]
    own = [[False] * len(prefix) + [True] * len(reply) for prefix, reply in pairs]
    return ids, own
