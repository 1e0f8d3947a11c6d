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
    trajectory: TokenTrajectory,
    chat: Chat,
    user_text: str,
    reply: int,
    is_opening: bool,
    critique: str,
) -> CritiquedPrefix:
    """Return the conversation of `trajectory` before reply number `reply`, from 0.

    `user_text`: the last words of the user before that reply; `critique`: see `CritiquedPrefix`.
    """
    frame = chat.opening if is_opening else chat.following
    length = trajectory.row.turn.index(reply + 1) - len(frame(user_text))
    return CritiquedPrefix(trajectory.until(length), is_opening, reply, critique)


class CritiquedSpeaker(LanguageSpeaker):
    """Continues conversations token by token; a critique is in the first new reply's prompt.

    It is in that prompt only. The trajectories and the start model's scores leave it out, and the
    sampler is rewound to before it when the next reply is drawn.
    """

    _prefixes: Sequence[CritiquedPrefix] = ()

    def go_on_from(self, prefixes: Sequence[CritiquedPrefix]) -> None:
        """Set the conversations that the next `begin` continues, in order."""
        self._prefixes = prefixes

    def begin(self, count: int) -> None:
        """Start the `count` conversations that `go_on_from` set."""
        super().begin(count)
        self._critiqued_ids: dict[int, list[int]] = {}
        trajectories = [prefix.trajectory for prefix in self._prefixes]
        self.trajectories = [one.until(len(one.row.ids)) for one in trajectories]

    def _earlier_replies(self, number: int) -> int:
        return self._prefixes[number].replies

    def _frame_words(self, live: Sequence[int], heard: Sequence[str]) -> list[list[int]]:
        if self._turn:
            return [self._chat.following(text) for text in heard]
        pairs = zip(live, heard, strict=True)
        return [self._frame_first(self._prefixes[i], text) for i, text in pairs]

    def _frame_first(self, prefix: CritiquedPrefix, text: str) -> list[int]:
        return self._chat.opening(text) if prefix.is_opening else self._chat.following(text)

    def _sampler_input(
        self, live: Sequence[int], heard: Sequence[str], ids: list[list[int]]
    ) -> list[list[int]]:
        if self._turn == 1:
            prefixes = [self._prefixes[i] for i in live]
            with_critiques = [
                self._frame_first(prefix, text + prefix.critique)
                for prefix, text in zip(prefixes, heard, strict=True)
            ]
            ids = self._append_to_all(live, with_critiques)
            self._critiqued_ids = {
                i: sampler_ids
                for i, sampler_ids in zip(live, ids, strict=True)
                if self._prefixes[i].critique
            }
        if self._turn == 2 and self._critiqued_ids:
            ids = self._rewind_critiques(live, ids)
        return ids

    def _judge_input(
        self, live: Sequence[int], ids: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[int]]:
        return self._append_to_all(live, ids) if self._turn == 1 else ids

    def _rewind_critiques(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """Rewind the sampler to before the critiques; return its input for each conversation.

        After a critique this is everything from there on without the critique; otherwise it is
        `new_ids`.
        """
        full_ids = dict(zip(live, self._append_to_all(live, new_ids), strict=True))
        critiqued = [i for i in live if i in self._critiqued_ids]
        lengths = {i: _common_length(self._critiqued_ids[i], full_ids[i]) for i in critiqued}
        self._sampler.rewind(lengths)
        return [
            full_ids[i][lengths[i] :] if i in lengths else [*ids]
            for i, ids in zip(live, new_ids, strict=True)
        ]

    def _append_to_all(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """Return `new_ids` appended to the ids of each conversation so far."""
        return [[*self.trajectories[i].row.ids, *ids] for i, ids in zip(live, new_ids, strict=True)]


def _common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of ids that both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
