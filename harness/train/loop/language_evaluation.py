"""A language model's evaluation: held-out users, and the probe, its replies to frozen prefixes.

All draws are from generators of the evaluation's own, seeded alike each time. Two things are
measured on the probe: the entropy of the replies, and whether their words depend on the
conversation. For the second, as in RAGEN-2 (arXiv 2604.06268), each reply's log-probability is
computed after its own prefix and after the other prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.config.run import PolicyConfig, RunConfig
from harness.policy.chat import Chat
from harness.train.engines.engine import Engine
from harness.train.engines.sampler import SampledTurn
from harness.train.engines.scoring import TokenRow
from harness.train.ledger.language_book import ProbeTokens
from harness.train.metrics import evaluate
from harness.train.metrics.entropy_splits import Planning
from harness.train.metrics.held_out import at_once
from harness.train.metrics.token_metrics import Metrics
from harness.train.metrics.words import information_by_class, words_information
from harness.train.objective.own_tokens import own_entropies, own_log_probabilities
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import BoolArray
from harness.train.ranks.team import Team

CROSS_SCORED = 16
"""Most prefixes of which each reply is scored after every prefix: the cost grows with the square of
their number."""

Keep = Callable[[ProbeTokens, FloatArray], None]
"""Takes the replies to the probe and the entropies of their tokens, shape (tokens,)."""


def forget(_tokens: ProbeTokens, _entropies: FloatArray) -> None:
    """Keep nothing."""


def evaluate_model(
    team: Team,
    watch: evaluate.Watch | None = None,
    size: int | None = None,
    keep: evaluate.Keep | None = None,
    timed: evaluate.Timed = nullcontext,
    probed: Keep = forget,
) -> Metrics:
    """eval/* and the probe of a model with its current weights.

    `size`: the conversations at a time, as many as a batch has if None; `keep` and `timed`: see
    `evaluate.evaluate`; `probed`: `keep` of `probe`.
    """
    own = team.own
    size = at_once(own.config) if size is None else size
    metrics = evaluate.evaluate(own.config, team.meeting(size), watch, keep, timed)
    given = own.engine, own.learner, own.chat, own.config, size, timed, probed
    with team.alone():
        return {**metrics, **probe(*given)}


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

    `entropy/probe`: mean exact entropy of their tokens, nats. `eval/words_listening`, its parts by
    class of token and `eval/words_retrieval`: see metrics/words.py; they need two prefixes. With
    eval.prefixes=0 nothing is drawn, and there are no columns.

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
    own_replies = [replies[n] for n in few]
    with timed("words"):
        log_p = _cross_scores(model, [prefixes[n] for n in few], own_replies, temperature)
    nats, share = words_information(np.array([[float(row.sum()) for row in one] for one in log_p]))
    return metrics | {
        "eval/words_listening": nats,
        "eval/words_retrieval": share,
        **_by_class(chat, own_replies, [torch.stack(one).cpu().numpy() for one in log_p]),
    }


def _by_class(chat: Chat, replies: Sequence[Sequence[int]], log_p: Sequence[FloatArray]) -> Metrics:
    """The parts of eval/words_listening by the classes of tokens that entropy is split by."""
    planning, marks = Planning(chat), dict[str, list[BoolArray]]()
    for reply in replies:
        row = TokenRow()
        row.extend(reply, turn=1)
        for name, of in planning.classes([row]).items():
            marks.setdefault(name, []).append(of)
    parts = information_by_class(log_p, marks)
    return {f"eval/words_listening/{name}": nats for name, nats in parts.items()}


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
) -> list[list[Tensor]]:
    """Log-probabilities of the tokens of each reply after each prefix, float64."""
    count = len(prefixes)
    pairs = [(prefix, reply) for reply in replies for prefix in prefixes]
    ids, own = _rows([prefix for prefix, _ in pairs], [reply for _, reply in pairs])
    logp = own_log_probabilities(model, ids, own, temperature)
    every = [values.double() for values in logp]
    return [every[n : n + count] for n in range(0, len(every), count)]


def _rows(
    prefixes: Sequence[Sequence[int]], replies: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[list[bool]]]:
    """Token ids of prefix and reply, and which of them are the reply's."""
    pairs = list(zip(prefixes, replies, strict=True))
    ids = [[*prefix, *reply] for prefix, reply in pairs]
    own = [[False] * len(prefix) + [True] * len(reply) for prefix, reply in pairs]
    return ids, own
