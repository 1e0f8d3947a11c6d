"""A language model that continues its own conversations after a critique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from harness.policy.chat import Chat
from harness.train.rollout.speaker import LanguageSpeaker, TokenTrajectory


@dataclass(frozen=True, slots=True)
class CritiquedPrefix:
    """A conversation in tokens up to a reply that is drawn again."""

    trajectory: TokenTrajectory
    """The conversation without the user's last words before that reply."""
    is_opening: bool
    """Whether those words are the user's first."""
    replies: int
    """Number of the policy's own replies so far."""
    critique: str
    """Appended to the user's last words for that reply only; may be empty."""


def critiqued_prefix(
    trajectory: TokenTrajectory, chat: Chat, heard: str, reply: int, is_opening: bool, critique: str
) -> CritiquedPrefix:
    """Return the conversation of `trajectory` before reply number `reply`, from 0.

    `heard`: the user's last words before that reply; `critique`: see
    `CritiquedPrefix`.
    """
    frame = chat.opening if is_opening else chat.following
    place = trajectory.row.turn.index(reply + 1) - len(frame(heard))
    return CritiquedPrefix(trajectory.until(place), is_opening, reply, critique)


class CritiquedSpeaker(LanguageSpeaker):
    """Continues conversations token by token; a critique is in the first new reply's prompt.

    It is in that prompt only. The trajectories and the start model's scores leave it out, and the
    sampler is rewound to before it when the next reply is drawn.
    """

    _so_far: Sequence[CritiquedPrefix] = ()

    def go_on_from(self, so_far: Sequence[CritiquedPrefix]) -> None:
        """Set the conversations that the next `begin` continues, in order."""
        self._so_far = so_far

    def begin(self, count: int) -> None:
        """Start the `count` conversations that `go_on_from` set."""
        super().begin(count)
        self._told: dict[int, list[int]] = {}
        whole = [one.trajectory.until(len(one.trajectory.row.ids)) for one in self._so_far]
        self.trajectories = whole

    def _earlier(self, number: int) -> int:
        return self._so_far[number].replies

    def _framed(self, live: Sequence[int], heard: Sequence[str]) -> list[list[int]]:
        if self._turn:
            return [self._chat.following(text) for text in heard]
        pairs = zip(live, heard, strict=True)
        return [self._framed_first(self._so_far[i], text) for i, text in pairs]

    def _framed_first(self, so_far: CritiquedPrefix, text: str) -> list[int]:
        return self._chat.opening(text) if so_far.is_opening else self._chat.following(text)

    def _sampler_reads(
        self, live: Sequence[int], heard: Sequence[str], ids: list[list[int]]
    ) -> list[list[int]]:
        if self._turn == 1:
            some = [self._so_far[i] for i in live]
            told = [
                self._framed_first(one, text + one.critique)
                for one, text in zip(some, heard, strict=True)
            ]
            ids = self._after_all(live, told)
            self._told = {
                i: read for i, read in zip(live, ids, strict=True) if self._so_far[i].critique
            }
        if self._turn == 2 and self._told:
            ids = self._untold(live, ids)
        return ids

    def _judge_reads(
        self, live: Sequence[int], ids: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[int]]:
        return self._after_all(live, ids) if self._turn == 1 else ids

    def _untold(self, live: Sequence[int], new: Sequence[Sequence[int]]) -> list[list[int]]:
        """Rewind the sampler to before the critiques; return its input for each conversation.

        After a critique this is everything from there on without the critique; otherwise it is
        `new`.
        """
        whole = dict(zip(live, self._after_all(live, new), strict=True))
        told = [i for i in live if i in self._told]
        kept = {i: _common(self._told[i], whole[i]) for i in told}
        self._sampler.rewind(kept)
        return [
            whole[i][kept[i] :] if i in kept else [*ids] for i, ids in zip(live, new, strict=True)
        ]

    def _after_all(self, live: Sequence[int], new: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return `new` appended to the ids of each conversation so far."""
        return [[*self.trajectories[i].row.ids, *ids] for i, ids in zip(live, new, strict=True)]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of ids that both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
