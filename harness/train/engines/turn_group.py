"""Turns drawn together by the ranks of a group that share an engine by tensor parallelism.

Such an engine draws only if all ranks of the group call it with the same requests. Every call
therefore begins with a round in which all ranks exchange their requests. Each then draws for all
requests and keeps its own turns. A rank without further requests takes part until no rank has any.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from harness.train.engines.engine import Complete, TurnRequest
from harness.train.engines.sampler import SampledTurn


class GroupPeers(Protocol):
    """The ranks of a group, from the view of one of them."""

    @property
    def place(self) -> int:
        """This rank's place in the group."""
        ...

    @property
    def size(self) -> int:
        """Number of ranks in the group."""
        ...

    def gather(self, value: Any) -> Sequence[Any]:
        """Return the values of all ranks, in order; all ranks must call it together."""
        ...


class GroupStopped(Exception):
    """Another rank of the group has ended its conversations, by an error or a stop request."""


@dataclass(frozen=True, slots=True)
class RoundMessage:
    """The message of a rank in a round."""

    request: TurnRequest | None = None
    """None if the rank has no further request."""
    stops: bool = False
    """Whether the rank ends its conversations, so that the others must end theirs."""
    drawn: int = 0
    """A checksum of all turns drawn so far."""


class TurnGroup:
    """The turns of a group, from the view of one rank."""

    def __init__(self, draw: Complete, mates: GroupPeers) -> None:
        """`draw` is called by all ranks of the group together with equal requests, and must return
        equal tokens.
        """
        self._draw, self._mates = draw, mates
        self._drawn = 0
        self._broken = False

    def complete(self, request: TurnRequest) -> list[SampledTurn]:
        """Return a turn for each prompt of `request`, drawn when all ranks of the group take part.

        Raises GroupStopped if another rank stops, and the engine's errors.
        """
        return self._round(request)[self._mates.place]

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Return a context in which this rank draws its turns, and which all ranks of the group
        enter.

        At its end the rank takes part in the turns of the others until none has further requests.
        """
        try:
            yield
        except GroupStopped:
            raise
        except BaseException:
            if not self._broken:  # else no rank waits in a round
                self._mates.gather(RoundMessage(stops=True))
            raise
        while self._round(None):
            pass

    def _round(self, request: TurnRequest | None) -> list[list[SampledTurn]]:
        """Return the turns of each rank of the group; empty if no rank has a request."""
        messages: Sequence[RoundMessage] = self._mates.gather(
            RoundMessage(request, drawn=self._drawn)
        )
        if any(message.stops for message in messages):
            raise GroupStopped
        if len({message.drawn for message in messages}) > 1:
            self._broken = True  # all ranks of the group see it
            raise ValueError(
                "trainer.engine_tensor_parallel: ranks of a group must sample the same tokens, got "
                "different ones; choose trainer.engine_tensor_parallel=1"
            )
        turns = self._draw_for([message.request for message in messages])
        for turn in (turn for rank_turns in turns for turn in rank_turns):
            self._drawn = zlib.crc32(repr(turn.ids).encode(), self._drawn)
        return turns

    def _draw_for(self, requests: Sequence[TurnRequest | None]) -> list[list[SampledTurn]]:
        active = [request for request in requests if request is not None]
        if not active:
            return []
        self._broken = True
        turns = iter(self._draw(join_requests(active)))
        self._broken = False
        counts = [0 if request is None else len(request.prompts) for request in requests]
        return [[next(turns) for _ in range(count)] for count in counts]


def join_requests(requests: Sequence[TurnRequest]) -> TurnRequest:
    """Return the requests of a round as one; limit, end and temperature are equal in all."""
    return replace(
        requests[0],
        prompts=[prompt for request in requests for prompt in request.prompts],
        seeds=[seed for request in requests for seed in request.seeds],
    )
