"""The replies of conversations that a probe held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.train.metrics import replies as of_conversations
from harness.train.metrics.replies import Reply
from harness.train.saved_policy.policy import Held


def replies(held: Sequence[Held]) -> Iterator[Reply]:
    """Every reply but those whose user could not answer."""
    return of_conversations.replies(one.conversation for one in held)
