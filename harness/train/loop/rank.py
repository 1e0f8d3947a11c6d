"""The process of a rank other than rank 0: the models and the engine that rank 0 calls.

`python -m harness.train.loop.rank CALLS ASKS PID RUN`: started by rank 0, which is process PID, for
the run RUN. CALLS and ASKS are file descriptors of two sockets.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import ExitStack, redirect_stderr, suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.train.engines.turn_group import GroupStopped
from harness.train.loop import device_errors
from harness.train.loop import start as starts
from harness.train.loop.start import StartModels
from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings
from harness.train.objective.micro_batches import TokenLimit
from harness.train.ranks import roll_call
from harness.train.ranks.links import LINKED_WITHIN_S, GroupLinks, Links, Rendezvous, mates_of
from harness.train.ranks.nodes import local_address
from harness.train.ranks.work import (
    RankResult,
    RankWork,
    RefinementRequest,
    RolloutRequest,
    SampledConversations,
)
from harness.train.ranks.worker import serve
from harness.utils import process, safe_text


class Rank:
    """A rank other than rank 0, whose methods rank 0 calls."""

    _config: RunConfig
    _models: StartModels
    _note_entropies: bool
    _work: RankWork
    _links: Links

    def __init__(self, asks: Connection, scratch: Path) -> None:
        """`asks`: connection for requests to rank 0; `scratch`: see `starts.engine_of`."""
        self._asks, self._scratch = asks, scratch
        self._running, self._awake = ExitStack(), ExitStack()
        self._shards: Any = None
        self._mates: GroupLinks | None = None

    def keeps_step(self) -> bool:
        """Return whether other ranks wait for this one in collective operations of torch."""
        return self._shards is not None or self._mates is not None

    def begin(self, config: RunConfig, note_entropies: bool) -> None:
        """Load the models without printing, since rank 0 prints the same notices."""
        torch.set_num_threads(config.trainer.threads)
        if config.simulator.kind == "served":
            from harness.simulator.served import relay

            relay.relay_through(self._asks)
        with redirect_stderr(io.StringIO()):
            self._models = starts.load(config, starts.device_of(config))
        self._config, self._note_entropies = config, note_entropies

    def start_engine(self) -> None:
        """Start the engine."""
        config, models, note_entropies = self._config, self._models, self._note_entropies
        callbacks = _go_on, _end
        running = starts.running_engine(
            config, models, note_entropies, *callbacks, self._scratch, self._mates
        )
        engine = self._running.enter_context(running)
        self._work = RankWork(
            config, models.learner, models.judge, models.chat, engine, TokenLimit()
        )

    def link(self, rendezvous: Rendezvous, rank: int, size: int, group_size: int) -> None:
        """Connect to the other ranks; `group_size`: number of ranks that share an engine."""
        device = self._models.learner.device.type
        address = local_address(self._asks)  # None on rank 0's node
        rendezvous = rendezvous if address is None else replace(rendezvous, address=address)
        self._links = Links(rendezvous, rank, size, device, LINKED_WITHIN_S)
        roll_call.answer(rendezvous.store(roll_call.NAME, size), rank, self._rounds)
        self._mates = mates_of(self._links, group_size)

    def _rounds(self) -> int:
        return 0 if self._mates is None else self._mates.rounds

    def wake(self) -> None:
        """Get ready to draw conversations."""
        self._awake.enter_context(self._work.awake())

    def sleep(self) -> None:
        """Stop drawing conversations."""
        self._awake.close()

    def share_weights(self, all_weights: bool) -> None:
        """Receive rank 0's weights."""
        self._links.share_weights(self._work.learner, all_weights)

    def shard(self) -> None:
        """Keep only this rank's shards of the weights; see trainer.shard."""
        from harness.train.ranks.shards import Shards  # imports FSDP2

        self._shards = Shards(self._work, self._links)
        self._shards.make_optimiser()

    def shards(self, method: str, *arguments: Any) -> Any:
        """Call a method of `Shards` and return its result on the CPU."""
        value = getattr(self._shards, method)(*arguments)
        return on_cpu(value) if isinstance(value, LossResult) else value

    def gather_gradient(self) -> None:
        """Send the gradient to rank 0."""
        self._links.gather_gradient(self._work.learner)

    def listen(self) -> None:
        with suppress(GroupStopped):  # rank 0 knows the reason
            self._work.listen()

    def draw(self, request: RolloutRequest) -> SampledConversations | None:
        """Return `RankWork.draw`'s result; None if another rank of the group ended the drawing."""
        with suppress(GroupStopped):
            return self._work.draw(request)
        return None

    def redraw(self, request: RefinementRequest) -> SampledConversations | None:
        """Return `RankWork.redraw`'s result; None as in `draw`."""
        with suppress(GroupStopped):
            return self._work.redraw(request)
        return None

    def meet(self, *arguments: Any) -> Any:
        """Return `RankWork.meet`'s result; None as in `draw`."""
        with suppress(GroupStopped):
            return self._work.meet(*arguments)
        return None

    def learn(self, limit: int | None, batch: LossBatch, settings: LossSettings) -> RankResult:
        """Return `RankWork.learn`'s result on the CPU, to be sent through a socket.

        `limit`: that of tokens at once, which rank 0 sets.
        """
        self._work.limit.most = limit
        result = on_cpu(self._work.learn(batch, settings))
        return RankResult(result, self._work.limit.most)

    def log_probabilities(self, limit: int | None, *arguments: Any) -> RankResult:
        """Return `RankWork.log_probabilities`'s result on the CPU; `limit`: see `learn`."""
        self._work.limit.most = limit
        rows = [row.cpu() for row in self._work.log_probabilities(*arguments)]
        return RankResult(rows, self._work.limit.most)


def on_cpu(result: LossResult) -> LossResult:
    """Return the result with its tensors on the CPU, so that it can be sent through a socket."""
    return replace(result, scored=[row.to(torch.device("cpu")) for row in result.scored])


def main() -> None:
    calls, asks = (Connection(int(word)) for word in sys.argv[1:3])
    parent, run = int(sys.argv[3]), sys.argv[4]
    for number in process.STOP_SIGNALS:  # sent to all by a terminal; rank 0 handles them
        signal.signal(number, signal.SIG_IGN)
    process.die_with(parent)
    process.keep_private()
    rank = Rank(asks, Path(run) / ".scratch")
    explain = partial(device_errors.explain, run)
    serve(calls, rank, explain, rank.keeps_step)


def _go_on() -> None:
    """Do nothing: stop requests are rank 0's to obey."""


def _end(why: str) -> None:
    """End this process. Rank 0 notices it."""
    safe_text.say(why)
    os._exit(StoppedError.exit_code)


if __name__ == "__main__":
    main()
