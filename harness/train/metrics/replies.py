"""A conversation reply by reply: what the user had just said, what was done, what was told.

Facts and feelings are read off the user's words, as a listener would, so that they mean the same
whichever simulator spoke them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.simulator.alliance import SOLVING, wants_solving
from harness.simulator.listening import told
from harness.simulator.scripted.paths import PUT_TO_THE_TEST
from harness.train.metrics.token_metrics import Metrics, mean_or_none
from harness.train.rollout.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the policy that was answered."""

    strategies: tuple[str, ...]
    """As the user recognised them."""
    after_feeling: bool
    """Whether the user had just spoken of a feeling."""
    wanted: bool | None
    """Whether the user came for solving; None where that is not known, and while the user puts the
    policy to the test."""
    facts_told: int | None
    """Facts in the answer; None where the conversation ended with it."""

    @property
    def solves(self) -> bool:
        """Whether it suggests or informs."""
        return not SOLVING.isdisjoint(self.strategies)

    @property
    def asks(self) -> bool:
        """Whether it asks something."""
        return "question" in self.strategies


def replies(conversations: Iterable[Conversation]) -> Iterator[Reply]:
    """Every reply of some conversations but those whose user could not answer."""
    for conversation in conversations:
        after_feeling = told(conversation.opening.text)[1]
        wanted = wants_solving(conversation.opening)
        for exchange in conversation.exchanges:
            answer = exchange.answer
            if answer.ended == "failed":
                break
            facts, feeling = told(answer.text)
            left = None if answer.ended else facts
            tested = PUT_TO_THE_TEST in answer.why
            yield Reply(answer.strategies, after_feeling, None if tested else wanted, left)
            after_feeling = feeling


def reply_metrics(conversations: Sequence[Conversation]) -> Metrics:
    """What asking is worth, and how often a feeling, a user who came for solving and one who did
    not are met by it; None for what cannot be told.
    """
    every = list(replies(conversations))
    asked, other = (_mean_told(every, asks) for asks in (True, False))
    return {
        "grounding/question_value": None if asked is None or other is None else asked - other,
        "solving/after_feeling": mean_or_none([r.solves for r in every if r.after_feeling]),
        "solving/where_wanted": mean_or_none([r.solves for r in every if r.wanted is True]),
        "solving/where_unwanted": mean_or_none([r.solves for r in every if r.wanted is False]),
    }


def _mean_told(every: Sequence[Reply], asks: bool) -> float | None:
    """Facts told in answer to the replies that ask, or to the others."""
    return mean_or_none(
        [r.facts_told for r in every if r.facts_told is not None and r.asks == asks]
    )
