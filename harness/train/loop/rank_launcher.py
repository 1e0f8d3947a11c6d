"""Rank 0's launcher of a run's other ranks: their processes, and the links between all ranks.

The processes run `harness.train.loop.rank`; on other nodes `ranks/node.py` starts them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from harness.errors import StoppedError
from harness.train.engines.engine import Engine
from harness.train.loop.session import Session
from harness.train.ranks import roll_call
from harness.train.ranks.calls import Calls
from harness.train.ranks.links import (
    LINKED_WITHIN_S,
    GroupLinks,
    Links,
    Rendezvous,
    mates_of,
    store_of_nodes,
)
from harness.train.ranks.nodes import Nodes
from harness.train.ranks.roll_call import RollCall
from harness.train.ranks.team import Team
from harness.train.ranks.work import RankWork
from harness.train.ranks.worker import Call, RankLost, Worker, first_gone, started_here
from harness.utils import safe_text, slurm_step

ENDS_WITHIN_S = 60.0
"""Maximum time for a run to end after a rank is lost, if an unfinished transfer may block it."""


@dataclass(frozen=True)
class OtherRanks:
    """The other ranks of a run."""

    workers: list[Worker]
    where: Rendezvous | None
    """The meeting point of all ranks; None if there are no others."""

    def check_alive(self) -> None:
        """Raise RankLost if the process of another rank has ended."""
        for worker in self.workers:
            worker.check_alive()


@contextmanager
def start_ranks(session: Session, note_entropies: bool) -> Iterator[OtherRanks]:
    """Start a run's other ranks, which load their models while rank 0 does; end them at the end.

    Rank 0 keeps the first of the run's GPUs for itself. If a rank is lost, only the current step
    is: the last finished step is saved, unless weights are sharded.
    """
    config = session.config
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if config.trainer.gpus else []
    with ExitStack() as stack:
        nodes = _nodes(session, stack)
        workers = list[Worker]()
        for worker in _workers(session, nodes, gpus):
            stack.callback(worker.end)
            _relay_requests(worker, session)
            worker.send(Call("begin", (config, note_entropies)))
            workers.append(worker)
        if workers and gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = gpus[0]
        try:
            yield OtherRanks(workers, _rendezvous(nodes, stack) if workers else None)
        except RankLost:
            is_whole = config.trainer.shard == "none"
            if is_whole:  # else the lost rank's shard is missing
                session.save_last()
            if gpus or not is_whole:
                safe_text.exit_within(ENDS_WITHIN_S, StoppedError.exit_code)
            raise


def _nodes(session: Session, stack: ExitStack) -> Nodes | None:
    """Return the run's other nodes after all have joined. A stop request ends the wait."""
    count = session.config.trainer.nodes
    if count == 1:
        return None
    step = slurm_step.read(count)
    with session.stop_handlers.at_once("while its nodes joined"):
        nodes = Nodes(session.run.path, step)
    stack.callback(nodes.close)
    return nodes


def _workers(session: Session, nodes: Nodes | None, gpus: list[str]) -> Iterator[Worker]:
    """Start the ranks other than rank 0, node by node."""
    run, trainer = session.run.path, session.config.trainer
    for rank in range(1, trainer.of_a_node):
        yield started_here(run, rank, trainer.world, gpus[rank] if gpus else "")
    if nodes is not None:
        for node in range(1, trainer.nodes):
            first = node * trainer.of_a_node
            yield from nodes.workers(node, range(first, first + trainer.of_a_node), trainer.world)


def _rendezvous(nodes: Nodes | None, stack: ExitStack) -> Rendezvous:
    """Return the ranks' meeting point: on one node a folder, which is removed with the stack."""
    if nodes is None:
        return Rendezvous(folder=stack.enter_context(tempfile.TemporaryDirectory()))
    store, rendezvous = store_of_nodes(nodes.host, nodes.own)
    stack.callback(lambda: store)  # keeps the store alive
    return rendezvous


def _relay_requests(worker: Worker, session: Session) -> None:
    """Relay a rank's requests to served users, and report outages while rank 0 waits for it."""
    if session.config.simulator.kind != "served":
        return
    from harness.simulator.served.client import client_for
    from harness.simulator.served.relay import Relay

    client = client_for(session.config.simulator)
    relay = Relay(worker.asks, client)
    worker.users_awaited, worker.waiting = (lambda: relay.waits_for), client.tell_news


@dataclass(frozen=True)
class RankConnections:
    """Rank 0's connections to the other ranks."""

    calls: Calls
    links: Links | None
    """None if there are no others."""
    mates: GroupLinks | None
    """The ranks that share vLLM's tensor-parallel weights with rank 0; None if it has all."""

    @contextmanager
    def with_engine(self, engine_context: AbstractContextManager[Engine]) -> Iterator[Engine]:
        """A context with rank 0's engine, in which the other ranks have started theirs."""
        self.calls.ask_others("start_engine")
        with ExitStack() as stack:
            with self.calls.drawing():
                engine = stack.enter_context(engine_context)
            self.calls.take()
            yield engine

    def team(self, session: Session, own: RankWork) -> Team:
        """Return the run's team."""
        team = Team(own, self.calls, self.links)
        session.others_cpu_s = lambda: team.others_cpu_s
        return team


def link_ranks(session: Session, device: str, others: OtherRanks) -> RankConnections:
    """Wait until all ranks have loaded their models, and link them; `device`: rank 0's.

    Raises RankLost if a rank ends meanwhile.
    """
    workers, trainer = others.workers, session.config.trainer
    if others.where is None:
        return RankConnections(Calls(()), None, None)
    for worker in workers:
        worker.receive()
    size, group_size = len(workers) + 1, trainer.engine_tensor_parallel
    for worker in workers:
        worker.send(Call("link", (others.where, worker.rank, size, group_size)))
    try:
        links = Links(others.where, 0, size, device, LINKED_WITHIN_S, others.check_alive)
        mates = mates_of(links, group_size)
    except RuntimeError as error:
        lost_rank = first_gone(workers)
        if lost_rank is None:
            raise
        raise lost_rank.lost_error() from error
    for worker in workers:
        worker.receive()
    in_step = trainer.shard != "none" or mates is not None
    on_error = session.stop_handlers.on_error if in_step else None
    store = others.where.store(roll_call.NAME, size)
    roll = RollCall(store, size, group_size, lambda: 0 if mates is None else mates.rounds)
    calls = Calls(workers, on_error, LINKED_WITHIN_S, roll)
    session.stop_handlers.waits_for = lambda: calls.waits_for
    return RankConnections(calls, links, mates)
