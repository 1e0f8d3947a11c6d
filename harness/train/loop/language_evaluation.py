"""A language model's evaluation: held-out users, and the probe (replies to frozen prefixes).

The evaluation has its own generators, seeded the same way each time. The probe measures two things:
the entropy of the replies, and whether their words depend on the conversation. For the latter, as
in RAGEN-2 (arXiv 2604.06268), each reply's log-probability is computed after its own prefix and
after the other prefixes.
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
from harness.train.metrics.entropy_splits import PlanningTokens
from harness.train.metrics.held_out import at_once
from harness.train.metrics.token_metrics import Metrics
from harness.train.metrics.words import information_by_class, words_information
from harness.train.objective.own_tokens import own_entropies, own_log_probabilities
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import BoolArray
from harness.train.ranks.team import Team

CROSS_SCORED = 16
"""Maximum number of prefixes that are cross-scored: each of their replies after each of them, so
that the cost grows with the square.
"""

Keep = Callable[[ProbeTokens, FloatArray], None]
"""Takes the replies to the probe and the entropies at their tokens, shape (tokens,)."""


def forget(_tokens: ProbeTokens, _entropies: FloatArray) -> None:
    """Do nothing."""


def evaluate_model(
    team: Team,
    watch: evaluate.Watch | None = None,
    size: int | None = None,
    keep: evaluate.Keep | None = None,
    timed: evaluate.Timed = nullcontext,
    keep_probe: Keep = forget,
) -> Metrics:
    """Return eval/* and the probe's metrics of a model with its current weights.

    `size`: number of conversations held at a time; None for the size of a batch. `keep`, `timed`:
    see `evaluate.evaluate`. `keep_probe`: `keep` of `probe`.
    """
    own = team.own
    size = at_once(own.config) if size is None else size
    metrics = evaluate.evaluate(own.config, team.meeting(size), watch, keep, timed)
    inputs = own.engine, own.learner, own.chat, own.config, size, timed, keep_probe
    with team.alone():
        return {**metrics, **probe(*inputs)}


def probe(
    engine: Engine,
    model: Any,
    chat: Chat,
    config: RunConfig,
    size: int,
    timed: evaluate.Timed,
    keep: Keep = forget,
) -> Metrics:
    """Draw one reply to each frozen prefix and return the probe's metrics.

    `entropy/probe`: mean exact entropy at the replies' tokens, nats. `eval/words_listening`, its
    parts by class of token, and `eval/words_retrieval`: see metrics/words.py; they need two
    prefixes. With eval.prefixes=0 nothing is drawn and the result is empty.

    Each prefix has its own random numbers, which do not depend on the evaluation or on the number
    of prefixes. `size`: number of prefixes replied to at a time; `timed`: a context for the words'
    part, which is timed separately; `keep`: receives the replies and the entropies at their tokens.
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
    scored = _cross_scored_indices(count)
    if len(scored) < 2:
        return metrics
    own_replies = [replies[n] for n in scored]
    with timed("words"):
        log_p = _cross_scores(model, [prefixes[n] for n in scored], own_replies, temperature)
    nats, share = words_information(
        np.array([[float(row.sum()) for row in scores] for scores in log_p])
    )
    return metrics | {
        "eval/words_listening": nats,
        "eval/words_retrieval": share,
        **_information_by_class(
            chat, own_replies, [torch.stack(scores).cpu().numpy() for scores in log_p]
        ),
    }


def _information_by_class(
    chat: Chat, replies: Sequence[Sequence[int]], log_p: Sequence[FloatArray]
) -> Metrics:
    """Return the parts of eval/words_listening by token class, as entropy is split."""
    planning, marks = PlanningTokens(chat), dict[str, list[BoolArray]]()
    for reply in replies:
        row = TokenRow()
        row.extend(reply, turn=1)
        for name, mask in planning.classes([row]).items():
            marks.setdefault(name, []).append(mask)
    parts = information_by_class(log_p, marks)
    return {f"eval/words_listening/{name}": nats for name, nats in parts.items()}


def _cross_scored_indices(count: int) -> list[int]:
    """Return which of `count` prefixes are cross-scored, as indices in the list of prefixes.

    They are the first ones of both kinds, openings and later turns.
    """
    indices = {number: n for n, number in enumerate(_prefix_numbers(count))}
    return [indices[number] for number in _prefix_numbers(min(count, CROSS_SCORED))]


def _prefix_numbers(count: int) -> list[int]:
    openings, later = evaluate.prefix_numbers(count)
    return [*openings, *later]


def _replies(
    engine: Engine, chat: Chat, policy: PolicyConfig, prefixes: Sequence[list[int]], size: int
) -> list[SampledTurn]:
    """Draw one reply to each prefix, `size` at a time."""
    rng = np.random.default_rng(evaluate.PROBE_SEED)
    draws = rng.random((evaluate.PREFIXES, policy.max_turn_tokens))
    uniforms = torch.from_numpy(draws[_prefix_numbers(len(prefixes))])
    replies: list[SampledTurn] = []
    for start in range(0, len(prefixes), size):
        batch = prefixes[start : start + size]
        sampler = engine.sampler(len(batch), chat.end, policy.temperature)
        replies += sampler.speak(range(len(batch)), batch, uniforms[start : start + len(batch)])
    return replies


def _cross_scores(
    model: Any,
    prefixes: Sequence[Sequence[int]],
    replies: Sequence[Sequence[int]],
    temperature: float,
) -> list[list[Tensor]]:
    """Return log-probabilities of the tokens of each reply after each prefix, float64."""
    count = len(prefixes)
    pairs = [(prefix, reply) for reply in replies for prefix in prefixes]
    ids, own = _rows([prefix for prefix, _ in pairs], [reply for _, reply in pairs])
    logp = own_log_probabilities(model, ids, own, temperature)
    scores = [values.double() for values in logp]
    return [scores[n : n + count] for n in range(0, len(scores), count)]


def _rows(
    prefixes: Sequence[Sequence[int]], replies: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[list[bool]]]:
    """Return the token ids of prefix and reply, and whether each is the reply's."""
    pairs = list(zip(prefixes, replies, strict=True))
    ids = [[*prefix, *reply] for prefix, reply in pairs]
    own = [[False] * len(prefix) + [True] * len(reply) for prefix, reply in pairs]
    return ids, own
