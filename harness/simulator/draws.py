"""Counter-based random numbers: each draw is a hash of its key.

A draw depends on its key alone, so conversations are independent of each other, and a resumed run
draws the same numbers as an uninterrupted one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

COUNT = 16
"""Uniform draws per key."""
_UNPACK = struct.Struct(f"<{COUNT}I").unpack
_UNIT = 2.0**-32
"""Multiplying by a power of two is exact."""


def uniforms(*key: int | str) -> tuple[float, ...]:
    """Return COUNT numbers in [0, 1) for a key, the same on every machine."""
    return tuple([number * _UNIT for number in _UNPACK(_digest(joined(*key)))])


def joined(*key: int | str) -> str:
    """Return the text to hash for a key. Joining joined keys gives the text of the longer key."""
    return "\x1f".join(map(str, key))


def uniforms_of_all(keys: Iterable[str]) -> list[list[float]]:
    """Return `uniforms` of each `joined` key, vectorised."""
    import numpy as np  # imported here because commands that only name users need no numpy

    digests = np.frombuffer(b"".join(map(_digest, keys)), dtype="<u4")
    drawn: list[list[float]] = (digests * _UNIT).reshape(-1, COUNT).tolist()
    return drawn


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=4 * COUNT).digest()


def normal(u: float, v: float) -> float:
    """Return a standard normal draw from two uniform draws (Box-Muller)."""
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


def pick(items: tuple[T, ...], u: float) -> T:
    """Return a uniformly chosen item, given the uniform draw `u`."""
    return items[int(u * len(items))]
