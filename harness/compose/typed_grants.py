"""The grants to send keys to hosts that a user gives by typing them on the command line."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

from harness.compose.grammar import parse
from harness.config import grant
from harness.config.grant import Grant
from harness.config.simulator import SimulatorConfig
from harness.errors import ConfigError

HOST, VARIABLE = "simulator.base_url", "simulator.api_key_env"


def grants(overrides: Sequence[str]) -> frozenset[Grant]:
    """Return a grant for each typed variable and address; the default address if none is typed.

    Values in sweep files, studies and conf/ give no grants. Raises ConfigError for an override that
    cannot be parsed.
    """
    urls = _values(HOST, overrides) or _default_urls()
    typed = set[Grant]()
    for url in urls:
        for variable in _values(VARIABLE, overrides):
            with contextlib.suppress(ConfigError, ValueError):  # ${...} refers to a file's value
                typed.add(grant.to(url, variable))
    return frozenset(typed)


def _values(key: str, overrides: Sequence[str]) -> list[str]:
    words = [text for text in overrides if text.partition("=")[0].strip(" +") == key]
    return [value for word in parse(words) for value in word.values if isinstance(value, str)]


def _default_urls() -> list[str]:
    """Return the default address if it is on this machine, else none."""
    url = SimulatorConfig.base_url
    is_local = ipaddress.ip_address(urlsplit(url).hostname or "").is_loopback
    return [url] if is_local else []
