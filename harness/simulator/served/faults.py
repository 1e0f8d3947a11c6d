"""What can go wrong with a call, as a typed value: an end of a conversation, never of the run."""

from __future__ import annotations

from harness.config.simulator import SIMULATOR_FAULTS

NO_RETRY = ("request", "redirect")
"""Faults that the same request would meet again."""
ONE_RETRY = ("leaked", "oversized")


class Fault(Exception):
    """One failed call; `kind` is one of SIMULATOR_FAULTS."""

    def __init__(self, kind: str, detail: str = "", retry_after_s: float | None = None) -> None:
        """`retry_after_s`: how long the endpoint asks to be left alone."""
        super().__init__(f"{kind}: {detail}" if detail else kind)
        assert kind in SIMULATOR_FAULTS, kind
        self.kind, self.retry_after_s = kind, retry_after_s


def tries(kind: str, retries: int) -> int:
    """How many tries a call may take in all once it has met a fault of this kind."""
    if kind in NO_RETRY:
        return 1
    return 1 + min(1, retries) if kind in ONE_RETRY else 1 + retries


def of_status(status: int, detail: str, retry_after_s: float | None = None) -> Fault:
    """The fault of an HTTP status other than 200."""
    if status == 429:
        return Fault("rate_limit", detail, retry_after_s)
    if status >= 500 or status == 408:
        return Fault("server", f"{status} {detail}".strip(), retry_after_s)
    kind = "malformed" if status < 300 else "redirect" if status < 400 else "request"
    return Fault(kind, f"{status} {detail}".strip())
