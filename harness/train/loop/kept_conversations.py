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
from numpy.typing import NDArray

from harness.errors import DataError
from harness.records import atomic, plain_file
from harness.records.checkpoints import KEPT
from harness.train.metrics.token_metrics import Metrics

AnyArray = NDArray[Any]
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


def write(
    folder: Path,
    unit: str,
    empty: Mapping[str, AnyArray],
    conversations: Sequence[Sequence[AnyArray]],
) -> None:
    """Write the file that `read` reads. Raises OSError.

    `unit`: what a row is, such as tokens; `empty`: name -> an array without rows, of the type of
    the arrays of that name; `conversations`: the arrays of each, in the order of `empty`, with
    equally many rows.
    """
    sizes = np.array([len(first) for first, *_ in conversations], dtype=np.int64)
    columns = list(zip(*conversations, strict=True)) or [(array,) for array in empty.values()]
    arrays: dict[str, Any] = {unit: sizes}
    arrays |= {name: np.concatenate(parts) for name, parts in zip(empty, columns, strict=True)}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    atomic.write_bytes(folder / KEPT, file.getbuffer(), durable=False)


def read(
    folder: Path | None, unit: str, empty: Mapping[str, AnyArray]
) -> list[tuple[AnyArray, ...]]:
    """Return the arrays of each conversation in a checkpoint's file; none if `folder` is None.

    Raises DataError if the file is missing or damaged.
    """
    if folder is None:
        return []
    path = folder / KEPT
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            sizes, *arrays = (file[name] for name in (unit, *empty))
    except plain_file.ARCHIVE_ERRORS as error:
        raise DataError(f"{path}: must hold the kept conversations, got {error!r}") from error
    expected, found = _types([np.zeros(0, np.int64), *empty.values()]), _types([sizes, *arrays])
    if found != expected:
        rule = f"{unit}, {' and '.join(empty)} must be {', '.join(expected)}"
        raise DataError(f"{path}: {rule}, got {', '.join(found)}")
    rows = [len(array) for array in arrays]
    if (sizes < 1).any() or set(rows) != {int(sizes.sum())}:
        rule = f"{' and '.join(empty)} must have a row for each of the {unit} of a conversation"
        raise DataError(f"{path}: {rule}, got {rows} for {sizes.tolist()}")
    ends = np.cumsum(sizes).tolist()
    parts = [slice(end - size, end) for end, size in zip(ends, sizes.tolist(), strict=True)]
    return [tuple(array[part] for array in arrays) for part in parts]


def _types(arrays: Iterable[AnyArray]) -> list[str]:
    return [f"{array.ndim}-D {array.dtype}" for array in arrays]
