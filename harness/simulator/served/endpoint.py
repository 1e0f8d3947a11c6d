"""Calls to the endpoint, and every way they can fail as a Fault. The only file that uses openai.

The client's own retries are off (ours are counted), its timeout is per read and so never fires on
a slow drip (a deadline stands round the whole call), and it reads bodies of any size and follows
redirects with the key in hand (both are refused here).
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import ipaddress
import itertools
import math
import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from harness.config.simulator import SimulatorConfig
from harness.errors import ConfigError
from harness.simulator.served.completions import (
    LARGEST_BYTES,
    NO_KEY,
    Completion,
    Redact,
    Request,
    completion,
    redactor,
    refused,
)
from harness.simulator.served.faults import Fault
from harness.trust import permission

CALLS_A_POOL, MOST_POOLS = 8, 8
"""A pool looks through all its connections at each call: eight small ones cost a fifth less."""
REFUSED_SCHEMA = (400, 422)
"""Statuses of an endpoint that does not take a keyword of a schema."""
HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "harness",
}


class Endpoint:
    """The client of one endpoint, for one event loop."""

    def __init__(self, config: SimulatorConfig) -> None:
        """Raises ConfigError if the key's variable is not set, or is not for this host."""
        key = api_key(config)
        self._config, self._classes, self._redact = config, _client_classes(), redactor(key)
        pools = min(MOST_POOLS, math.ceil(config.concurrency / CALLS_A_POOL))
        self._clients = [_client(config, key, self._redact) for _ in range(pools)]
        self._turns = itertools.cycle(self._clients)
        self._takes_lengths: bool | None = None

    async def complete(self, request: Request, seed: int) -> Completion:
        """Return the completion of one try. Raises Fault."""
        try:
            async with asyncio.timeout(self._config.deadline_s):
                return await self._answered(request, seed)
        except TimeoutError as error:
            raise Fault("timeout", f"no whole answer in {self._config.deadline_s:g} s") from error

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            await client.close()

    async def _answered(self, request: Request, seed: int) -> Completion:
        """Return the completion; where the endpoint refuses the first schema with a length of a
        text, as some do, without it, and from then on at once.
        """
        plain = self._body(_without_lengths(request), seed)
        bounded = self._body(request, seed)
        if bounded == plain or self._takes_lengths is False:
            return completion(await self._post(plain), self._redact)
        try:
            content = await self._post(bounded)
            self._takes_lengths = True
        except Fault as fault:
            if self._takes_lengths or fault.status not in REFUSED_SCHEMA:
                raise
            content = await self._post(plain)
            self._takes_lengths = False
        return completion(content, self._redact)

    def _body(self, request: Request, seed: int) -> dict[str, Any]:
        shape = {"name": request.purpose, "strict": True, "schema": request.schema}
        body: dict[str, Any] = {
            "model": self._config.model,
            "messages": request.messages(),
            "response_format": {"type": "json_schema", "json_schema": shape},
            "max_completion_tokens": self._config.max_tokens,
            "seed": seed,
        }
        if self._config.temperature is not None:
            body["temperature"] = self._config.temperature
        return body

    async def _post(self, body: dict[str, Any]) -> bytes:
        """The client's own `post`: `chat.completions.create` looks at each argument that a
        call may have, at a sixth of what a call costs here, and takes half a second to load.
        """
        client, response_class = next(self._turns), self._classes.response
        try:
            response = await client.post("/chat/completions", cast_to=response_class, body=body)
        except self._classes.broken as error:
            raise self._fault(error) from error
        content: bytes = response.content
        return content

    def _fault(self, error: Exception) -> Fault:
        """Return the fault in what the client or the transport raised.

        Raises a bug of ours as it is: a client before 3.0 wraps whatever comes from below it.
        """
        wrapped = isinstance(error, self._classes.client)
        below = error.__cause__ if wrapped and error.__cause__ else error
        if isinstance(below, Fault):
            return below
        if not isinstance(below, self._classes.broken):
            raise below
        if isinstance(below, self._classes.late):
            return Fault("timeout", f"no whole answer in {self._config.deadline_s:g} s")
        return Fault("connection", self._redact(f"{type(below).__name__}: {error}")[:200])


def _without_lengths(request: Request) -> Request:
    """Return the request with a schema that bounds no text."""
    properties = {
        name: {key: value for key, value in shape.items() if key != "maxLength"}
        for name, shape in request.schema.get("properties", {}).items()
    }
    if properties == request.schema.get("properties", {}):
        return request
    return replace(request, schema={**request.schema, "properties": properties})


@dataclass(frozen=True, slots=True)
class _ClientClasses:
    """Classes of the client and its transport: what is raised where the endpoint, or the way to
    it, is at fault; all else is a bug.
    """

    response: type[Any]
    client: type[Exception]
    late: tuple[type[Exception], ...]
    broken: tuple[type[Exception], ...]
    """The client's, the transport's, and two of TLS that a transport may let through."""


def _client_classes() -> _ClientClasses:
    import anyio
    import openai

    transport = _transport()
    late = (openai.APITimeoutError, transport.TimeoutException)
    below = (transport.RequestError, ssl.SSLError, anyio.EndOfStream)
    return _ClientClasses(transport.Response, openai.APIError, late, (openai.APIError, *below))


def _transport() -> Any:
    """Return the module of the client's transport.

    Httpx, or httpx2 from version 3.0 of openai on.
    """
    import openai

    classes = openai.DefaultAsyncHttpxClient.__mro__
    name = next(c.__module__ for c in classes if c.__name__ == "AsyncClient")
    return importlib.import_module(name.split(".")[0])


@functools.cache
def _trusted(trust_env: bool) -> ssl.SSLContext:
    """Return the certificates that TLS trusts.

    A pool of its own accord would read them all again.
    """
    context: ssl.SSLContext = _transport().create_ssl_context(trust_env=trust_env)
    return context


def _client(config: SimulatorConfig, key: str, redact: Redact) -> Any:
    import openai

    class Bounded(_transport().AsyncByteStream):  # type: ignore[misc]
        """A body, given up where it is larger than an answer can be."""

        def __init__(self, stream: Any) -> None:
            self._stream, self.aclose = stream, stream.aclose

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > LARGEST_BYTES:
                    raise Fault("oversized", f"a body of more than {LARGEST_BYTES:,} bytes")
                yield piece

    async def check_head(response: Any) -> None:
        """Raise Fault before the body is read, through the client."""
        fault = await refused(response, redact)
        if fault is not None:
            raise fault
        response.stream = Bounded(response.stream)

    async def send(request: Any) -> None:
        """Send our own headers alone: the client adds what OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID
        and OPENAI_PROJECT_ID hold, which may be credentials of another service.
        """
        headers = {**HEADERS, "Authorization": f"Bearer {key}"}
        plain = type(request)(request.method, request.url, headers=headers, content=request.content)
        request.headers = plain.headers

    return openai.AsyncOpenAI(
        api_key=key,
        base_url=config.base_url,
        max_retries=0,
        timeout=config.deadline_s,
        http_client=_http_client(config.base_url, {"request": [send], "response": [check_head]}),
    )


def _http_client(base_url: str, event_hooks: dict[str, Any]) -> Any:
    """Raises ConfigError for a proxy that the client cannot use."""
    import openai

    trust_env = not is_local(urlsplit(base_url).hostname or "")
    try:
        return openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            trust_env=trust_env,
            verify=_trusted(trust_env),
            event_hooks=event_hooks,
        )
    except (ImportError, ValueError, _transport().InvalidURL) as error:
        raise ConfigError(
            f"simulator.base_url: {base_url} must be reached by a proxy that the client can use, "
            f"as the environment names it, got: {error}"
        ) from error


def is_local(host: str) -> bool:
    """Return whether a host is this machine by its name or address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower().rstrip(".").split(".")[-1] == "localhost"
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def api_key(config: SimulatorConfig) -> str:
    """Return the key of the endpoint: read here, and nowhere else.

    Raises ConfigError if its variable holds none, or may not be sent to that host.
    """
    sends = permission.require(config)
    name = sends.variable if sends else ""
    key = os.environ.get(name, "") if sends else NO_KEY
    if not key:
        raise ConfigError(f"simulator.api_key_env: the variable {name} must hold the key, not set")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"simulator.api_key_env: the variable {name} must hold one line of ASCII, "
            f"got {len(key)} characters that are not"
        )
    return key
