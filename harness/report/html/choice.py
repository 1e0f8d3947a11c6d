"""The rule by which conversations of a run are chosen, so that they are not picked for effect.

A run saves far more conversations than anyone reads. For the first step, the last step and the
steps next to the onset, and for each level met there, the conversations with the lowest, the middle
and the highest reward (or final emotion, if no reward was kept) are chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.records import saved_conversations
from harness.records.saved_conversations import SavedConversation

FIRST, LAST, BEFORE, AFTER = "first step", "last step", "before the onset", "after the onset"
WORST, MIDDLE, BEST = "worst", "middle", "best"
RULE = (
    "The worst, the middle and the best conversation of each level, at the first and the last step "
    "with saved conversations and at the steps next to the onset. Conversations are ranked by "
    "reward, or by final emotion if the reward was not saved; among equals the first is shown. "
    "Lost conversations are left out."
)
KINDS = (
    ((FIRST, LAST), (MIDDLE,)),
    ((FIRST, LAST), (WORST, BEST)),
    ((BEFORE, AFTER), (MIDDLE,)),
    ((BEFORE, AFTER), (WORST, BEST)),
)
"""Moments and ranks of each kind, in the order in which kinds are added until the page is full."""


@dataclass(frozen=True)
class ChosenConversation:
    """A conversation, and why it was chosen."""

    conversation: SavedConversation
    moments: tuple[str, ...]
    """FIRST, LAST, BEFORE, AFTER: a step may be several of them."""
    rank: str
    """WORST, MIDDLE or BEST."""

    @property
    def kind(self) -> int:
        """Index of the first entry of KINDS that it belongs to."""
        return next(
            index
            for index, (moments, ranks) in enumerate(KINDS)
            if self.rank in ranks and set(moments) & set(self.moments)
        )


@dataclass(frozen=True)
class RunConversations:
    """The conversations chosen from a run, and notes on the choice."""

    chosen: tuple[ChosenConversation, ...]
    saved_steps: int
    notes: tuple[str, ...]
    """Files that could not be read, and information that older files lack."""


def choose_in_process(question: tuple[Path, float | None]) -> RunConversations:
    """Call `choose_conversations` with one argument, for a process pool."""
    return choose_conversations(*question)


def choose_conversations(folder: Path, onset: float | None) -> RunConversations:
    """Choose conversations by the rule. A damaged file becomes a note."""
    try:
        steps = saved_conversations.steps(folder)
    except OSError as error:
        return RunConversations(
            (), 0, (f"conversations cannot be listed: {error.strerror or error}",)
        )
    chosen: list[ChosenConversation] = []
    notes: dict[str, None] = {}
    for step, moments in moments_of(steps, onset).items():
        try:
            saved = saved_conversations.read(folder, step)
        except DataError as error:
            notes[str(error)] = None
            continue
        if saved.note:
            notes[saved.note] = None
        chosen += choose_of_step(saved.conversations, moments)
    return RunConversations(tuple(chosen), len(steps), tuple(notes))


def moments_of(steps: Sequence[int], onset: float | None) -> dict[int, tuple[str, ...]]:
    """Return step -> its moments, in order of steps."""
    moments: dict[int, tuple[str, ...]] = {}

    def add(step: int, moment: str) -> None:
        moments[step] = (*moments.get(step, ()), moment)

    if steps:
        add(steps[0], FIRST)
        if len(steps) > 1:
            add(steps[-1], LAST)
    if onset is not None:
        earlier = [step for step in steps if step < onset]
        later = [step for step in steps if step >= onset]
        if earlier:
            add(earlier[-1], BEFORE)
        if later:
            add(later[0], AFTER)
    return dict(sorted(moments.items()))


def choose_of_step(
    conversations: Sequence[SavedConversation], moments: tuple[str, ...]
) -> Iterator[ChosenConversation]:
    """Yield the worst, the middle and the best conversation of each level, without repetitions."""
    levels = dict.fromkeys(conversation.level for conversation in conversations)
    for level in levels:
        ranked = [
            (score, conversation.group, conversation.sample, conversation)
            for conversation in conversations
            if conversation.level == level and (score := conversation.score) is not None
        ]
        ranked.sort(key=lambda entry: (entry[0], entry[1], entry[2]))
        if not ranked:
            continue
        best = next(index for index, entry in enumerate(ranked) if entry[0] == ranked[-1][0])
        middle = (len(ranked) - 1) // 2
        for rank, index in ((WORST, 0), (MIDDLE, middle), (BEST, best)):
            if rank == MIDDLE or (index != middle and best > 0):
                yield ChosenConversation(ranked[index][3], moments, rank)
