"""The deaf evaluation: the same users and draws, but the policy hears another user's words.

What a policy earns less when deaf is what its decisions earn by listening, without any labels. A
language model decides on its words: its context holds the other user's. The tabular policy decides
on strategies alone: the grammar that puts them into words still takes up what the user told.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from harness.simulator.protocol import SupporterReply
from harness.train.metrics.held_out import Meeting
from harness.train.rollout.conversation import InWaves, Speaker, begin_reply
from harness.utils.pending import Pending, ready

Speakers = Callable[[Sequence[Meeting]], Speaker | InWaves[Speaker]]
"""Makes the speaker of some meetings, which draws from `held_out.TurnDraws` or `TableDraws`: an
evaluation neither shifts the training's random numbers nor depends on when it happens."""
Words = Sequence[str]
"""What a user said before each of the policy's replies."""
Swapped = Mapping[Meeting, Words]
"""What the policy hears instead, by meeting; see `DeafSpeaker`."""


@runtime_checkable
class WordedApart(Protocol):
    """A policy that does not choose its words."""

    def reply(
        self, live: Sequence[int], heard: Sequence[str], told: Sequence[str]
    ) -> list[SupporterReply]:
        """Reply as `speak` does: choose by `heard`, put it into words by `told`."""
        ...


class DeafSpeaker:
    """A policy whose users' words are replaced by others."""

    def __init__(self, speaker: Speaker, words: Sequence[Words]) -> None:
        """`words`: what is heard instead in each conversation; where it ends, its last is repeated,
        and where it is empty the user is heard.
        """
        self._speaker, self._words = speaker, words

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._turn = 0
        self._speaker.begin(count)

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Reply in the conversations numbered `live` to other users' words."""
        return self.begin_reply(live, heard)()

    def begin_reply(
        self, live: Sequence[int], heard: Sequence[str]
    ) -> Pending[list[SupporterReply]]:
        """Begin to reply as `speak` does."""
        turn, self._turn = self._turn, self._turn + 1
        others = [
            self._words[i][min(turn, len(self._words[i]) - 1)] if self._words[i] else own
            for i, own in zip(live, heard, strict=True)
        ]
        if isinstance(self._speaker, WordedApart):
            return ready(self._speaker.reply(live, others, told=heard))
        return begin_reply(self._speaker, live, others)


def speakers(hearing: Speakers, swapped: Swapped) -> Speakers:
    """Makes the speakers of `hearing` deaf to their users: they hear what `swapped` has."""

    def deaf(held: Sequence[Meeting]) -> Speaker | InWaves[Speaker]:
        speaker, words = hearing(held), [swapped[meeting] for meeting in held]
        if not isinstance(speaker, InWaves):
            return DeafSpeaker(speaker, words)
        parts = zip(speaker.speakers, speaker.shares(len(held)), strict=True)
        return InWaves([DeafSpeaker(one, [words[i] for i in mine]) for one, mine in parts])

    return deaf


def exchanged(heard: Mapping[Meeting, Words]) -> Swapped:
    """The words of another user of the same level and repeat, for each meeting.

    Before each reply they are those of the next user, round from the last to the first, who was
    still there at that turn. They end where nobody else was, and are empty where nobody else spoke.
    """
    together: dict[tuple[int, int], list[Meeting]] = {}
    for meeting in heard:
        together.setdefault((meeting.level, meeting.repeat), []).append(meeting)
    return {
        meeting: words
        for held in together.values()
        for meeting, words in zip(held, _by_the_next([heard[m] for m in held]), strict=True)
    }


def _by_the_next(words: Sequence[Words]) -> list[list[str]]:
    """`exchanged` for users who all meet the policy once."""
    swapped: list[list[str]] = [[] for _ in words]
    for turn in range(max(map(len, words), default=0)):
        there = [user for user, own in enumerate(words) if len(own) > turn]
        for user, new in enumerate(swapped):
            partner = there[bisect_right(there, user) % len(there)]
            if partner != user and len(new) == turn:
                new.append(words[partner][turn])
    return swapped
