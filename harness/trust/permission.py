"""Whether a key may go where a config says: a folder's word for it is not enough.

A user says so by typing host and variable, or has confirmed both: `harness trust`. What was typed
reaches the process of a run with its launch, and is looked at again where the key is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator

from harness.config.grant import Grant
from harness.config.simulator import SimulatorConfig
from harness.errors import ConfigError
from harness.trust import confirmed

_given: frozenset[Grant] = frozenset()
"""Grants that the parent process passed on."""


@contextlib.contextmanager
def given(grants: Iterable[Grant]) -> Iterator[None]:
    """Let this process send these too, within the block."""
    global _given
    before, _given = _given, _given.union(grants)
    try:
        yield
    finally:
        _given = before


def require(simulator: SimulatorConfig, granted: Collection[Grant] = ()) -> Grant | None:
    """Variable that the calls of this simulator carry, and the host; None without a key.

    Raises ConfigError unless it is among `granted`, given to this process or confirmed.
    """
    grant = simulator.sends
    if grant is None or grant in granted or grant in _given or grant in confirmed.read():
        return grant
    raise ConfigError(
        f"simulator.api_key_env: ${grant.variable} may go only to a host that was typed with it or "
        f"is confirmed, got {grant.host}, which a file names; if it is right: "
        f"`harness trust {grant.host} {grant.variable}`"
    )


def to_word(grant: Grant) -> str:
    """`HOST=VARIABLE`, on the command line of a run's process."""
    return f"{grant.host}={grant.variable}"


def of_word(word: str) -> Grant:
    """The inverse of `to_word`. Raises ConfigError."""
    host, _, variable = word.partition("=")
    return Grant(host, variable)
