"""Peak memory of torch's tensors while some work is done, counted operation by operation.

On a CPU there is no other way to measure a phase's peak, since the resident set of a process
includes libraries and freed blocks that the C library keeps. A test compares the sum with the CPU
allocator's.
"""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from harness.train.trial.step import MeasuredPhase

Result = TypeVar("Result")


class LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of every storage from the operation that creates it until it is freed."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        """`tensors`: tensors that are in memory at the start."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen: dict[int, int] = {}
        self.now = self.peak = 0
        for tensor in tensors:
            self._count(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor)
        return result

    def _count(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        address = storage._cdata
        if address not in self._seen:
            self._seen[address] = storage.nbytes()
            weakref.finalize(storage, self._uncount, address)
            self.now += self._seen[address]
            self.peak = max(self.peak, self.now)

    def _uncount(self, address: int) -> None:
        self.now -= self._seen.pop(address)


class PeakMemory:
    """Measures the peak of torch's memory, including the models and the optimiser."""

    def __init__(self, models: Iterable[torch.nn.Module], optimiser: Any) -> None:
        self._models, self._optimiser = list(models), optimiser

    def over(self, work: Callable[[], Result]) -> MeasuredPhase[Result]:
        """Call `work` and return its result with time and peak memory."""
        weights = (p for model in self._models for p in (*model.parameters(), *model.buffers()))
        moments = (
            value
            for state in self._optimiser.state.values()
            for value in state.values()
            if isinstance(value, torch.Tensor)
        )
        live = LiveBytes(itertools.chain(weights, moments))
        began = time.monotonic()
        with live:
            value = work()
        return MeasuredPhase(value, time.monotonic() - began, live.peak)
