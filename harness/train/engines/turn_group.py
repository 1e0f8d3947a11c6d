"""Turns that neighbouring ranks draw together, since each has a part of the engine's weights.

An engine in parts draws only where all of a group's ranks call it, with the same requests. So every
call begins with a round, in which each says what it wants drawn: each then draws what all want and
keeps its own. A rank that has nothing more to say goes on taking part until none has.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from harness.train.engines.engine import Complete, TurnRequest
from harness.train.engines.sampler import SampledTurn


class Mates(Protocol):
    """The ranks of a group, as one of them has it."""

    @property
    def place(self) -> int:
        """This rank's place in the group."""
        ...

    @property
    def size(self) -> int:
        """Number of ranks in the group."""
        ...

    def gather(self, value: Any) -> Sequence[Any]:
        """What each rank gives, in their order; all call it together."""
        ...


class GroupStopped(Exception):
    """Another rank of the group has ended what it was at, by an error or a stop request."""


@dataclass(frozen=True, slots=True)
class RoundMessage:
    """What a rank says in a round."""

    request: TurnRequest | None = None
    """None where it has nothing more to say."""
    stops: bool = False
    """Whether it ends what it was at: the others are to do the same."""
    drawn: int = 0
    """A sum over the tokens of all turns that it has seen drawn so far."""


class TurnGroup:
    """One rank's part in the turns of its group."""

    def __init__(self, draw: Complete, mates: Mates) -> None:
        """`draw` is called by all ranks of the group at once, with equal requests, and must return
        equal tokens.
        """
        self._draw, self._mates = draw, mates
        self._drawn = 0
        self._broken = False

    def complete(self, request: TurnRequest) -> list[SampledTurn]:
        """A turn for each prompt of `request`, once all of the group have one or have no more.

        Raises GroupStopped, and what the engine raises.
        """
        return self._round(request)[self._mates.place]

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """A context in which this rank says what it has to say; in its end it takes part in the
        turns of the others, until none of the group has more. All ranks of the group enter it.
        """
        try:
            yield
        except GroupStopped:
            raise
        except BaseException:
            if not self._broken:  # else others are in no round, or within a turn that cannot end
                self._mates.gather(RoundMessage(stops=True))
            raise
        while self._round(None):
            pass

    def _round(self, request: TurnRequest | None) -> list[list[SampledTurn]]:
        """What each of the group gets; empty where none has more to say."""
        said: Sequence[RoundMessage] = self._mates.gather(RoundMessage(request, drawn=self._drawn))
        if any(one.stops for one in said):
            raise GroupStopped
        if len({one.drawn for one in said}) > 1:
            self._broken = True  # as all of the group see
            raise ValueError(
                "trainer.engine_tensor_parallel: ranks of a group must draw the same tokens, got "
                "others; choose trainer.engine_tensor_parallel=1"
            )
        turns = self._drawn_for([one.request for one in said])
        for turn in (turn for some in turns for turn in some):
            self._drawn = zlib.crc32(repr(turn.ids).encode(), self._drawn)
        return turns

    def _drawn_for(self, requests: Sequence[TurnRequest | None]) -> list[list[SampledTurn]]:
        wanted = [request for request in requests if request is not None]
        if not wanted:
            return []
        self._broken = True
        turns = iter(self._draw(joined(wanted)))
        self._broken = False
        counts = [0 if request is None else len(request.prompts) for request in requests]
        return [[next(turns) for _ in range(count)] for count in counts]


def joined(requests: Sequence[TurnRequest]) -> TurnRequest:
    """The requests of a round as one. A turn's limit, end and temperature are those of the run."""
    return replace(
        requests[0],
        prompts=[prompt for request in requests for prompt in request.prompts],
        seeds=[seed for request in requests for seed in request.seeds],
    )
