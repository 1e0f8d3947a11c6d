"""The ranks of a run as one: work is split among them and their results are joined.

A run of one rank is a team without others. Results are in the order of the requests, as if one rank
had done all the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from torch import Tensor

from harness.train.engines.turn_group import GroupStopped
from harness.train.metrics import deaf, evaluate
from harness.train.metrics.evaluate import EpisodeResult
from harness.train.metrics.held_out import Meeting, at_once
from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings
from harness.train.ranks.batch_parts import by_tokens, join_results
from harness.train.ranks.calls import Calls
from harness.train.ranks.links import Links
from harness.train.ranks.work import (
    RankResult,
    RankWork,
    RefinementRequest,
    RolloutRequest,
    SampledConversations,
)
from harness.train.rollout.conversation import shares
from harness.train.rollout.curriculum import CurriculumState

if TYPE_CHECKING:
    from harness.train.ranks.sharded import ShardedWeights


class Team:
    """Rank 0 with its own work and the calls to other ranks."""

    def __init__(
        self, own: RankWork, calls: Calls | None = None, links: Links | None = None
    ) -> None:
        """`calls` and `links`: rank 0's; None if there are no other ranks."""
        self.own, self._links, self._has_shared = own, links, False
        self._calls = Calls(()) if calls is None else calls
        self._sharded: ShardedWeights | None = None

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._calls.size

    @property
    def is_sharded(self) -> bool:
        """Whether the weights are sharded; the learner then has all weights only in `whole`."""
        return self._sharded is not None

    @property
    def others_cpu_s(self) -> float:
        """CPU time of the other ranks' processes in seconds."""
        return sum(worker.cpu_s for worker in self._calls.others)

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Return a context in which all ranks can draw with rank 0's current weights."""
        self.share_weights()
        with self.whole():
            self._calls.ask_others("wake")
            with self.own.awake():
                self._calls.take()
                yield
            self._calls.ask_others("sleep")
            self._calls.take()

    def shard(self, make_optimiser: Callable[[Any], Any]) -> Any:
        """Shard the weights over the ranks (trainer.shard=full) and return the optimiser.

        `make_optimiser` makes it for rank 0's shards; its steps move the shards of all ranks.
        Raises ValueError without other ranks.
        """
        if self._links is None:
            raise ValueError("sharded weights need other ranks, got none")
        from harness.train.ranks.sharded import ShardedWeights  # imports FSDP2

        self.share_weights()
        self._sharded = ShardedWeights(self.own, self._links, self._calls)
        return self._sharded.sharded_optimiser(make_optimiser)

    def whole(self) -> AbstractContextManager[None]:
        """Return a context in which each rank's learner has all weights, to be read."""
        return nullcontext() if self._sharded is None else self._sharded.whole()

    def exact(self) -> AbstractContextManager[None]:
        """Return a context in which rank 0's learner has all weights, to be saved."""
        return nullcontext() if self._sharded is None else self._sharded.exact()

    def clip_gradient(self, max_norm: float) -> float | None:
        """Clip a sharded gradient to the norm `max_norm` and return its norm before.

        If rank 0 has the whole gradient, do nothing and return None.
        """
        return None if self._sharded is None else self._sharded.clip(max_norm)

    def share_weights(self) -> None:
        """Send rank 0's weights to the other ranks, unless they are sharded: all weights the first
        time, later the trainable ones.
        """
        if self._links is None or self._sharded is not None:
            return
        self._calls.ask_others("share_weights", not self._has_shared)
        with self._calls.watching():
            self._links.share_weights(self.own.learner, not self._has_shared)
        self._calls.take()
        self._has_shared = True

    def draw(
        self, curriculum: CurriculumState, step: int, attempt: int, groups: Sequence[int]
    ) -> SampledConversations:
        """Draw the conversations of some groups of a step, group by group."""
        requests = [
            RolloutRequest(curriculum, step, attempt, tuple(groups), own) if own else None
            for own in shares(len(groups), self.size)
        ]
        return self._draw_on_all("draw", requests)

    def redraw(self, request: RefinementRequest) -> SampledConversations:
        """Draw the continuations of conversations that are refined, in their order."""
        parts = [request.some(own) if own else None for own in shares(len(request.keys), self.size)]
        return self._draw_on_all("redraw", parts)

    def _draw_on_all(
        self, method: str, by_rank: Sequence[RolloutRequest | RefinementRequest | None]
    ) -> SampledConversations:
        """Let every rank draw its part and join the results; a rank with None draws nothing."""
        arguments = [None if part is None else (part,) for part in by_rank]
        parts = self._results_of_all(method, arguments, arguments[0])
        return SampledConversations(
            [conversation for part in parts for conversation in part.conversations],
            [trajectory for part in parts for trajectory in part.trajectories],
        )

    def _results_of_all(
        self, method: str, by_rank: Sequence[tuple[Any, ...] | None], own: tuple[Any, ...] | None
    ) -> list[Any]:
        """Return the results of the ranks that have something to draw.

        `own`: rank 0's arguments, or None.
        """
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
        """Whether ranks draw their turns in groups that share an engine by tensor parallelism."""
        return self.own.config.trainer.engine_tensor_parallel > 1

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Return a context in which only rank 0 holds conversations; its group draws with it."""
        if self._in_groups:
            self._calls.ask_others("listen")
        with self._in_step(), self.own.engine.speaking():
            yield
        if self._in_groups:
            self._calls.take()

    @contextmanager
    def _in_step(self) -> Iterator[None]:
        """Return a context in which rank 0 draws its part.

        If another rank of its group ends meanwhile, it raises that rank's error.
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
        """Return a `Meet` that holds an evaluation's conversations on all ranks, `size` at a time.

        `size`: by default `held_out.at_once`.
        """
        size = at_once(self.own.config) if size is None else size
        size_per_rank = max(1, size // self.size)

        def meet(
            batch: Sequence[Meeting], swapped: deaf.Swapped | None, watch: evaluate.Watch | None
        ) -> Mapping[Meeting, EpisodeResult]:
            parts = [batch[rank :: self.size] for rank in range(self.size)]  # all levels in each
            swapped_parts = [
                None if swapped is None else {meeting: swapped[meeting] for meeting in part}
                for part in parts
            ]
            arguments = [
                (part, words, size_per_rank)
                for part, words in zip(parts, swapped_parts, strict=True)
            ]
            progress = (
                None if watch is None else lambda done, _: watch(done * self.size, len(batch))
            )
            own_arguments = (parts[0], swapped_parts[0], size_per_rank, progress)
            results = dict[Meeting, EpisodeResult]()
            for part in self._results_of_all(
                "meet", [task if task[0] else None for task in arguments], own_arguments
            ):
                results |= part
            return {meeting: results[meeting] for meeting in batch}

        return meet

    def learn(self, batch: LossBatch, settings: LossSettings) -> LossResult:
        """Compute the loss over a batch, with its gradient in the `grad` of rank 0's learner."""
        if self._links is None:
            return self.own.learn(batch, settings)
        parts = by_tokens([len(row) for row in batch.ids], self.size)
        inputs = [(batch.some(part), settings.some(batch.places(part))) for part in parts]
        if self._sharded is not None:
            results = self._sharded.learn(inputs)
            return join_results(batch, parts, results, self.own.learner.device)
        self._ask_limited("learn", inputs)
        results = [self.own.learn(*inputs[0]), *self._take_limited()]
        self._calls.ask_others("gather_gradient")
        with self._calls.watching():
            self._links.gather_gradient(self.own.learner)
        self._calls.take()
        return join_results(batch, parts, results, self.own.learner.device)

    def log_probabilities(
        self, ids: Sequence[list[int]], own: Sequence[list[bool]]
    ) -> list[Tensor]:
        """Return the log-probabilities of each conversation's own tokens at the sampling
        temperature.
        """
        parts = by_tokens([len(row) for row in ids], self.size)
        inputs = [([ids[i] for i in part], [own[i] for i in part]) for part in parts]
        with self.whole():
            self._ask_limited("log_probabilities", inputs)
            results = [self.own.log_probabilities(*inputs[0]), *self._take_limited()]
        device = self.own.learner.device
        by_row = {
            i: row.to(device)
            for part, rows in zip(parts, results, strict=True)
            for i, row in zip(part, rows, strict=True)
        }
        return [by_row[i] for i in range(len(ids))]

    def _ask_limited(self, method: str, by_rank: Sequence[tuple[Any, ...]]) -> None:
        """Call `Calls.ask` with rank 0's limit of tokens at once as the first argument."""
        self._calls.ask(method, [(self.own.limit.most, *arguments) for arguments in by_rank])

    def _take_limited(self) -> list[Any]:
        """Call `Calls.take`, and adopt the lower limit of a rank on which memory ran out."""
        results: list[RankResult] = self._calls.take()
        for worker, result in zip(self._calls.others, results, strict=True):
            if result.most is not None:
                self.own.limit.lower(result.most, worker.rank)
        return [result.value for result in results]
