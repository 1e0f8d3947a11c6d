"""The deaf evaluation: the same users and draws, but the policy hears another user's words.

The loss of reward when deaf measures, without labels, what the policy's decisions gain from
listening. A language model decides on words, so its context holds the other user's words. The
tabular policy decides only on strategies; the grammar that words them still hears the user.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from harness.simulator.protocol import SupporterReply
from harness.train.metrics.held_out import Meeting
from harness.train.rollout.conversation import Speaker, WaveSpeakers, begin_reply
from harness.utils.pending import Pending, ready

Speakers = Callable[[Sequence[Meeting]], Speaker | WaveSpeakers[Speaker]]
"""Returns the speaker for some meetings. It draws from `held_out.TurnDraws` or `TableDraws`, so an
evaluation neither shifts the training's random numbers nor depends on the step."""
Words = Sequence[str]
"""A user's turns, one before each of the policy's replies."""
Swapped = Mapping[Meeting, Words]
"""The words that the policy hears instead of the user's, by meeting; see `DeafSpeaker`."""


@runtime_checkable
class StrategySpeaker(Protocol):
    """A policy that chooses strategies and leaves their wording to a grammar."""

    def reply(
        self, live: Sequence[int], heard: Sequence[str], actual_words: Sequence[str]
    ) -> list[SupporterReply]:
        """Reply as `speak` does, but choose strategies by `heard` and word them for a user who has
        said `actual_words`.
        """
        ...


class DeafSpeaker:
    """A policy that hears other words than its users'."""

    def __init__(self, speaker: Speaker, words: Sequence[Words]) -> None:
        """`words`: the words to hear in each conversation, one text per turn. The last is repeated
        after their end; if there are none, the user is heard.
        """
        self._speaker, self._words = speaker, words

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._turn = 0
        self._speaker.begin(count)

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Reply to other users' words in the conversations numbered `live`."""
        return self.begin_reply(live, heard)()

    def begin_reply(
        self, live: Sequence[int], heard: Sequence[str]
    ) -> Pending[list[SupporterReply]]:
        """Begin to reply as `speak` does."""
        turn, self._turn = self._turn, self._turn + 1
        other_words = [
            self._words[i][min(turn, len(self._words[i]) - 1)] if self._words[i] else user_words
            for i, user_words in zip(live, heard, strict=True)
        ]
        if isinstance(self._speaker, StrategySpeaker):
            return ready(self._speaker.reply(live, other_words, actual_words=heard))
        return begin_reply(self._speaker, live, other_words)


def speakers(hearing: Speakers, swapped: Swapped) -> Speakers:
    """Return the speakers of `hearing`, but hearing the words of `swapped` instead of users'."""

    def deaf(meetings: Sequence[Meeting]) -> Speaker | WaveSpeakers[Speaker]:
        speaker, words = hearing(meetings), [swapped[meeting] for meeting in meetings]
        if not isinstance(speaker, WaveSpeakers):
            return DeafSpeaker(speaker, words)
        parts = zip(speaker.speakers, speaker.shares(len(meetings)), strict=True)
        return WaveSpeakers(
            [
                DeafSpeaker(wave_speaker, [words[i] for i in indices])
                for wave_speaker, indices in parts
            ]
        )

    return deaf


def swap_words(heard: Mapping[Meeting, Words]) -> Swapped:
    """Return, for each meeting, words of other users of the same level and repeat.

    The words at a turn are those of the next user (after the last comes the first) whose
    conversation reached that turn. They end at the first turn that no other user reached, and may
    be empty.
    """
    groups: dict[tuple[int, int], list[Meeting]] = {}
    for meeting in heard:
        groups.setdefault((meeting.level, meeting.repeat), []).append(meeting)
    return {
        meeting: words
        for group in groups.values()
        for meeting, words in zip(
            group, _words_of_next_user([heard[m] for m in group]), strict=True
        )
    }


def _words_of_next_user(words: Sequence[Words]) -> list[list[str]]:
    """Return `swap_words` for users of one level and repeat."""
    swapped: list[list[str]] = [[] for _ in words]
    for turn in range(max(map(len, words), default=0)):
        reached = [user for user, turns in enumerate(words) if len(turns) > turn]
        for user, replacement in enumerate(swapped):
            partner = reached[bisect_right(reached, user) % len(reached)]
            if partner != user and len(replacement) == turn:
                replacement.append(words[partner][turn])
    return swapped
