"""Transfers of tensors between the ranks of a run: gradients to rank 0, weights from it.

They use a separate process group. Torch's default group is left to accelerate and vLLM, unless
weights are sharded or vLLM uses tensor parallelism.
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
"""Numbers per transfer (64 MB in fp32), since each transfer has a fixed cost."""
LOOPBACK = "127.0.0.1"
POLL_S = 0.001
FOUND_WITHIN_S = 600.0
"""Longest wait for rank 0's store."""
ROUND_S = 30 * 24 * 3600.0
"""Longest wait in a round of a group, in which other ranks may wait for their users."""
LINKED_WITHIN_S = 600.0
"""Longest wait of a rank for the others' tensors, which are ready when the transfer begins."""


class TransferTimeout(Exception):
    """Another rank has not taken part in a transfer in time."""


@dataclass(frozen=True)
class Rendezvous:
    """The address of torch's store, through which the ranks of a run find each other."""

    folder: str = ""
    """A private, initially empty folder for the ranks of one machine; "" for several nodes."""
    host: str = ""
    port: int = 0
    """Port of torch's store on rank 0's node. As with torchrun, access to it is not protected."""
    address: str = LOOPBACK
    """Address at which the others reach this rank."""

    def store(self, name: str, size: int) -> Any:
        """Return a store for one process group. Raises RuntimeError."""
        if self.folder:
            return dist.FileStore(str(Path(self.folder) / name), size)
        timeout = timedelta(seconds=FOUND_WITHIN_S)
        return dist.PrefixStore(name, dist.TCPStore(self.host, self.port, timeout=timeout))


def store_of_nodes(host: str, address: str) -> tuple[Any, Rendezvous]:
    """Open rank 0's store for the ranks of several nodes; it lasts as long as the returned object.

    `host`: name of rank 0's node for the others; `address`: address at which they reach it.
    """
    timeout = timedelta(seconds=FOUND_WITHIN_S)
    store = dist.TCPStore("0.0.0.0", 0, is_master=True, wait_for_workers=False, timeout=timeout)
    return store, Rendezvous(host=host, port=store.port, address=address)


class Links:
    """The transfers from the view of one rank; all ranks create it together.

    A transfer is polled while it runs, since NCCL between GPUs of one machine does not notice the
    end of a process.
    """

    def __init__(
        self,
        rendezvous: Rendezvous,
        rank: int,
        size: int,
        device: str,
        timeout_s: float,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`rendezvous`: that of the ranks; with NCCL they connect at the first transfer.
        `timeout_s`: longest wait for the other ranks. `check`: called repeatedly during transfers;
        may raise to give up.

        Raises RuntimeError if the ranks do not find each other.
        """
        self.timeout_s, self._check = timeout_s, check
        self._rendezvous, self._rank, self._size, self._device = rendezvous, rank, size, device
        self._world: Any = None
        timeout = timedelta(seconds=2 * timeout_s)  # so that TransferTimeout comes first
        self._group = _group(
            rendezvous.store("ranks", size), rank, size, device, timeout, rendezvous.address
        )

    def world(self) -> Any:
        """Return a device mesh of all ranks over torch's default group, which is created here.

        FSDP2 and vLLM's tensor parallelism need the default group. Raises RuntimeError.
        """
        if self._world is not None:
            return self._world
        store = self._rendezvous.store("world", self._size)
        backend = "nccl" if self._device == "cuda" else "gloo"
        on_loopback = self._rendezvous.address == LOOPBACK
        if on_loopback:  # else gloo listens at the machine's name
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
        """Return this rank's group of `size` neighbouring ranks. Raises RuntimeError."""
        first_rank = self._rank // size * size
        store = self._rendezvous.store(f"ranks-{first_rank}", size)
        rank, timeout = self._rank - first_rank, timedelta(seconds=ROUND_S)
        group = _group(store, rank, size, "cpu", timeout, self._rendezvous.address)
        return GroupLinks(group, self._check)

    def gather_gradient(self, model: Any) -> None:
        """Sum the gradients of all ranks in rank 0's `grad`; it is None afterwards on the others.

        Raises RuntimeError if a rank is lost, TransferTimeout if one does not take part, and the
        errors of `check`.
        """
        options = dist.ReduceOptions()
        options.rootRank, options.reduceOp = LEADER, dist.ReduceOp.SUM
        trainable = [p for p in model.parameters() if p.requires_grad]
        for parameter in trainable:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self._transfer_in_buckets(
            [p.grad for p in trainable], lambda flat: self._group.reduce(flat, options)
        )
        if self._group.rank() != LEADER:
            model.zero_grad(set_to_none=True)

    @torch.no_grad()
    def share_weights(self, model: Any, all_weights: bool) -> None:
        """Send rank 0's weights to all ranks: the trainable ones, or all if `all_weights`.

        Raises as `gather_gradient` does.
        """
        options = dist.BroadcastOptions()
        options.rootRank = LEADER
        weights = [p.data for p in model.parameters() if all_weights or p.requires_grad]
        self._transfer_in_buckets(weights, lambda flat: self._group.broadcast(flat, options))

    def _transfer_in_buckets(
        self, tensors: Sequence[Tensor], transfer: Callable[[list[Tensor]], Any]
    ) -> None:
        """Transfer tensors in buckets, in place."""
        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
            self._wait_for(transfer([flat]))
            parts = torch.split(flat, [tensor.numel() for tensor in bucket])
            for tensor, part in zip(bucket, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def _wait_for(self, work: Any) -> None:
        wait_for_transfer(work, self._group, self._check, self.timeout_s)


class GroupLinks:
    """Transfers within a group of neighbouring ranks, from the view of one rank."""

    def __init__(self, group: Any, check: Callable[[], None]) -> None:
        """`check`: see `Links`."""
        self._group, self._check = group, check
        self.rounds = 0
        """Number of calls of `gather` that this rank has begun."""

    @property
    def place(self) -> int:
        """This rank's place in the group."""
        return int(self._group.rank())

    @property
    def size(self) -> int:
        """Number of ranks in the group."""
        return int(self._group.size())

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all ranks of the group, in order.

        Raises as `Links.gather_gradient`.
        """
        self.rounds += 1
        own = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
        sizes = [int(size) for size in self._all(torch.tensor([own.numel()]))]
        padded = torch.zeros(max(sizes), dtype=torch.uint8)
        padded[: own.numel()] = own
        all_bytes = zip(self._all(padded), sizes, strict=True)
        return [pickle.loads(received[:size].numpy().tobytes()) for received, size in all_bytes]

    def _all(self, tensor: Tensor) -> list[Tensor]:
        tensors = [torch.empty_like(tensor) for _ in range(self.size)]
        wait_for_transfer(
            self._group.allgather([tensors], [tensor]), self._group, self._check, ROUND_S
        )
        return tensors


def mates_of(links: Links, size: int) -> GroupLinks | None:
    """Return a rank's group of `size` for an engine with tensor parallelism; None for size 1.

    It also creates torch's default group, in which the engine finds its ranks. All ranks must call
    it. Raises RuntimeError.
    """
    if size == 1:
        return None
    links.world()
    return links.mates(size)


def wait_for_transfer(work: Any, group: Any, check: Callable[[], None], timeout_s: float) -> None:
    """Wait for a transfer; `check` is called meanwhile and may raise. Raises TransferTimeout.

    The device's stream waits only for a completed transfer. One that never ended would block later
    copies of the tensors to be saved.
    """
    deadline = time.monotonic() + timeout_s
    try:
        while not work.is_completed():
            check()
            if time.monotonic() > deadline:
                raise TransferTimeout
            time.sleep(POLL_S)
    except Exception:
        _give_up(group)
        raise
    work.wait()


def _give_up(group: Any) -> None:
    """Abandon a transfer that never ends.

    The group is never freed, since freeing it would wait for the transfer and keep the process from
    ending.
    """
    group.abort()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Yield runs of tensors of one dtype, with at most BUCKET numbers or a single tensor."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        is_full = sum(t.numel() for t in bucket) + tensor.numel() > BUCKET
        if bucket and (is_full or bucket[0].dtype != tensor.dtype):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket


def _loopback() -> str:
    """Return the name of the loopback interface, `lo` or `lo0`."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")


def _group(store: Any, rank: int, size: int, device: str, timeout: timedelta, address: str) -> Any:
    """Return a process group: NCCL for GPUs, else gloo, which listens only at `address`."""
    if device == "cuda":
        return dist.ProcessGroupNCCL(store, rank, size, timeout)
    options = dist.ProcessGroupGloo._Options()
    options._devices = [dist.ProcessGroupGloo.create_device(hostname=address)]
    options._timeout = timeout
    return dist.ProcessGroupGloo(store, rank, size, options)
