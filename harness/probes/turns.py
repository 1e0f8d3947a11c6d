"""A conversation reply by reply: what the user had just said, what was done, what was told.

Facts and feelings are read off the user's words, as a listener would, so that they mean the same
whichever simulator spoke them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.simulator.listening import listen
from harness.train.rollout.qualities import SOLVING
from harness.train.saved_policy.policy import Held


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the policy that was answered."""

    strategies: tuple[str, ...]
    """As the user recognised them."""
    after_feeling: bool
    """Whether the user had just spoken of a feeling."""
    facts_told: int | None
    """Facts in the answer; None where the conversation ended with it."""

    @property
    def solves(self) -> bool:
        """Whether it suggests or informs."""
        return not SOLVING.isdisjoint(self.strategies)


def replies(held: Sequence[Held]) -> Iterator[Reply]:
    """Every reply of some conversations but those whose user could not answer."""
    for one in held:
        before = one.conversation.opening
        for exchange in one.conversation.exchanges:
            answer = exchange.answer
            if answer.ended == "failed":
                break
            facts = None if answer.ended else len(listen([answer.text]).facts)
            yield Reply(answer.strategies, bool(listen([before.text]).feelings), facts)
            before = answer
