"""The permission to send the value of an environment variable to a host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.errors import ConfigError

VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
ENDINGS = ("_KEY", "_TOKEN")
OTHER_PROGRAMS = (
    "ACTIONS_", "AWS_", "AZURE_STORAGE_", "CARGO_", "CI_", "DOCKER_", "GH_", "GITHUB_", "GITLAB_",
    "GPG_", "KUBE", "NPM_", "PYPI_", "RAY_", "SLURM_", "SSH_", "TWINE_", "UV_", "VAULT_", "WANDB_",
)  # fmt: skip
OTHER_SECRETS = (
    "COOKIE", "CREDENTIAL", "ENCRYPT", "PASSP", "PASSW", "PRIVATE", "SECRET", "SESSION", "SIGNING",
)  # fmt: skip
PART = "[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
HOST = re.compile(rf"({PART}(\.{PART})*|\[[0-9a-f:.]+\])(:(?P<port>[1-9][0-9]{{0,4}}))?")
"""Allows only characters that all URL parsers interpret in the same way."""
HIGHEST_PORT = 65535


@dataclass(frozen=True, order=True)
class Grant:
    """Permission to send the value of `variable` to `host`.

    Raises ConfigError if either is malformed.
    """

    host: str
    """`host` or `host:port` in lower case, without a port for https on its default port."""
    variable: str

    def __post_init__(self) -> None:
        match = HOST.fullmatch(self.host)
        if match is None or int(match["port"] or 0) > HIGHEST_PORT:
            raise ConfigError(  # the value is not repeated, since it may contain a secret
                "HOST must be a host or host:port in small letters, without http:// and without "
                f"a path, got {len(self.host)} characters that are not"
            )
        check_variable("VARIABLE", self.variable)


def to(base_url: str, variable: str) -> Grant:
    """Return the grant that calls to `base_url` with `variable` need. Raises ConfigError."""
    parts = urlsplit(base_url)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else f"{parts.hostname}"
    default_port = 443 if parts.scheme == "https" else 80
    port = parts.port or default_port
    is_default = parts.scheme == "https" and port == default_port
    return Grant(name if is_default else f"{name}:{port}", variable)


def check_variable(key: str, name: str) -> None:
    """Raise ConfigError unless `name` may be the name of a variable with an API key.

    The message does not repeat a text that is not such a name, since it may be the key itself.
    """
    if not VARIABLE.fullmatch(name):
        raise ConfigError(
            f"{key} must be the name of an environment variable, in capitals, "
            f"never a key; got {len(name)} characters that are not such a name"
        )
    if not name.endswith(ENDINGS):
        raise ConfigError(
            f"{key} must be the name of a variable that ends in {' or '.join(ENDINGS)}, since any "
            f"other may hold something else; got {len(name)} characters that end otherwise"
        )
    other = next((start for start in OTHER_PROGRAMS if name.startswith(start)), None)
    other = other or next((word for word in OTHER_SECRETS if word in name), None)
    if other is not None:
        raise ConfigError(
            f"{key} must not be a variable of another program, as {other} in its name indicates, "
            f"got {name}; put the endpoint's key in a separate variable, such as SIM_KEY"
        )
