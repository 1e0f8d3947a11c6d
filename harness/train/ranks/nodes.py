"""The other nodes of a run: how they and rank 0 find each other, and the processes of their ranks.

Rank 0 listens, and writes its address to a file in the run's folder, which all nodes share, with a
key that only the run's owner can read. On each other node a helper (`node.py`) connects to it. The
helper starts that node's ranks, gives each its two connections to rank 0, and reports how each
ended.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from harness.errors import StoppedError
from harness.train.ranks.place import RankAddress, place_file, write
from harness.train.ranks.rank_process import Process
from harness.train.ranks.worker import RankLost, Worker, connection_of
from harness.utils.slurm_step import SlurmStep

JOINED_WITHIN_S = 600.0
"""Longest wait of a node for the others, which a cluster starts at the same time."""
IDLE_S, PROBE_S, PROBES = 10, 5, 3
"""TCP keep-alive; a silent loss of a node is noticed after IDLE_S + PROBES * PROBE_S seconds."""
GONE = -1
"""Exit code of a rank whose node cannot be reached."""
POLL_S = 0.1


def keep_alive(sock: socket.socket) -> socket.socket:
    """Set TCP keep-alive, which notices the loss of a node, and send small messages at once."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {"TCP_KEEPIDLE": IDLE_S, "TCP_KEEPINTVL": PROBE_S, "TCP_KEEPCNT": PROBES}
    options |= {"TCP_USER_TIMEOUT": 1000 * (IDLE_S + PROBES * PROBE_S), "TCP_NODELAY": 1}
    for name, value in options.items():
        if hasattr(socket, name):  # not all on macOS
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return sock


@dataclass(frozen=True)
class Hello:
    """A helper's first message on a connection."""

    node: int
    rank: int | None = None
    """The rank that the connection is for; None for the helper's own."""
    purpose: str = "node"
    """node, calls or asks."""


class Node:
    """Another node, from the view of rank 0."""

    def __init__(self, name: str, sock: socket.socket) -> None:
        self.name, self._socket = name, sock
        self._connection = connection_of(sock)
        self.codes: dict[int, int] = {}
        """Exit codes of the node's ranks that have ended."""
        self.is_gone = False
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, *message: Any) -> None:
        """Send a message to the helper; errors are ignored, since callers check `is_gone`."""
        with contextlib.suppress(OSError):
            self._connection.send(message)

    def _listen(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                rank, code = self._connection.recv()
                self.codes[rank] = code
        self.is_gone = True

    def end(self) -> None:
        """Let the helper and its ranks end."""
        self.send("end")
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class RemoteProcess(Process):
    """A rank's process on another node."""

    def __init__(self, node: Node, rank: int) -> None:
        self._node, self._rank = node, rank
        self.where = f" on node {node.name}"

    def poll(self) -> int | None:
        code = self._node.codes.get(self._rank)
        return GONE if code is None and self._node.is_gone else code

    def wait(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return self.poll() is not None

    def kill(self) -> None:
        self._node.send("kill", self._rank)

    def how_ended(self) -> str:
        if self._rank not in self._node.codes and self._node.is_gone:
            return f"lost with node {self._node.name}, which is no longer to be reached"
        return super().how_ended()


class Nodes:
    """The other nodes of a run, all of which have connected."""

    def __init__(self, run: Path, step: SlurmStep) -> None:
        """Wait for the helpers. Raises StoppedError, naming the nodes, if some do not connect."""
        self._run, self._step, self.host = run, step, step.master
        self._server = socket.create_server(("", 0), backlog=256)
        self._key = secrets.token_hex(32)
        self._calls: SimpleQueue[tuple[Hello, socket.socket]] = SimpleQueue()
        self._waiting: dict[tuple[int, str], socket.socket] = {}
        threading.Thread(target=self._accept, daemon=True).start()
        write(run, RankAddress(step.name, step.master, self._server.getsockname()[1], self._key))
        self.others: dict[int, Node] = {}
        self.own = ""
        """Address at which the others reach this node."""
        try:
            self._gather()
        except BaseException:
            self.close()
            raise

    def _accept(self) -> None:
        """Accept connections, each in its own thread so that a silent one delays no other."""
        with contextlib.suppress(OSError):  # closed
            while True:
                try:
                    peer, _ = self._server.accept()
                except ConnectionAbortedError:  # the peer has disconnected again
                    continue
                threading.Thread(target=self._greet, args=(peer,), daemon=True).start()

    def _greet(self, peer: socket.socket) -> None:
        try:
            with connection_of(keep_alive(peer)) as connection:
                deliver_challenge(connection, self._key.encode())
                answer_challenge(connection, self._key.encode())
                hello = connection.recv()
        except (OSError, EOFError, AuthenticationError):
            peer.close()
            return
        self._calls.put((hello, peer))

    def _gather(self) -> None:
        deadline = time.monotonic() + JOINED_WITHIN_S
        while len(self.others) < len(self._step.nodes) - 1:
            if time.monotonic() > deadline:
                missing = [n for i, n in enumerate(self._step.nodes) if i and i not in self.others]
                raise StoppedError(
                    f"{self._run}: a run needs all of its nodes, {', '.join(missing)} did not join "
                    f"within {JOINED_WITHIN_S:g} s; continue with "
                    f"`harness resume {shlex.quote(str(self._run))}`"
                )
            with contextlib.suppress(Empty):
                hello, peer = self._calls.get(timeout=POLL_S)
                self.own = peer.getsockname()[0]
                self.others[hello.node] = Node(self._step.nodes[hello.node], peer)

    def workers(self, node: int, ranks: Sequence[int], size: int) -> Iterator[Worker]:
        """Let a node start some of the run's `size` ranks and yield them. Raises RankLost."""
        helper = self.others[node]
        helper.send("start", str(self._run), tuple(ranks))
        for rank in ranks:
            process = RemoteProcess(helper, rank)
            ends = [self._await_connection(rank, purpose, process) for purpose in ("calls", "asks")]
            yield Worker(self._run, rank, size, process, *ends)

    def _await_connection(self, rank: int, purpose: str, process: RemoteProcess) -> socket.socket:
        """Wait for a rank's connection from its helper and return it. Raises RankLost."""
        deadline = time.monotonic() + JOINED_WITHIN_S
        while (rank, purpose) not in self._waiting:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RankLost(
                    f"{self._run}: a run needs all of its ranks, got rank {rank} "
                    f"{process.how_ended()}; continue with "
                    f"`harness resume {shlex.quote(str(self._run))}`"
                )
            with contextlib.suppress(Empty):
                hello, peer = self._calls.get(timeout=POLL_S)
                self._waiting[hello.rank or 0, hello.purpose] = peer
        return self._waiting.pop((rank, purpose))

    def close(self) -> None:
        """Let all helpers end."""
        for node in self.others.values():
            node.end()
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        place_file(self._run).unlink(missing_ok=True)


def call(address: RankAddress, hello: Hello) -> socket.socket:
    """Connect to rank 0, authenticate and send `hello`.

    Raises OSError, EOFError or AuthenticationError.
    """
    sock = keep_alive(
        socket.create_connection((address.host, address.port), timeout=JOINED_WITHIN_S)
    )
    try:
        sock.settimeout(None)
        with connection_of(sock) as connection:
            answer_challenge(connection, address.key.encode())
            deliver_challenge(connection, address.key.encode())
            connection.send(hello)
    except BaseException:
        sock.close()
        raise
    return sock


def local_address(connection: Connection) -> str | None:
    """Return this node's address on a connection to another node; None within one machine."""
    with socket.socket(fileno=connection.fileno()) as sock:
        try:
            return str(sock.getsockname()[0]) if sock.family == socket.AF_INET else None
        finally:
            sock.detach()
