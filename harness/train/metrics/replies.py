"""Metrics by reply: the user's turn before it, its strategies, and the facts in the answer.

Facts and feelings are recognised in the user's words, as a listener would, so that they mean the
same for every simulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.simulator.alliance import SOLVING, wants_solving
from harness.simulator.listening import count_told
from harness.simulator.scripted.paths import PUT_TO_THE_TEST
from harness.train.metrics.token_metrics import Metrics, mean_or_none
from harness.train.rollout.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the policy that was answered."""

    strategies: tuple[str, ...]
    """The strategies that the user recognised."""
    after_feeling: bool
    """Whether the user had just spoken of a feeling."""
    wanted: bool | None
    """Whether the user came for solving; None if unknown, and while the user tests the policy."""
    facts_told: int | None
    """Number of facts in the answer; None if the conversation ended with it."""

    @property
    def solves(self) -> bool:
        """Whether the reply suggests or informs."""
        return not SOLVING.isdisjoint(self.strategies)

    @property
    def asks(self) -> bool:
        """Whether the reply asks a question."""
        return "question" in self.strategies


def replies(conversations: Iterable[Conversation]) -> Iterator[Reply]:
    """Yield every reply of the conversations except those that the simulator failed to answer."""
    for conversation in conversations:
        after_feeling = count_told(conversation.opening.text)[1]
        wanted = wants_solving(conversation.opening)
        for exchange in conversation.exchanges:
            answer = exchange.answer
            if answer.ended == "failed":
                break
            facts, feeling = count_told(answer.text)
            facts_told = None if answer.ended else facts
            tested = PUT_TO_THE_TEST in answer.why
            yield Reply(answer.strategies, after_feeling, None if tested else wanted, facts_told)
            after_feeling = feeling


def reply_metrics(conversations: Sequence[Conversation]) -> Metrics:
    """Return the facts gained by asking, and the share of replies that solve: after a feeling, for
    users who came for solving, and for those who did not. None if not measured.
    """
    all_replies = list(replies(conversations))
    after_question, after_other = (_mean_facts(all_replies, asks) for asks in (True, False))
    question_value = None
    if after_question is not None and after_other is not None:
        question_value = after_question - after_other
    return {
        "grounding/question_value": question_value,
        "solving/after_feeling": mean_or_none([r.solves for r in all_replies if r.after_feeling]),
        "solving/where_wanted": mean_or_none([r.solves for r in all_replies if r.wanted is True]),
        "solving/where_unwanted": mean_or_none(
            [r.solves for r in all_replies if r.wanted is False]
        ),
    }


def _mean_facts(all_replies: Sequence[Reply], asks: bool) -> float | None:
    """Return the mean number of facts in answers to replies that ask, or to the others."""
    return mean_or_none(
        [r.facts_told for r in all_replies if r.facts_told is not None and r.asks == asks]
    )
