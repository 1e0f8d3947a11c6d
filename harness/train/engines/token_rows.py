"""A conversation as a language model reads it, and batches of such rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True)
class TokenRow:
    """Ids in the order they were said; `turn` is 0 where the token is not the policy's own."""

    ids: list[int] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    """Number of the policy's reply, from 1, that the token belongs to."""

    def extend(self, ids: Sequence[int], turn: int = 0) -> None:
        self.ids.extend(ids)
        self.turn.extend([turn] * len(ids))


def padded(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    """Rows of different lengths as one tensor of shape (rows, longest), filled on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])


def by_length(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Indices in groups of at most `size`, sorted so that little is padded."""
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
    return [order[n : n + size] for n in range(0, len(order), size)]
