"""A cache of values by key that drops the oldest entries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import islice
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ValueCache(Generic[K, V]):
    """Caches the value of each key. Missing values of a batch are made in one call."""

    def __init__(self, most: int = 16384) -> None:
        self._values: dict[K, V] = {}
        self._most = most
        self.made = 0
        """Number of values made so far."""

    def of(self, keys: Sequence[K], make: Callable[[list[K]], Iterable[V]]) -> list[V]:
        """Return the value of each key. `make` gets the distinct missing keys and returns their
        values.
        """
        cached = self._values
        try:
            return [cached[key] for key in keys]
        except KeyError:
            new = [key for key in dict.fromkeys(keys) if key not in cached]
        values = {key: cached[key] for key in keys if key in cached}
        created = dict(zip(new, make(new), strict=True))
        self.made += len(created)
        cached.update(created)
        for key in list(islice(cached, max(0, len(cached) - self._most))):
            del cached[key]
        values.update(created)
        return [values[key] for key in keys]
