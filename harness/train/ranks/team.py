"""The ranks of a run as one: work is split among them and their results are joined.

A run of one rank is a team without others. What is returned is in the order of what was asked, as
if one rank had done it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.train.engines.turn_group import GroupStopped
from harness.train.metrics import deaf, evaluate
from harness.train.metrics.evaluate import Result
from harness.train.metrics.held_out import Meeting, at_once
from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings, Scored
from harness.train.ranks.calls import Calls
from harness.train.ranks.links import Links
from harness.train.ranks.work import Draw, Drawn, Limited, Redraw, Work
from harness.train.rollout.conversation import shares
from harness.train.rollout.curriculum import CurriculumState

if TYPE_CHECKING:
    from harness.train.ranks.sharded import ShardedWeights


class Team:
    """Rank 0 with its own work, and the others."""

    def __init__(self, own: Work, calls: Calls | None = None, links: Links | None = None) -> None:
        """`calls` and `links`: those of rank 0; None if there are no others."""
        self.own, self._links, self._met = own, links, False
        self._calls = Calls(()) if calls is None else calls
        self._sharded: ShardedWeights | None = None

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._calls.size

    @property
    def is_sharded(self) -> bool:
        """Whether each rank has a part of the weights; the learner has them in `whole` alone."""
        return self._sharded is not None

    @property
    def others_cpu_s(self) -> float:
        """CPU time that the other ranks' processes have taken."""
        return sum(worker.cpu_s for worker in self._calls.others)

    @contextmanager
    def awake(self) -> Iterator[None]:
        """A context in which conversations are drawn, with rank 0's current weights."""
        self.share_weights()
        with self.whole():
            self._calls.ask_others("wake")
            with self.own.awake():
                self._calls.take()
                yield
            self._calls.ask_others("sleep")
            self._calls.take()

    def shard(self, make_optimiser: Callable[[Any], Any]) -> Any:
        """Part the weights among the ranks, as trainer.shard=full has it. Returns the optimiser,
        which `make_optimiser` makes of a model of rank 0's parts, and which moves all ranks'.
        """
        if self._links is None:
            raise ValueError("sharded weights need other ranks, got none")
        from harness.train.ranks.sharded import ShardedWeights  # and torch's FSDP2

        self.share_weights()
        self._sharded = ShardedWeights(self.own, self._links, self._calls)
        return self._sharded.made(make_optimiser)

    def whole(self) -> AbstractContextManager[None]:
        """A context in which each rank's learner has all weights, to be read."""
        return nullcontext() if self._sharded is None else self._sharded.whole()

    def exact(self) -> AbstractContextManager[None]:
        """A context in which rank 0's learner has the weights that are to be saved."""
        return nullcontext() if self._sharded is None else self._sharded.exact()

    def clipped(self, most: float) -> float | None:
        """Clip the gradient, of which each rank has a part, and return the norm that it had. None,
        with nothing done, where rank 0 has it whole.
        """
        return None if self._sharded is None else self._sharded.clip(most)

    def share_weights(self) -> None:
        """Give the other ranks rank 0's weights, unless each has parts of its own: at first all,
        then those that learn.
        """
        if self._links is None or self._sharded is not None:
            return
        self._calls.ask_others("share_weights", not self._met)
        with self._calls.watching():
            self._links.share_weights(self.own.learner, not self._met)
        self._calls.take()
        self._met = True

    def draw(
        self, curriculum: CurriculumState, step: int, attempt: int, groups: Sequence[int]
    ) -> Drawn:
        """The conversations of some groups of a step, group by group."""
        asked = [
            Draw(curriculum, step, attempt, tuple(groups), own) if own else None
            for own in shares(len(groups), self.size)
        ]
        return self._by_all("draw", asked)

    def redraw(self, asked: Redraw) -> Drawn:
        """What becomes of conversations that are spoken again, in their order."""
        parts = [asked.some(own) if own else None for own in shares(len(asked.keys), self.size)]
        return self._by_all("redraw", parts)

    def _by_all(self, method: str, by_rank: Sequence[Draw | Redraw | None]) -> Drawn:
        """What all ranks draw, each its own part, None where it has none."""
        asked = [None if part is None else (part,) for part in by_rank]
        parts = self._drawn(method, asked, asked[0])
        return Drawn(
            [conversation for part in parts for conversation in part.conversations],
            [trajectory for part in parts for trajectory in part.trajectories],
        )

    def _drawn(
        self, method: str, by_rank: Sequence[tuple[Any, ...] | None], own: tuple[Any, ...] | None
    ) -> list[Any]:
        """What the ranks that have something to draw return; `own`: rank 0's arguments."""
        self._calls.ask(method, by_rank, "listen" if self._in_groups else None)
        values = []
        with self._in_step():
            if own is not None:
                values.append(getattr(self.own, method)(*own))
            else:
                self.own.listen()
        return [*values, *(value for value in self._calls.take() if value is not None)]

    @property
    def _in_groups(self) -> bool:
        """Whether ranks draw their turns in groups, each of which has the engine's weights once."""
        return self.own.config.trainer.engine_tensor_parallel > 1

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A context in which rank 0 draws by itself; the ranks of its group draw with it."""
        if self._in_groups:
            self._calls.ask_others("listen")
        with self._in_step(), self.own.engine.speaking():
            yield
        if self._in_groups:
            self._calls.take()

    @contextmanager
    def _in_step(self) -> Iterator[None]:
        """A context in which rank 0 draws its part: where another rank of its group has ended, the
        error is that rank's.
        """
        if not self._in_groups:
            yield
            return
        try:
            with self._calls.drawing():
                yield
        except GroupStopped:
            self._calls.take()
            raise

    def meeting(self, size: int | None = None) -> evaluate.Meet:
        """Holds the conversations of an evaluation: `size` at a time, as many as a batch has if
        None, by all ranks together.
        """
        size = at_once(self.own.config) if size is None else size
        each = max(1, size // self.size)

        def meet(
            some: Sequence[Meeting], instead: deaf.Swapped | None, watch: evaluate.Watch | None
        ) -> Mapping[Meeting, Result]:
            parts = [some[rank :: self.size] for rank in range(self.size)]  # all levels in each
            heard = [
                None if instead is None else {meeting: instead[meeting] for meeting in part}
                for part in parts
            ]
            asked = [(part, words, each) for part, words in zip(parts, heard, strict=True)]
            seen = None if watch is None else lambda held, _: watch(held * self.size, len(some))
            own = (parts[0], heard[0], each, seen)
            results = dict[Meeting, Result]()
            for part in self._drawn("meet", [task if task[0] else None for task in asked], own):
                results |= part
            return {meeting: results[meeting] for meeting in some}

        return meet

    def learn(self, batch: LossBatch, settings: LossSettings) -> LossResult:
        """Put the gradient of the loss over a batch into the learner's `grad` of rank 0."""
        if self._links is None:
            return self.own.learn(batch, settings)
        parts = by_tokens([len(row) for row in batch.ids], self.size)
        asked = [(batch.some(part), settings.some(batch.places(part))) for part in parts]
        if self._sharded is not None:
            results = self._sharded.learn(asked)
            return _joined(batch, parts, results, self.own.learner.device)
        self._ask_limited("learn", asked)
        results = [self.own.learn(*asked[0]), *self._take_limited()]
        self._calls.ask_others("gather_gradient")
        with self._calls.watching():
            self._links.gather_gradient(self.own.learner)
        self._calls.take()
        return _joined(batch, parts, results, self.own.learner.device)

    def log_probabilities(
        self, ids: Sequence[list[int]], own: Sequence[list[bool]]
    ) -> list[Tensor]:
        """Log-probabilities of each conversation's own tokens at the sampling temperature."""
        parts = by_tokens([len(row) for row in ids], self.size)
        asked = [([ids[i] for i in part], [own[i] for i in part]) for part in parts]
        with self.whole():
            self._ask_limited("log_probabilities", asked)
            results = [self.own.log_probabilities(*asked[0]), *self._take_limited()]
        device = self.own.learner.device
        by_row = {
            i: row.to(device)
            for part, rows in zip(parts, results, strict=True)
            for i, row in zip(part, rows, strict=True)
        }
        return [by_row[i] for i in range(len(ids))]

    def _ask_limited(self, method: str, by_rank: Sequence[tuple[Any, ...]]) -> None:
        """As `Calls.ask`, with what one rank may read at once, which is rank 0's to say."""
        self._calls.ask(method, [(self.own.limit.most, *arguments) for arguments in by_rank])

    def _take_limited(self) -> list[Any]:
        """As `Calls.take`; none reads more at once than a rank on which memory ran out."""
        taken: list[Limited] = self._calls.take()
        for worker, limited in zip(self._calls.others, taken, strict=True):
            if limited.most is not None:
                self.own.limit.lower(limited.most, worker.rank)
        return [limited.value for limited in taken]


def by_tokens(lengths: Sequence[int], parts: int) -> list[list[int]]:
    """Conversations, by number, in parts that have about as many tokens each."""
    members: list[list[int]] = [[] for _ in range(parts)]
    tokens = [0] * parts
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = tokens.index(min(tokens))
        members[least].append(i)
        tokens[least] += lengths[i]
    return [sorted(part) for part in members]


def _joined(
    batch: LossBatch,
    parts: Sequence[Sequence[int]],
    results: Sequence[LossResult],
    device: torch.device,
) -> LossResult:
    """The result of a batch from those of its parts, which have its denominator."""
    scored: dict[int, Scored] = {}
    counts = [sum(sum(batch.own[i]) for i in part) for part in parts]
    for part, result in zip(parts, results, strict=True):
        scored |= {i: row.to(device) for i, row in zip(part, result.scored, strict=True)}

    def share(values: Sequence[float]) -> float:
        weighted = (n * value for n, value in zip(counts, values, strict=True))
        return sum(weighted) / sum(counts)

    return LossResult(
        value=sum(result.value for result in results),
        scored=[scored[i] for i in range(len(batch.ids))],
        low_share=share([result.low_share for result in results]),
        high_share=share([result.high_share for result in results]),
        acted_share=share([result.acted_share for result in results]),
    )
