"""Metrics of a batch's conversations: reward, emotion, strategies, text, and simulator failures.

Keys are those of harness.records.metrics.MEASURED. A metric that could not be measured is None.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from harness.config.run import STRATEGIES, TEMPERAMENTS
from harness.config.simulator import LANGUAGE_RULES, SIMULATOR_FAULTS
from harness.simulator.alliance import alliance
from harness.train.metrics.replies import reply_metrics
from harness.train.metrics.token_metrics import Metrics, TokenTrace, mean_or_none
from harness.train.policy_gradient.advantages import FloatArray, covariance, group_stds
from harness.train.rollout.conversation import Conversation, Exchange
from harness.train.rollout.rewards import turns_of

GROUNDING = ("question", "restate")
"""Strategies that always count as acts of grounding; an acknowledgement counts only by itself."""
ACKNOWLEDGES = frozenset(("reflect",))


def conversation_metrics(
    conversations: Sequence[Conversation],
    rewards: FloatArray,
    group_size: int,
    std_floor: float | None,
) -> Metrics:
    """Return all metrics of the conversations.

    `rewards`: shape (conversations,), nan for failed conversations; `std_floor`: the floor of the
    groups' standard deviations, None if the algorithm has none.
    """
    exchanges = [e for c in conversations for e in c.exchanges]
    return {
        **_reward_metrics(rewards, group_size, std_floor),
        **_emotion_metrics(conversations),
        **strategy_metrics(conversations),
        **reply_metrics(conversations),
        **alliance_metrics(conversations),
        "turns/mean": len(exchanges) / len(conversations),
        "completions/clipped_ratio": mean_or_none([e.reply.cut for e in exchanges]),
        **language_metrics(exchanges),
        "distinct_2": distinct_pairs([e.reply.text for e in exchanges]),
        "sim/failed": float(np.isnan(rewards).sum()),
        **failures(conversations),
    }


def language_metrics(exchanges: Sequence[Exchange]) -> Metrics:
    """Return shares of replies flagged as no language, by rule, and scores under the start policy.

    The scores, and the share flagged by them, are None if no start policy judges.
    """
    nlls = [e.reply.start_nll for e in exchanges if e.reply.start_nll is not None]
    zs = [e.reply.start_z for e in exchanges if e.reply.start_z is not None]
    rules = Counter(e.answer.why.get("rule") for e in exchanges if e.answer.flagged)
    shares: Metrics = {f"text/flagged/{r}": rules[r] / len(exchanges) for r in LANGUAGE_RULES}
    if not zs:
        shares["text/flagged/typicality"] = None
    return {
        "text/flagged": mean_or_none([e.answer.flagged for e in exchanges]),
        **shares,
        "text/start_nll": mean_or_none(nlls),
        "text/start_z": mean_or_none(zs),
    }


def learnt_from_metrics(
    rewards: FloatArray, trace: TokenTrace, group_size: int, std_floor: float | None
) -> Metrics:
    """Return the metrics of the rewards and advantages that are learnt from.

    With refined conversations they describe the refined batch, while all other metrics describe
    the batch as it was drawn. Arguments as in `conversation_metrics`.
    """
    spread = _reward_metrics(rewards, group_size, std_floor)
    del spread["reward"]
    return {**spread, "cov/mean": covariance(trace.logp, trace.advantage)}


def _reward_metrics(rewards: FloatArray, group_size: int, floor: float | None) -> Metrics:
    """Return the reward and its spread within groups; None for groups of one conversation."""
    stds = group_stds(rewards, group_size)
    stds = stds[np.isfinite(stds)] if group_size > 1 else stds[:0]
    return {
        "reward": mean_or_none(rewards[np.isfinite(rewards)]),
        "reward_std": mean_or_none(stds),
        "frac_reward_zero_std": mean_or_none(stds == 0),
        "groups/below_floor": None if floor is None else mean_or_none(stds < floor),
    }


def _emotion_metrics(conversations: Sequence[Conversation]) -> Metrics:
    """Return the emotion metrics, over the conversations that did not fail."""
    conversations = [c for c in conversations if c.last.ended != "failed"]
    start = mean_or_none([c.opening.emotion for c in conversations])
    final = mean_or_none([c.last.emotion for c in conversations])
    return {
        "emotion/start": start,
        "emotion/final": final,
        "emotion/delta": None if start is None or final is None else final - start,
        "emotion/success_rate": mean_or_none([c.last.ended == "success" for c in conversations]),
        "emotion/failure_rate": mean_or_none([c.last.ended == "left" for c in conversations]),
    }


def distinct_pairs(texts: Sequence[str]) -> float | None:
    """Return the share of distinct pairs among all pairs of neighbouring words within a text."""
    pairs = [_neighbours(text) for text in texts]
    total = sum(map(len, pairs))
    return len(frozenset().union(*pairs)) / total if total else None


@lru_cache(maxsize=16384)
def _neighbours(text: str) -> tuple[tuple[str, str], ...]:
    """Return each pair of neighbouring words; cached, since a tabular policy repeats itself."""
    return tuple(pairwise(text.lower().split()))


def failures(conversations: Sequence[Conversation]) -> dict[str, float]:
    """Return `sim/failed/TYPE`, the number of conversations lost to each fault of the simulator."""
    kinds = Counter(c.last.why["fault"] for c in conversations if c.last.ended == "failed")
    return {f"sim/failed/{kind}": float(kinds[kind]) for kind in SIMULATOR_FAULTS}


def strategy_metrics(conversations: Sequence[Conversation]) -> Metrics:
    """Return shares of the strategies, their entropies in nats, and grounding.

    All are None if no strategy was recognised. A dominant strategy for all users shows as an
    equally low entropy for every temperament.
    """
    exchanges = [e for c in conversations for e in c.exchanges]
    counts = _counts(exchanges)
    total = counts.total()
    shares = {f"strategy/{s}": counts[s] / total if total else None for s in STRATEGIES}
    return {
        **shares,
        "strategy/entropy": entropy_nats(counts),
        **{
            f"strategy/entropy_by_temperament/{t}": entropy_nats(
                _counts([e for c in conversations if c.temperament == t for e in c.exchanges])
            )
            for t in TEMPERAMENTS
        },
        "grounding/per_100_turns": 100 * sum(map(grounding_acts, exchanges)) / len(exchanges)
        if total
        else None,
    }


def alliance_metrics(conversations: Sequence[Conversation]) -> Metrics:
    """Return the mean of each part of the alliance over the conversations in which it is known."""
    alliances = [alliance(turns_of(c)) for c in conversations]
    parts = {
        "bond": [score.bond for score in alliances],
        "goal": [score.goal for score in alliances],
        "task": [score.task for score in alliances],
        "mean": [score.mean for score in alliances],
    }
    return {
        f"alliance/{name}": mean_or_none([value for value in values if value is not None])
        for name, values in parts.items()
    }


def grounding_acts(exchange: Exchange) -> int:
    """Return the number of questions and restatements, plus 1 for a reply that only acknowledges a
    feeling.

    These are the acts of arXiv 2311.09144, where an acknowledgement counts if it is the sole
    purpose of an utterance. Clarification and follow-up are both `question` here.
    """
    strategies = exchange.answer.strategies
    return sum(s in GROUNDING for s in strategies) + (set(strategies) == ACKNOWLEDGES)


def entropy_nats(counts: Counter[str]) -> float | None:
    """Return the entropy of the shares of `counts` in nats; None if there are no counts."""
    total = counts.total()
    if not total:
        return None
    return -sum(n / total * math.log(n / total) for n in counts.values() if n)


def _counts(exchanges: Sequence[Exchange]) -> Counter[str]:
    return Counter(s for e in exchanges for s in e.answer.strategies)
