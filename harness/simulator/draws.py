"""Random numbers without a generator: a hash of the key of what is drawn.

A draw depends on its key alone, so conversations do not disturb each other, and a resumed run
draws what the uninterrupted one drew.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

COUNT = 16
"""Uniform draws a key gives."""
_UNPACK = struct.Struct(f"<{COUNT}I").unpack
_UNIT = 2.0**-32
"""Exact: a power of two moves the exponent alone."""


def uniforms(*key: int | str) -> tuple[float, ...]:
    """Return COUNT numbers in [0, 1), the same for the same key on every machine."""
    return tuple([number * _UNIT for number in _UNPACK(_digest(joined(*key)))])


def joined(*key: int | str) -> str:
    """Return a key as the text that is hashed; keys are joined to longer ones in the same way."""
    return "\x1f".join(map(str, key))


def uniforms_of_all(keys: Iterable[str]) -> list[list[float]]:
    """Return `uniforms` of each key, given `joined`, all at once, which is quicker."""
    import numpy as np  # which commands that only name users do without

    digests = np.frombuffer(b"".join(map(_digest, keys)), dtype="<u4")
    drawn: list[list[float]] = (digests * _UNIT).reshape(-1, COUNT).tolist()
    return drawn


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=4 * COUNT).digest()


def normal(u: float, v: float) -> float:
    """Return a standard normal draw from two uniform ones (Box-Muller)."""
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


def pick(items: tuple[T, ...], u: float) -> T:
    """Return the item that the uniform draw `u` falls on."""
    return items[int(u * len(items))]
