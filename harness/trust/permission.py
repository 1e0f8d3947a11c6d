"""Whether a key may be sent to the host in a config, which may come from somebody else.

The user permits it by typing host and variable, or by confirming both with `harness trust`. Typed
grants are passed to the process of a run and checked again where the key is read.
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
def temporarily_granted(grants: Iterable[Grant]) -> Iterator[None]:
    """Add grants to those of this process within the block."""
    global _given
    previous, _given = _given, _given.union(grants)
    try:
        yield
    finally:
        _given = previous


def require(simulator: SimulatorConfig, granted: Collection[Grant] = ()) -> Grant | None:
    """Return the variable that the simulator's calls send, and the host; None without a key.

    Raises ConfigError unless this grant is in `granted`, was given to this process or is confirmed.
    """
    grant = simulator.required_grant
    if grant is None or grant in granted or grant in _given or grant in confirmed.read():
        return grant
    raise ConfigError(
        f"simulator.api_key_env: ${grant.variable} may go only to a host that was typed with it or "
        f"is confirmed, got {grant.host}, which a file names; if it is right: "
        f"`harness trust {grant.host} {grant.variable}`"
    )


def to_word(grant: Grant) -> str:
    """Return `HOST=VARIABLE`, for the command line of a run's process."""
    return f"{grant.host}={grant.variable}"


def parse_word(word: str) -> Grant:
    """Parse `HOST=VARIABLE`, the inverse of `to_word`. Raises ConfigError."""
    host, _, variable = word.partition("=")
    return Grant(host, variable)
