"""Tensors between the ranks of a run: gradients to rank 0, weights from it.

Over a process group of the run's own: torch's default group is accelerate's and vLLM's, unless
weights are sharded or vLLM has them in parts.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

LEADER = 0
BUCKET = 2**24
"""Numbers that travel together, 64 MB of fp32: each transfer has a fixed cost."""
LOOPBACK = "127.0.0.1"
POLL_S = 0.001
FOUND_WITHIN_S = 600.0
"""Longest wait for rank 0's store."""
ROUND_S = 30 * 24 * 3600.0
"""Longest wait in a round of a group, whose other ranks may wait for their users."""
LINKED_WITHIN_S = 600.0
"""Longest wait of one rank for the others' tensors, all of which are at hand by then."""


class TransferTimeout(Exception):
    """Another rank has taken no part in a transfer for too long."""


@dataclass(frozen=True)
class Rendezvous:
    """Where all ranks of a run find each other for their tensors."""

    folder: str = ""
    """Empty and private, for the ranks of one machine; empty text for those of several nodes."""
    host: str = ""
    port: int = 0
    """Of torch's store, on rank 0's node; anyone who reaches it could meddle, as with torchrun."""
    address: str = LOOPBACK
    """Where this rank is reached by the others."""

    def store(self, name: str, size: int) -> Any:
        """A store for one process group. Raises RuntimeError."""
        if self.folder:
            return dist.FileStore(str(Path(self.folder) / name), size)
        later = timedelta(seconds=FOUND_WITHIN_S)
        return dist.PrefixStore(name, dist.TCPStore(self.host, self.port, timeout=later))


def store_of_nodes(host: str, address: str) -> tuple[Any, Rendezvous]:
    """Open rank 0's store for ranks of several nodes, for as long as it is kept.

    `host`: rank 0's node, as the others name it; `address`: at which they reach it.
    """
    later = timedelta(seconds=FOUND_WITHIN_S)
    store = dist.TCPStore("0.0.0.0", 0, is_master=True, wait_for_workers=False, timeout=later)
    return store, Rendezvous(host=host, port=store.port, address=address)


class Links:
    """One rank's ends of the links; made by all ranks at once.

    While tensors travel this checks that they still do: NCCL between GPUs of a machine does not
    notice that a process is gone.
    """

    def __init__(
        self,
        where: Rendezvous,
        rank: int,
        size: int,
        device: str,
        timeout_s: float,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`where`: where the ranks find each other, NCCL's only when tensors first travel;
        `timeout_s`: how long one waits for the others; `check`: called repeatedly while tensors
        travel, raises where that is in vain. Raises RuntimeError.
        """
        self.timeout_s, self._check = timeout_s, check
        self._where, self._rank, self._size, self._device = where, rank, size, device
        self._world: Any = None
        later = timedelta(seconds=2 * timeout_s)  # so that what is told is that none took part
        self._group = _group(where.store("ranks", size), rank, size, device, later, where.address)

    def world(self) -> Any:
        """A mesh of all ranks over torch's default group, which is made: FSDP2 takes no other, and
        vLLM finds its ranks in it. Raises RuntimeError.
        """
        if self._world is not None:
            return self._world
        store = self._where.store("world", self._size)
        backend = "nccl" if self._device == "cuda" else "gloo"
        on_loopback = self._where.address == LOOPBACK
        if on_loopback:  # it listens where the machine's name leads, unless
            os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())
        dist.init_process_group(
            backend,
            store=store,
            rank=self._rank,
            world_size=self._size,
            timeout=timedelta(seconds=self.timeout_s),
        )
        self._world = dist.init_device_mesh(self._device, (self._size,))
        return self._world

    def mates(self, size: int) -> GroupLinks:
        """The group of `size` neighbouring ranks that this one is in. Raises RuntimeError."""
        first = self._rank // size * size
        store, later = self._where.store(f"ranks-{first}", size), timedelta(seconds=ROUND_S)
        group = _group(store, self._rank - first, size, "cpu", later, self._where.address)
        return GroupLinks(group, self._check)

    def gather_gradient(self, model: Any) -> None:
        """Add every rank's gradient up in rank 0's `grad`; the other ranks' is None afterwards.

        Raises RuntimeError if a rank is lost, TransferTimeout if one takes no part, and what
        `check` raises.
        """
        options = dist.ReduceOptions()
        options.rootRank, options.reduceOp = LEADER, dist.ReduceOp.SUM
        learning = [p for p in model.parameters() if p.requires_grad]
        for parameter in learning:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self._together([p.grad for p in learning], lambda flat: self._group.reduce(flat, options))
        if self._group.rank() != LEADER:
            model.zero_grad(set_to_none=True)

    @torch.no_grad()
    def share_weights(self, model: Any, every: bool) -> None:
        """Give every rank rank 0's weights: those that learn, or `every` one. Raises as
        `gather_gradient` does.
        """
        options = dist.BroadcastOptions()
        options.rootRank = LEADER
        weights = [p.data for p in model.parameters() if every or p.requires_grad]
        self._together(weights, lambda flat: self._group.broadcast(flat, options))

    def _together(self, tensors: Sequence[Tensor], travel: Callable[[list[Tensor]], Any]) -> None:
        """Let tensors travel in buckets, in place."""
        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
            self._arrived(travel([flat]))
            parts = torch.split(flat, [tensor.numel() for tensor in bucket])
            for tensor, part in zip(bucket, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def _arrived(self, work: Any) -> None:
        arrived(work, self._group, self._check, self.timeout_s)


class GroupLinks:
    """One rank's end of the links within a group of neighbouring ranks."""

    def __init__(self, group: Any, check: Callable[[], None]) -> None:
        """`check`: see `Links`."""
        self._group, self._check = group, check
        self.rounds = 0
        """How often this rank has begun to gather."""

    @property
    def place(self) -> int:
        """This rank's place in the group."""
        return int(self._group.rank())

    @property
    def size(self) -> int:
        """Number of ranks in the group."""
        return int(self._group.size())

    def gather(self, value: Any) -> list[Any]:
        """What each rank of the group gives, in their order. Raises as `Links.gather_gradient`."""
        self.rounds += 1
        own = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
        sizes = [int(size) for size in self._all(torch.tensor([own.numel()]))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8)
        padded[: own.numel()] = own
        all_bytes = zip(self._all(padded), sizes, strict=True)
        return [pickle.loads(given[:size].numpy().tobytes()) for given, size in all_bytes]

    def _all(self, tensor: Tensor) -> list[Tensor]:
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        arrived(self._group.allgather([found], [tensor]), self._group, self._check, ROUND_S)
        return found


def mates_of(links: Links, size: int) -> GroupLinks | None:
    """A rank's group of `size`, whose engine finds it in torch's default group; None for one rank
    alone. All ranks call it. Raises RuntimeError.
    """
    if size == 1:
        return None
    links.world()
    return links.mates(size)


def arrived(work: Any, group: Any, check: Callable[[], None], timeout_s: float) -> None:
    """Wait for a transfer. The device waits for it only once it is over: a transfer that never
    ends would keep it from copying what is to be saved.
    """
    until = time.monotonic() + timeout_s
    try:
        while not work.is_completed():
            check()
            if time.monotonic() > until:
                raise TransferTimeout
            time.sleep(POLL_S)
    except Exception:
        _give_up(group)
        raise
    work.wait()


def _give_up(group: Any) -> None:
    """Leave a transfer that never ends behind. The group is never freed: what frees it waits for
    the transfer, and the process could not end.
    """
    group.abort()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors of one data type, in order, as many as BUCKET takes or a larger one alone."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        full = sum(t.numel() for t in bucket) + tensor.numel() > BUCKET
        if bucket and (full or bucket[0].dtype != tensor.dtype):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket


def _loopback() -> str:
    """The interface of this machine alone, `lo` or `lo0`."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")


def _group(store: Any, rank: int, size: int, device: str, timeout: timedelta, address: str) -> Any:
    """NCCL between GPUs, else gloo, which listens at `address` alone."""
    if device == "cuda":
        return dist.ProcessGroupNCCL(store, rank, size, timeout)
    options = dist.ProcessGroupGloo._Options()
    options._devices = [dist.ProcessGroupGloo.create_device(hostname=address)]
    options._timeout = timeout
    return dist.ProcessGroupGloo(store, rank, size, options)
