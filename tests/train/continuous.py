"""A continuous batch, as vLLM has, without a model."""

from __future__ import annotations

from concurrent.futures import Future


class ContinuousBatch:
    """A step brings all who are in it nearer to the end of their reply."""

    def __init__(self) -> None:
        self._left: dict[Future[None], int] = {}
        self.sizes: list[int] = []
        """Number of replies under way, for each step."""

    def join(self, steps: int) -> Future[None]:
        """Begin a reply of that many steps; the future is done when it ends."""
        future: Future[None] = Future()
        self._left[future] = steps
        return future

    def step(self) -> bool:
        """Take one step; return False if no reply is under way."""
        if not self._left:
            return False
        self.sizes.append(len(self._left))
        self._left = {future: steps - 1 for future, steps in self._left.items()}
        for future in [future for future, steps in self._left.items() if not steps]:
            del self._left[future]
            future.set_result(None)
        return True
