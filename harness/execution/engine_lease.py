"""A vLLM server of its own for each run: two runs never write their weights into one.

Runs that bring adapters leave the weights alone and share one, as many as it draws with at once; no
run that writes weights is beside them. The lease is a lock, as that of a GPU. Runs of one user on
one machine see each other's through a folder of that machine; for a server on another machine the
lock is in the cache folder, which the machines of a cluster may share.
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
"""Folder of the locks of this machine's servers, and, in the cache, of those of others."""


@dataclass(frozen=True)
class EngineLease:
    """The server of one run; the kernel frees it with the last process that has the lock open."""

    url: str = ""
    """As trainer.engine_url has it; empty for a run that needs none."""
    descriptors: tuple[int, ...] = ()


def take(
    config: RunConfig, give_up: Callable[[], bool], tell: Callable[[str], None]
) -> EngineLease:
    """Wait for one of the run's servers that no other run leases, and lease it.

    `tell` is called once if none is free. Raises StoppedError once `give_up()` is true.
    """
    urls = engine_choice.addresses(config)
    if not urls:
        return EngineLease()
    locks, places = {url: lock_of(url) for url in urls}, engine_places.shared(config)
    is_told = False
    while not give_up():
        with atomic.storage(min(locks.values())):
            taken = _shared(locks, places) if places else _alone(locks)
        if taken is not None:
            return taken
        if not is_told:
            free = "has place for one more run" if places else "no other run has"
            tell(f"waits for a vLLM server that {free}: {', '.join(urls)}")
            is_told = True
        time.sleep(gpu_lease.POLL_S)
    raise StoppedError("stopped while waiting for a free vLLM server")


def _alone(locks: Mapping[str, Path]) -> EngineLease | None:
    """A lease of a server that no other run is at; None where there is none."""
    for url, path in locks.items():
        held = gpu_lease.lock(path)
        if held is not None:
            return EngineLease(url, (held,))
    return None


def _shared(locks: Mapping[str, Path], places: Mapping[str, int]) -> EngineLease | None:
    """A lease of a place at a server, at the one with fewest runs; None where all are taken.

    Every run with adapters has a shared lock of its server, which keeps out those that write.
    """
    for place in range(max(places.values())):
        for url, path in locks.items():
            held = gpu_lease.part(path, place) if place < places[url] else ()
            if held:
                return EngineLease(url, held)
    return None


def lock_of(url: str) -> Path:
    """The file whose lock leases the server at `url`, whichever of its names that has.

    Raises StorageError or DeviceError where its folder cannot be made.
    """
    parts = urlsplit(url)
    port = parts.port or PORTS[parts.scheme]
    host, is_here = _host(parts.hostname or "", port)
    server = f"{host} {port} {parts.path.rstrip('/')}"
    name = f"{hashlib.sha256(server.encode()).hexdigest()[:16]}.lock"
    if is_here:
        return user_folders.own_temporary(HERE) / name
    folder = user_folders.cache() / HERE
    with atomic.storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def _host(name: str, port: int) -> tuple[str, bool]:
    """One name for a host, and whether it is this machine: `localhost` is so on each."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError:  # nobody knows it, which the run says when it asks for an answer
        return name.lower(), False
    if any(_is_here(family, str(address[0])) for family, *_, address in found):
        return "here", True
    return min(str(address[0]) for *_, address in found), False


def _is_here(family: int, address: str) -> bool:
    """Whether an address is one of this machine's own: only those can be bound to."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
