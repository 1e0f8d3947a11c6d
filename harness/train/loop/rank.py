"""The processes of a run's ranks: how rank 0 starts and joins the others, and what those run.

`python -m harness.train.loop.rank CALLS ASKS PID RUN`: started by rank 0, process PID, for the run,
with two sockets.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    redirect_stderr,
    suppress,
)
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import torch

from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.train.engines.engine import Engine
from harness.train.engines.turn_group import GroupStopped
from harness.train.loop import device_errors
from harness.train.loop import start as starts
from harness.train.loop.session import Session
from harness.train.loop.start import StartModels
from harness.train.objective.language_loss import LossBatch, LossResult, LossSettings
from harness.train.objective.micro_batches import TokenLimit
from harness.train.ranks.calls import Calls
from harness.train.ranks.links import GroupLinks, Links, Rendezvous, store_of_nodes
from harness.train.ranks.nodes import Nodes, local_address
from harness.train.ranks.team import Team
from harness.train.ranks.work import Draw, Drawn, Limited, Redraw, Work
from harness.train.ranks.worker import Call, RankLost, Worker, first_gone, serve, started_here
from harness.utils import process, safe_text, slurm_step

ENDS_WITHIN_S = 60.0
"""Most time for a run on GPUs to end once a rank is lost: a transfer that never ends may be in the
way."""
LINKED_WITHIN_S = 600.0
"""Longest wait of one rank for the others' tensors, all of which are at hand by then."""


@dataclass(frozen=True)
class Others:
    """The other ranks of a run."""

    workers: list[Worker]
    where: Rendezvous | None
    """Where all ranks find each other; None if there are no others."""

    def check_alive(self) -> None:
        """Raise RankLost if the process of one is gone."""
        for worker in self.workers:
            worker.check_alive()


@contextmanager
def started(session: Session, note_entropies: bool) -> Iterator[Others]:
    """The other ranks of a run, which load their models while rank 0 loads its own; ended in the
    end. Rank 0 keeps the first of the run's GPUs for itself.

    A rank that is lost costs the step at hand alone: the last whole one is saved, unless weights
    are sharded.
    """
    config = session.config
    cards = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if config.trainer.gpus else []
    with ExitStack() as stack:
        nodes = _nodes(session, stack)
        workers = list[Worker]()
        for worker in _workers(session, nodes, cards):
            stack.callback(worker.end)
            _ask_for(worker, session)
            worker.send(Call("begin", (config, note_entropies)))
            workers.append(worker)
        if workers and cards:
            os.environ["CUDA_VISIBLE_DEVICES"] = cards[0]
        try:
            yield Others(workers, _rendezvous(nodes, stack) if workers else None)
        except RankLost:
            is_whole = config.trainer.shard == "none"
            if is_whole:  # else a part of it is gone
                session.save_last()
            if cards or not is_whole:
                safe_text.exit_within(ENDS_WITHIN_S, StoppedError.exit_code)
            raise


def _nodes(session: Session, stack: ExitStack) -> Nodes | None:
    """The run's other nodes, once all have called; a stop request ends that."""
    count = session.config.trainer.nodes
    if count == 1:
        return None
    step = slurm_step.read(count)
    with session.leaving.at_once("while its nodes joined"):
        nodes = Nodes(session.run.path, step)
    stack.callback(nodes.close)
    return nodes


def _workers(session: Session, nodes: Nodes | None, cards: list[str]) -> Iterator[Worker]:
    """The ranks but the first, node by node."""
    run, trainer = session.run.path, session.config.trainer
    for rank in range(1, trainer.of_a_node):
        yield started_here(run, rank, trainer.world, cards[rank] if cards else "")
    if nodes is not None:
        for node in range(1, trainer.nodes):
            first = node * trainer.of_a_node
            yield from nodes.workers(node, range(first, first + trainer.of_a_node), trainer.world)


def _rendezvous(nodes: Nodes | None, stack: ExitStack) -> Rendezvous:
    """Where the ranks meet; of one machine, a folder that is there as long as the stack."""
    if nodes is None:
        return Rendezvous(folder=stack.enter_context(tempfile.TemporaryDirectory()))
    store, where = store_of_nodes(nodes.host, nodes.own)
    stack.callback(lambda: store)  # kept open
    return where


def _ask_for(worker: Worker, session: Session) -> None:
    """Have rank 0 ask a rank's served users, and report outages while it waits for the rank."""
    if session.config.simulator.kind != "served":
        return
    from harness.simulator.served.client import client_for
    from harness.simulator.served.relay import Relay

    client = client_for(session.config.simulator)
    relay = Relay(worker.asks, client)
    worker.users_awaited, worker.waiting = (lambda: relay.waits_for), client.tell_news


@dataclass(frozen=True)
class Joined:
    """What rank 0 has of the others."""

    calls: Calls
    links: Links | None
    """None if there are no others."""
    mates: GroupLinks | None
    """The ranks of rank 0's group that have vLLM's weights in parts; None where each has all."""

    @contextmanager
    def with_engine(self, running: AbstractContextManager[Engine]) -> Iterator[Engine]:
        """A context with rank 0's engine, in which the other ranks have theirs."""
        self.calls.ask_others("start_engine")
        with ExitStack() as stack:
            with self.calls.drawing():
                engine = stack.enter_context(running)
            self.calls.take()
            yield engine

    def team(self, session: Session, own: Work) -> Team:
        """The team of a run."""
        team = Team(own, self.calls, self.links)
        session.others_cpu_s = lambda: team.others_cpu_s
        session.leaving.waits_for = lambda: team.waits_for
        return team


def joined(session: Session, device: str, others: Others) -> Joined:
    """All ranks linked, once they have loaded their models; `device`: rank 0's. Raises RankLost."""
    workers, trainer = others.workers, session.config.trainer
    if others.where is None:
        return Joined(Calls(()), None, None)
    for worker in workers:
        worker.receive()
    size, in_group = len(workers) + 1, trainer.engine_tensor_parallel
    for worker in workers:
        worker.send(Call("link", (others.where, worker.rank, size, in_group)))
    try:
        links = Links(others.where, 0, size, device, LINKED_WITHIN_S, others.check_alive)
        mates = mates_of(links, in_group)
    except RuntimeError as error:
        gone = first_gone(workers)
        if gone is None:
            raise
        raise gone.lost() from error
    for worker in workers:
        worker.receive()
    in_step = trainer.shard != "none" or mates is not None
    ended = session.leaving.on_error if in_step else None
    return Joined(Calls(workers, ended, LINKED_WITHIN_S), links, mates)


def mates_of(links: Links, size: int) -> GroupLinks | None:
    """A rank's group of `size`, whose engine finds it in torch's default group; None for one rank
    alone. All ranks call it. Raises RuntimeError.
    """
    if size == 1:
        return None
    links.world()
    return links.mates(size)


class Rank:
    """A rank but the first; its methods are what rank 0 calls."""

    _config: RunConfig
    _models: StartModels
    _note_entropies: bool
    _work: Work
    _links: Links

    def __init__(self, asks: Connection) -> None:
        """`asks`: where it asks for what rank 0 alone may do."""
        self._asks = asks
        self._running, self._awake = ExitStack(), ExitStack()
        self._shards: Any = None
        self._mates: GroupLinks | None = None

    def keeps_step(self) -> bool:
        """Whether others wait for this rank in torch."""
        return self._shards is not None or self._mates is not None

    def begin(self, config: RunConfig, note_entropies: bool) -> None:
        """Load models. Prints nothing: rank 0 prints the same notices."""
        torch.set_num_threads(config.trainer.threads)
        if config.simulator.kind == "served":
            from harness.simulator.served import relay

            relay.relay_through(self._asks)
        with redirect_stderr(io.StringIO()):
            self._models = starts.load(config, starts.device_of(config))
        self._config, self._note_entropies = config, note_entropies

    def start_engine(self) -> None:
        """Load the engine."""
        config, models, note = self._config, self._models, self._note_entropies
        running = starts.running_engine(config, models, note, _go_on, _end, self._mates)
        engine = self._running.enter_context(running)
        self._work = Work(config, models.learner, models.judge, models.chat, engine, TokenLimit())

    def link(self, where: Rendezvous, rank: int, size: int, in_group: int) -> None:
        """Meet the other ranks, `in_group` of which have one engine."""
        device = self._models.learner.device.type
        address = local_address(self._asks)  # None on rank 0's node
        where = where if address is None else replace(where, address=address)
        self._links = Links(where, rank, size, device, LINKED_WITHIN_S)
        self._mates = mates_of(self._links, in_group)

    def wake(self) -> None:
        """Get ready to draw conversations."""
        self._awake.enter_context(self._work.awake())

    def sleep(self) -> None:
        """Stop drawing conversations."""
        self._awake.close()

    def share_weights(self, every: bool) -> None:
        """Take rank 0's weights."""
        self._links.share_weights(self._work.learner, every)

    def shard(self) -> None:
        """Keep a part of the weights; see trainer.shard."""
        from harness.train.ranks.shards import Shards  # and torch's FSDP2

        self._shards = Shards(self._work, self._links)
        self._shards.make_optimiser()

    def shards(self, method: str, *arguments: Any) -> Any:
        """Call a method of `Shards`; what it returns leaves the device."""
        value = getattr(self._shards, method)(*arguments)
        return on_cpu(value) if isinstance(value, LossResult) else value

    def gather_gradient(self) -> None:
        """Give the gradient away."""
        self._links.gather_gradient(self._work.learner)

    def listen(self) -> None:
        with suppress(GroupStopped):  # rank 0 knows why
            self._work.listen()

    def draw(self, asked: Draw) -> Drawn | None:
        """See `Work.draw`; None where its group has ended it."""
        with suppress(GroupStopped):
            return self._work.draw(asked)
        return None

    def redraw(self, asked: Redraw) -> Drawn | None:
        """See `Work.redraw`, and `draw`."""
        with suppress(GroupStopped):
            return self._work.redraw(asked)
        return None

    def meet(self, *asked: Any) -> Any:
        """See `Work.meet`, and `draw`."""
        with suppress(GroupStopped):
            return self._work.meet(*asked)
        return None

    def learn(self, most: int | None, batch: LossBatch, settings: LossSettings) -> Limited:
        """See `Work.learn`; measures of tokens leave the device, as they go by the socket. `most`:
        tokens at once, of which rank 0 decides.
        """
        self._work.limit.most = most
        result = on_cpu(self._work.learn(batch, settings))
        return Limited(result, self._work.limit.most)

    def log_probabilities(self, most: int | None, *asked: Any) -> Limited:
        """See `Work.log_probabilities`, and `learn`."""
        self._work.limit.most = most
        rows = [row.cpu() for row in self._work.log_probabilities(*asked)]
        return Limited(rows, self._work.limit.most)


def on_cpu(result: LossResult) -> LossResult:
    """A result whose measures of tokens can go by a socket."""
    return replace(result, scored=[row.to(torch.device("cpu")) for row in result.scored])


def main() -> None:
    calls, asks = (Connection(int(word)) for word in sys.argv[1:3])
    parent, run = int(sys.argv[3]), sys.argv[4]
    for number in process.STOP_SIGNALS:  # a terminal sends them to every process: rank 0 obeys
        signal.signal(number, signal.SIG_IGN)
    process.die_with(parent)
    process.keep_private()
    rank = Rank(asks)
    explained = partial(device_errors.explained, run)
    serve(calls, rank, explained, rank.keeps_step)


def _go_on() -> None:
    """Never stop between tokens: rank 0 asks for stops."""


def _end(why: str) -> None:
    """End this process, which rank 0 notices."""
    safe_text.say(why)
    os._exit(StoppedError.exit_code)


if __name__ == "__main__":
    main()
