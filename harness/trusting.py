"""The trust command: what of the environment may be sent where, for all folders to come."""

from __future__ import annotations

from harness import said
from harness.errors import ConfigError
from harness.grant import Grant
from harness.records import confirmed
from harness.visible import visible


def trust(host: str, variable: str, *, remove: bool) -> None:
    """Confirm one grant, take it back, or print all: HOST VARIABLE, a line each.

    Raises ConfigError for no host or no key, and for settings that are not the user's alone.
    """
    if not host and not remove:
        _list()
        return
    if not variable:
        raise ConfigError(f"trust: VARIABLE must follow HOST, got only {host!r}")
    grant = Grant(host, variable)
    if remove:
        confirmed.remove(grant)
        said.say(f"${variable} goes to {host} no more unless it is typed: {confirmed.file()}")
        return
    confirmed.add(grant)
    said.say(f"${variable} may be sent to {host}, whichever file names it: {confirmed.file()}")


def _list() -> None:
    found = sorted(confirmed.read())
    for grant in found:
        print(visible(f"{grant.host} {grant.variable}"))
    said.say(f"{len(found)} confirmed in {confirmed.file()}")
