"""A cache of keys and values for conversations of different lengths, kept from turn to turn.

Every conversation has a slot. Live conversations are kept in the first slots, so that attention
reads a view and nothing is copied for conversations that have finished. Each row has contiguous
positions of its own; entries beyond a row's length are masked and overwritten later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

GROWTH = 128
"""Positions are added in blocks of this many."""


class Slots:
    """The slot and the length of each conversation, and the positions of the next tokens."""

    def __init__(self, count: int, device: torch.device) -> None:
        self.conversation = list(range(count))
        """The conversation in each slot."""
        self.length = torch.zeros(count, dtype=torch.long, device=device)
        """Number of tokens in the cache, by slot."""
        self.rows = torch.zeros(0, 1, dtype=torch.long, device=device)
        self.positions = torch.zeros(0, 0, dtype=torch.long, device=device)
        """Positions of the tokens being read, shape (live, new tokens)."""
        self.reach = 0
        """Number of positions that attention reads: the longest live row with its new tokens."""

    def aim(self, live: int, new: Tensor | int) -> None:
        """Set the positions of the next tokens of the first `live` rows.

        `new`: the number of tokens, by row or the same for all.
        """
        longest = int(new.max()) if isinstance(new, Tensor) else new
        start = self.length[:live]
        self.rows = torch.arange(live, device=start.device)[:, None]
        self.positions = start[:, None] + torch.arange(longest, device=start.device)
        self.reach = int(start.max()) + longest
        self.length[:live] = start + new

    def rewind(self, lengths: Mapping[int, int]) -> None:
        """Truncate the conversations in `lengths`; later tokens overwrite the rest."""
        slots = [
            slot for slot, conversation in enumerate(self.conversation) if conversation in lengths
        ]
        new_lengths = [lengths[self.conversation[slot]] for slot in slots]
        self.length[slots] = self.length.new_tensor(new_lengths)

    def mask(self) -> Tensor:
        """True where a new token may attend, shape (live, 1, new tokens, reach)."""
        positions = torch.arange(self.reach, device=self.positions.device)
        return (positions <= self.positions[:, :, None])[:, None]


class RaggedLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer's keys and values, shape (slots, heads, positions, head size)."""

    def __init__(self, slots: Slots) -> None:
        super().__init__()
        self._slots = slots

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Make empty tensors in the dtype that attention computes in.

        Under autocast, keys arrive in float32 from the rotary embedding. Keeping them so would
        round the whole cache again at every token.
        """
        shape = (len(self._slots.conversation), key_states.shape[1], 0, key_states.shape[3])
        self.keys, self.values = (
            states.new_zeros(shape, dtype=_compute_dtype(states))
            for states in (key_states, value_states)
        )
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Store the new tokens' states and return all states that the live rows may attend to."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        slots = self._slots
        self._reserve(slots.reach)
        live = len(slots.rows)
        for cached, new in ((self.keys, key_states), (self.values, value_states)):
            cached[slots.rows, :, slots.positions] = new.transpose(1, 2).to(cached.dtype)
        return self.keys[:live, :, : slots.reach], self.values[:live, :, : slots.reach]

    def move(self, targets: list[int], sources: list[int]) -> None:
        """Copy the states of slots `sources` into slots `targets`."""
        if self.is_initialized:
            used = int(self._slots.length.max())
            self.keys[targets, :, :used] = self.keys[sources, :, :used]
            self.values[targets, :, :used] = self.values[sources, :, :used]

    def spread(self, live: int, positions: int) -> None:
        """Copy the first `positions` states of slot 0 into the first `live` slots."""
        for states in (self.keys, self.values):
            states[1:live, :, :positions] = states[:1, :, :positions]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._slots.reach, 0

    def get_seq_length(self) -> int:
        return self._slots.reach

    def get_max_length(self) -> int:
        return -1

    def _reserve(self, positions: int) -> None:
        missing = positions - self.keys.shape[2]
        if missing > 0:
            more = -(-missing // GROWTH) * GROWTH
            pad = (0, 0, 0, more)
            self.keys = torch.nn.functional.pad(self.keys, pad)
            self.values = torch.nn.functional.pad(self.values, pad)


def _compute_dtype(states: Tensor) -> torch.dtype:
    device = states.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype


class RaggedCache(Cache):  # type: ignore[misc]
    """A transformers cache with ragged layers."""

    def __init__(self, layers: int, count: int, device: torch.device) -> None:
        self.slots = Slots(count, device)
        super().__init__(layers=[RaggedLayer(self.slots) for _ in range(layers)])

    def lead(self, conversations: Sequence[int]) -> None:
        """Swap rows so that `conversations` take the first slots, in any order."""
        seats, chosen = self.slots.conversation, set(conversations)
        leaving = [slot for slot in range(len(conversations)) if seats[slot] not in chosen]
        entering = [slot for slot in range(len(conversations), len(seats)) if seats[slot] in chosen]
        if not leaving:
            return
        targets, sources = [*leaving, *entering], [*entering, *leaving]
        for layer in self.layers:
            layer.move(targets, sources)
        self.slots.length[targets] = self.slots.length[sources]
        for a, b in zip(leaving, entering, strict=True):
            seats[a], seats[b] = seats[b], seats[a]

    def spread(self, live: int, positions: int) -> None:
        """Let the first `live` slots begin with the first `positions` tokens of slot 0."""
        for layer in self.layers:
            layer.spread(live, positions)
        self.slots.length[:live] = positions
