"""One judge for conversations that go on by themselves: it scores replies in batches as they end.

A pass of the start model takes nearly as long for one reply as for many. So a reply waits for
others, but not for all: while it waits, the engine draws on. In the first pass a prefix that
its conversations share is read once; a conversation that comes later reads it for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from harness.train.engines.sampler import SampledTurn
from harness.train.rollout.start_judge import JudgedTurn, ReplyJudge, StartJudge
from harness.utils.pending import AwaitableResult, Pending

LEAST_SHARE = 0.25
"""A pass begins once this share of the turns that are begun and not scored yet have ended."""


@dataclass(frozen=True, slots=True, eq=False)
class BegunTurns:
    """Turns of a wave from when the engine begins them until they are scored."""

    live: Sequence[int]
    """Numbers of their conversations in the batch."""
    new_ids: Sequence[Sequence[int]]
    turns: AwaitableResult[list[SampledTurn]]
    judged: Future[list[JudgedTurn]] = field(default_factory=Future)
    """Set by the thread that reads it; a future, since `AwaitableResult` asks if it is done."""


class JudgeQueue:
    """Scores the replies of all waves of a batch, for one thread."""

    def __init__(self, judge: StartJudge) -> None:
        """`judge`: of all conversations of the batch."""
        self.judge = judge
        self._begun: list[BegunTurns] = []

    def of(self, conversations: range) -> ReplyJudge:
        """Return the judge of a wave, whose conversations are a range of the batch's."""
        return _WaveJudge(self, conversations)

    def add(self, begun: BegunTurns) -> AwaitableResult[list[JudgedTurn]]:
        """Score turns in one of the next passes after they have ended."""
        self._begun.append(begun)

        def wait() -> list[JudgedTurn]:
            while not begun.judged.done():
                if not self._work():
                    self._score([begun])  # waits for the engine
            return begun.judged.result()

        futures = (*begun.turns.futures, begun.judged)
        return AwaitableResult(wait, futures, begun.turns.poll, self._work)

    def _work(self) -> bool:
        """Draw a token, or score the replies that wait; return False if there is nothing to do.

        Replies are scored if enough of them wait or the engine needs nothing of this thread, as an
        engine at a server.
        """
        ended = [begun for begun in self._begun if begun.turns.is_ready]
        enough = ended and len(ended) >= LEAST_SHARE * len(self._begun)
        if not enough and any(begun.turns.work() for begun in self._begun):
            return True
        if ended:
            self._score(ended)
        return bool(ended)

    def _score(self, chosen: Sequence[BegunTurns]) -> None:
        """Score turns in one pass, after waiting for those that are not drawn yet.

        An error is that of all turns of the pass, whenever their results are asked for.
        """
        for begun in chosen:
            self._begun.remove(begun)
        live = [i for begun in chosen for i in begun.live]
        new_ids = [ids for begun in chosen for ids in begun.new_ids]
        try:
            drawn = [begun.turns() for begun in chosen]
            replies = [turn.ids for turns in drawn for turn in turns]
            scores = iter(self.judge.judge(live, new_ids, replies))
        except BaseException as error:
            for begun in chosen:
                begun.judged.set_exception(error)
            raise
        for begun, turns in zip(chosen, drawn, strict=True):
            begun.judged.set_result([JudgedTurn(turn, next(scores)) for turn in turns])


@dataclass(frozen=True, slots=True)
class _WaveJudge:
    queue: JudgeQueue
    conversations: range

    def begin(
        self,
        live: Sequence[int],
        new_ids: Sequence[Sequence[int]],
        turns: Pending[list[SampledTurn]],
    ) -> Pending[list[JudgedTurn]]:
        numbers = [self.conversations[i] for i in live]
        if isinstance(turns, AwaitableResult):
            return self.queue.add(BegunTurns(numbers, new_ids, turns))
        return self.queue.judge.begin(numbers, new_ids, turns)
