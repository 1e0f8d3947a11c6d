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
        known = self._values
        try:
            return [known[key] for key in keys]
        except KeyError:
            new = [key for key in dict.fromkeys(keys) if key not in known]
        values = {key: known[key] for key in keys if key in known}
        made = dict(zip(new, make(new), strict=True))
        self.made += len(made)
        known.update(made)
        for key in list(islice(known, max(0, len(known) - self._most))):
            del known[key]
        values.update(made)
        return [values[key] for key in keys]
