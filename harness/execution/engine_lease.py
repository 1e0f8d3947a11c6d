"""Leases of vLLM servers: two runs never write their weights into the same server.

Runs that load adapters do not change the weights, so several share a server, up to the number of
adapters that it serves at once, but never with a run that writes weights. A lease is a file lock,
as for GPUs. Locks of this machine's servers are in a temporary folder; those of servers on other
machines are in the cache folder, which the machines of a cluster may share.
"""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.execution import engine_places, gpu_lease
from harness.records import atomic, user_folders

PORTS = {"http": 80, "https": 443}
HERE = "harness-engines"
"""Name of the folder with the locks, in the temporary folder and in the cache."""


@dataclass(frozen=True)
class EngineLease:
    """The server of one run; the kernel frees it with the last process that has the lock open."""

    url: str = ""
    """One of the addresses in trainer.engine_url; empty for a run that needs no server."""
    descriptors: tuple[int, ...] = ()


def take(
    config: RunConfig, give_up: Callable[[], bool], tell: Callable[[str], None]
) -> EngineLease:
    """Wait until one of the run's servers is free, and lease it.

    Calls `tell` once if none is free at first. Raises StoppedError once `give_up()` is true.
    """
    urls = engine_choice.addresses(config)
    if not urls:
        return EngineLease()
    locks, places = {url: lock_of(url) for url in urls}, engine_places.shared(config)
    is_told = False
    while not give_up():
        with atomic.storage_errors(min(locks.values())):
            lease = _lease_place(locks, places) if places else _lease_alone(locks)
        if lease is not None:
            return lease
        if not is_told:
            condition = "has place for one more run" if places else "no other run has"
            tell(f"waits for a vLLM server that {condition}: {', '.join(urls)}")
            is_told = True
        time.sleep(gpu_lease.POLL_S)
    raise StoppedError("stopped while waiting for a free vLLM server")


def _lease_alone(locks: Mapping[str, Path]) -> EngineLease | None:
    """Lease a server that no other run uses; None if there is none."""
    for url, path in locks.items():
        descriptor = gpu_lease.lock(path)
        if descriptor is not None:
            return EngineLease(url, (descriptor,))
    return None


def _lease_place(locks: Mapping[str, Path], places: Mapping[str, int]) -> EngineLease | None:
    """Lease a place at the server with the fewest runs; None if all places are taken.

    Every run with adapters holds a shared lock of its server, which keeps out runs that write
    weights.
    """
    for place in range(max(places.values())):
        for url, path in locks.items():
            descriptors = gpu_lease.part(path, place) if place < places[url] else ()
            if descriptors:
                return EngineLease(url, descriptors)
    return None


def lock_of(url: str) -> Path:
    """Return the lock file of the server at `url`; it is the same for all names of a host.

    Raises StorageError or DeviceError if its folder cannot be created.
    """
    parts = urlsplit(url)
    port = parts.port or PORTS[parts.scheme]
    host, is_here = _host(parts.hostname or "", port)
    server = f"{host} {port} {parts.path.rstrip('/')}"
    name = f"{hashlib.sha256(server.encode()).hexdigest()[:16]}.lock"
    if is_here:
        return user_folders.own_temporary(HERE) / name
    folder = user_folders.cache() / HERE
    with atomic.storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def _host(name: str, port: int) -> tuple[str, bool]:
    """Return a canonical name of a host, and whether it is this machine."""
    try:
        addresses = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError:  # unknown host; the run reports that when it connects
        return name.lower(), False
    if any(_is_here(family, str(address[0])) for family, *_, address in addresses):
        return "here", True
    return min(str(address[0]) for *_, address in addresses), False


def _is_here(family: int, address: str) -> bool:
    """Whether an address belongs to this machine: only those can be bound."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
