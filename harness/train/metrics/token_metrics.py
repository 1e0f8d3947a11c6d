"""Measures of a batch's tokens: entropies for its metrics row, turns for its parquet file.

Keys are those of harness.records.metrics.MEASURED. What could not be measured is None.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.config.run import MAX_TURNS
from harness.records.conversations import TurnRecord
from harness.train.policy_gradient.advantages import FloatArray, IntArray, covariance
from harness.train.rollout.conversation import Conversation, Exchange

Metrics = dict[str, float | None]

TOP_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class TokenTrace:
    """The policy's own tokens (acts for tabular) of one batch; all arrays have shape (tokens,)."""

    entropy_nats: FloatArray
    """Exact entropy at each token: sampling temperature, weights before the update."""
    entropy_t1_nats: FloatArray
    """The same at temperature 1."""
    logp: FloatArray
    """Log-probability of the drawn token at the sampling temperature."""
    advantage: FloatArray
    conversation: IntArray
    """Number of the conversation in its batch, from 0."""
    turn: IntArray
    """Number of the reply in its conversation, from 1."""


def entropy_metrics(trace: TokenTrace, group_size: int) -> Metrics:
    """H of the batch, its standard error, and how it is spread over conversations and turns.

    Groups are the units of the error: the conversations of one share user and opening. The mean
    adds up conversations, as it did before errors were by group, so that H keeps its last bit.
    """
    mean, _ = ratio_mean(trace.entropy_nats, trace.conversation)
    _, error = ratio_mean(trace.entropy_nats, trace.conversation // group_size)
    per_turn = {
        f"entropy/turn_{n}": mean_or_none(trace.entropy_nats[trace.turn == n])
        for n in range(1, MAX_TURNS + 1)
    }
    lengths = _present(trace.conversation)
    sums = np.bincount(trace.conversation, weights=trace.entropy_nats)
    sums = sums[np.bincount(trace.conversation) > 0]
    return {
        "entropy": mean,
        "entropy_se": error,
        "entropy/t1": mean_or_none(trace.entropy_t1_nats),
        "entropy/mean_of_means": mean_or_none(sums / lengths),
        **per_turn,
        "entropy/top20_share": top_share(trace.entropy_nats),
        "cov/mean": covariance(trace.logp, trace.advantage),
        "completions/mean_length": mean_or_none(lengths),
        "completions/max_length": float(lengths.max()) if len(lengths) else None,
    }


def ratio_mean(values: FloatArray, cluster: IntArray) -> tuple[float | None, float | None]:
    """Mean over all values and its standard error with whole clusters as the units.

    The mean is a ratio, sum of sums / sum of sizes; its error is the linearised one
    (Cochran, Sampling Techniques, section 6.3) with m / (m - 1) for m clusters.
    """
    if not len(values):
        return None, None
    present = np.bincount(cluster) > 0
    sizes = np.bincount(cluster)[present]
    sums = np.bincount(cluster, weights=values)[present]
    mean, count = float(sums.sum() / sizes.sum()), len(sizes)
    if count < 2:
        return mean, None
    residual = sums - mean * sizes
    variance = count / (count - 1) * (residual**2).sum() / sizes.sum() ** 2
    return mean, math.sqrt(variance)


def top_share(entropy_nats: FloatArray) -> float | None:
    """Share of all entropy that the 20% of tokens with most hold; None where there is none."""
    total = float(entropy_nats.sum())
    if total <= 0:
        return None
    count = math.ceil(TOP_SHARE * len(entropy_nats))
    return float(np.sort(entropy_nats)[-count:].sum() / total)


def turn_records(
    conversations: Sequence[Conversation], advantages: FloatArray, trace: TokenTrace
) -> list[TurnRecord]:
    """Every turn of the batch; `advantages` has shape (conversations, MAX_TURNS)."""
    stride = MAX_TURNS + 1
    cell = trace.conversation * stride + trace.turn
    counts = np.bincount(cell, minlength=len(conversations) * stride)
    sums = np.bincount(cell, weights=trace.entropy_nats, minlength=len(counts))
    records: list[TurnRecord] = []
    for i, conversation in enumerate(conversations):
        means = [
            float(sums[i * stride + n] / counts[i * stride + n]) if counts[i * stride + n] else None
            for n in range(1, len(conversation.exchanges) + 1)
        ]
        records += _earlier(conversation)
        records += _records(conversation, advantages[i].tolist(), means)
    return records


def _policy_record(
    conversation: Conversation,
    turn: int,
    exchange: Exchange,
    entropy: float | None,
    advantage: float,
) -> TurnRecord:
    return TurnRecord(
        conversation.key.group,
        conversation.key.sample,
        turn,
        "policy",
        exchange.reply.text,
        strategy="+".join(exchange.answer.strategies) or None,
        emotion_before=None,
        emotion_after=None,
        entropy_nats=entropy,
        advantage=advantage,
        start_nll=exchange.reply.start_nll,
        ended=None,
        why=None,
        level=conversation.level,
        temperament=conversation.temperament,
        start_z=exchange.reply.start_z,
    )


def _user_record(
    conversation: Conversation,
    turn: int,
    text: str,
    before: int | None,
    after: int,
    ended: str | None,
    why: str | None,
) -> TurnRecord:
    key, level, temperament = conversation.key, conversation.level, conversation.temperament
    return TurnRecord(
        key.group, key.sample, turn, "user", text, None, before, after, None, None, None, ended,
        why, level, temperament,
    )  # fmt: skip


def _earlier(conversation: Conversation) -> list[TurnRecord]:
    """The turns before the policy took over, which carry no gradient."""
    exchanges, start = conversation.before, conversation.start
    heard = [start.opening, *(e.answer for e in exchanges)] if start else []
    records: list[TurnRecord] = []
    for turn, (user, exchange) in enumerate(
        zip(heard, exchanges, strict=False), start=-len(exchanges)
    ):
        records.append(_user_record(conversation, turn, user.text, None, user.emotion, None, None))
        reply = _policy_record(conversation, turn + 1, exchange, None, 0.0)
        records.append(replace(reply, speaker="reference", advantage=None))
    return records


def _records(
    conversation: Conversation, advantages: Sequence[float], entropies: Sequence[float | None]
) -> list[TurnRecord]:
    opening, before = conversation.opening, conversation.opening.emotion
    records = [_user_record(conversation, 0, opening.text, None, before, opening.ended, None)]
    for turn, (exchange, entropy) in enumerate(
        zip(conversation.exchanges, entropies, strict=True), start=1
    ):
        answer, now = exchange.answer, exchange.answer.emotion
        why = json.dumps(dict(answer.why))
        records += (
            _policy_record(conversation, turn, exchange, entropy, advantages[turn - 1]),
            _user_record(conversation, turn, answer.text, before, now, answer.ended, why),
        )
        before = now
    return records


def mean_or_none(values: Sequence[float] | NDArray[Any]) -> float | None:
    """The mean of `values`; None if there are none."""
    return float(np.mean(values)) if len(values) else None


def _present(cluster: IntArray) -> IntArray:
    counts = np.bincount(cluster)
    return counts[counts > 0]
