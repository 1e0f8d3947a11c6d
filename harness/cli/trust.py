"""The trust command: which environment variable may be sent to which host, in any folder."""

from __future__ import annotations

import re

from harness.config.grant import Grant
from harness.errors import ConfigError
from harness.trust import confirmed
from harness.utils import safe_text
from harness.utils.safe_text import escape

NAMED = re.compile(r"localhost|.*[.:\]].*")
"""A host of a cluster, a name alone, goes with its port: a key has neither dot nor colon."""


def trust(host: str | None, variable: str | None, *, remove: bool) -> None:
    """Confirm one grant, take it back, or print all: HOST VARIABLE, a line each.

    Raises ConfigError for no host or no key, and for settings that are not the user's alone.
    """
    if host is None and not remove:
        _list()
        return
    if host is None or variable is None:
        words = "neither" if host is None else "HOST alone"
        raise ConfigError(f"trust: HOST and VARIABLE must be given together, got {words}")
    grant = Grant(host, variable)
    if not NAMED.fullmatch(host):
        rule = "must be localhost, have a dot, or end in its port, as in gpu-1:8000"
        raise ConfigError(f"HOST {rule}, got {len(host)} characters that do not")
    if remove:
        confirmed.remove(grant)
        rule = f"${variable} is not sent to {host} any more unless the command line names it"
        safe_text.say(f"{rule}: {confirmed.file()}")
        return
    confirmed.add(grant)
    safe_text.say(f"${variable} may be sent to {host}, even if a file names it: {confirmed.file()}")


def _list() -> None:
    grants = sorted(confirmed.read())
    for grant in grants:
        print(escape(f"{grant.host} {grant.variable}"))
    safe_text.say(f"{len(grants)} permissions in {confirmed.file()}")
