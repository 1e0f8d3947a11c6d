"""What the policy does to comfort: the strategies that users recognised in its replies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from harness.config.run import STRATEGIES, TEMPERAMENTS
from harness.train.rollout.conversation import Conversation, Exchange

Shares = dict[str, float | None]

GROUNDING = ("question", "restate")
"""Each is an act of grounding wherever it stands; an acknowledgement only where it stands alone."""
ACKNOWLEDGES = frozenset(("reflect",))


def strategy_metrics(conversations: Sequence[Conversation]) -> Shares:
    """Shares of the strategies, their entropies in nats, grounding; None where none was recognised.

    A dominant move that serves everyone shows as the same low entropy for every temperament.
    """
    said = [e for c in conversations for e in c.exchanges]
    counts = _counts(said)
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
        "grounding/per_100_turns": 100 * sum(map(grounding_acts, said)) / len(said)
        if total
        else None,
    }


def grounding_acts(exchange: Exchange) -> int:
    """Questions, restatements, and 1 for a reply that does nothing but acknowledge what is felt.

    The acts of arXiv 2311.09144, where an acknowledgement counts if it is an utterance's sole
    purpose; clarification and follow-up are both `question` here.
    """
    found = exchange.answer.strategies
    return sum(s in GROUNDING for s in found) + (set(found) == ACKNOWLEDGES)


def entropy_nats(counts: Counter[str]) -> float | None:
    """Of the shares of what was counted; None where nothing was."""
    total = counts.total()
    if not total:
        return None
    return -sum(n / total * math.log(n / total) for n in counts.values() if n)


def _counts(said: Sequence[Exchange]) -> Counter[str]:
    return Counter(s for e in said for s in e.answer.strategies)
