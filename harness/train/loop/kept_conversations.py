"""The conversations that an algorithm with rounds has kept, and their file in a checkpoint.

A round is `Refit.steps` steps without updates. The conversations kept in them are added to those of
earlier rounds, without duplicates. At the end of the round, `Refit.passes` gradient steps on the
mean loss of all kept conversations, starting from the start policy, give the policy of the next
round: `tabular_rounds.py` and `language_rounds.py`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from harness.errors import DataError
from harness.records import atomic, plain_file
from harness.records.checkpoints import KEPT
from harness.train.metrics.token_metrics import Metrics

NO_ROUNDS: Metrics = {"kept/conversations": None, "kept/sequences": None}


class Distinct(Protocol):
    """The policy's side of a conversation."""

    @property
    def content(self) -> bytes:
        """Equal for equal conversations only."""
        ...

    @property
    def sequence(self) -> bytes:
        """Equal for conversations with the same replies, whatever the user said."""
        ...


C = TypeVar("C", bound=Distinct)


@dataclass(frozen=True)  # slots would break KeptConversations[...]() in Python 3.11
class KeptConversations(Generic[C]):
    """The distinct conversations kept in all rounds so far, in the order they were kept in."""

    conversations: tuple[C, ...] = ()
    keys: frozenset[bytes] = frozenset()
    """The hash of each conversation's content."""

    def with_new(self, candidates: Iterable[C]) -> KeptConversations[C]:
        """Return these and the `candidates` that are not among them."""
        kept, keys = list(self.conversations), set(self.keys)
        for conversation in candidates:
            key = blake2b(conversation.content, digest_size=16).digest()
            if key not in keys:
                keys.add(key)
                kept.append(conversation)
        return KeptConversations(tuple(kept), frozenset(keys))

    def metrics(self) -> Metrics:
        """Return kept/*."""
        counts = len(self.conversations), len({c.sequence for c in self.conversations})
        return dict(zip(NO_ROUNDS, map(float, counts), strict=True))


def write(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Write the file that `read` reads. Raises OSError."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    atomic.write_bytes(folder / KEPT, file.getbuffer(), durable=False)


def read(folder: Path, names: Sequence[str]) -> list[Any]:
    """Return the arrays `names` of a checkpoint's file.

    Raises DataError if the file is missing or damaged.
    """
    path = folder / KEPT
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return [file[name] for name in names]
    except plain_file.ARCHIVE_ERRORS as error:
        raise DataError(f"{path}: must hold the kept conversations, got {error!r}") from error


def slices(sizes: Sequence[int]) -> list[slice]:
    """Return the places of each conversation in joined arrays; `sizes`: their lengths."""
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
