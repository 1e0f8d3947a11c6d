"""Calls to the endpoint, with every failure as an EndpointFault. The only file that uses openai.

The openai client's retries are off, because retries are counted elsewhere. Its timeout is per read
and so does not stop a slow stream; a deadline covers the whole call. Large bodies, and redirects,
which would carry the key, are refused.
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
from harness.simulator.served.faults import EndpointFault
from harness.trust import permission

CALLS_A_POOL, MOST_POOLS = 8, 8
"""Calls per connection pool, and most pools. A pool scans its connections at each call, so eight
small pools cost a fifth less than one."""
REFUSED_SCHEMA = (400, 422)
"""Statuses of an endpoint that does not accept a keyword of the schema."""
HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "harness",
}


class Endpoint:
    """Connections to one endpoint, for one event loop."""

    def __init__(self, config: SimulatorConfig) -> None:
        """Raise ConfigError if the key's variable is not set, or may not be sent to this host."""
        key = api_key(config)
        self._config, self._classes, self._redact = config, _client_classes(), redactor(key)
        pools = min(MOST_POOLS, math.ceil(config.concurrency / CALLS_A_POOL))
        self._clients = [_client(config, key, self._redact) for _ in range(pools)]
        self._turns = itertools.cycle(self._clients)
        self._takes_lengths: bool | None = None

    async def complete(self, request: Request, seed: int) -> Completion:
        """Return the completion of one try. Raises EndpointFault."""
        try:
            async with asyncio.timeout(self._config.deadline_s):
                return await self._complete(request, seed)
        except TimeoutError as error:
            raise EndpointFault(
                "timeout", f"no whole answer in {self._config.deadline_s:g} s"
            ) from error

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            await client.close()

    async def _complete(self, request: Request, seed: int) -> Completion:
        """Return the completion. Some endpoints refuse a schema that limits the length of a text;
        after the first refusal, requests are sent without the limit.
        """
        plain = self._body(_without_lengths(request), seed)
        bounded = self._body(request, seed)
        if bounded == plain or self._takes_lengths is False:
            return completion(await self._post(plain), self._redact)
        try:
            content = await self._post(bounded)
            self._takes_lengths = True
        except EndpointFault as fault:
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
        """Send a request by the client's `post`. `chat.completions.create` takes half a second to
        load, and its checks of arguments cost a sixth of a call.
        """
        client, response_class = next(self._turns), self._classes.response
        try:
            response = await client.post("/chat/completions", cast_to=response_class, body=body)
        except self._classes.broken as error:
            raise self._fault(error) from error
        content: bytes = response.content
        return content

    def _fault(self, error: Exception) -> EndpointFault:
        """Return the fault for an error of the client or the transport.

        Re-raises a bug of this package, which openai before 3.0 wraps.
        """
        is_wrapped = isinstance(error, self._classes.client)
        cause = error.__cause__ if is_wrapped and error.__cause__ else error
        if isinstance(cause, EndpointFault):
            return cause
        if not isinstance(cause, self._classes.broken):
            raise cause
        if isinstance(cause, self._classes.late):
            return EndpointFault("timeout", f"no whole answer in {self._config.deadline_s:g} s")
        return EndpointFault("connection", self._redact(f"{type(cause).__name__}: {error}")[:200])


def _without_lengths(request: Request) -> Request:
    """Return the request without limits on the length of texts in its schema."""
    properties = {
        name: {key: value for key, value in shape.items() if key != "maxLength"}
        for name, shape in request.schema.get("properties", {}).items()
    }
    if properties == request.schema.get("properties", {}):
        return request
    return replace(request, schema={**request.schema, "properties": properties})


@dataclass(frozen=True, slots=True)
class _ClientClasses:
    """Exception classes that mean a fault of the endpoint or the network; all others are bugs."""

    response: type[Any]
    client: type[Exception]
    late: tuple[type[Exception], ...]
    broken: tuple[type[Exception], ...]
    """Errors of client and transport, and two TLS errors that a transport may let through."""


def _client_classes() -> _ClientClasses:
    import anyio
    import openai

    transport = _transport()
    late = (openai.APITimeoutError, transport.TimeoutException)
    transport_errors = (transport.RequestError, ssl.SSLError, anyio.EndOfStream)
    return _ClientClasses(
        transport.Response, openai.APIError, late, (openai.APIError, *transport_errors)
    )


def _transport() -> Any:
    """Return the module of the client's transport: httpx, or httpx2 from openai 3.0."""
    import openai

    classes = openai.DefaultAsyncHttpxClient.__mro__
    name = next(c.__module__ for c in classes if c.__name__ == "AsyncClient")
    return importlib.import_module(name.split(".")[0])


@functools.cache
def _tls_context(trust_env: bool) -> ssl.SSLContext:
    """Return the TLS context. Cached because each pool would load the certificates again."""
    context: ssl.SSLContext = _transport().create_ssl_context(trust_env=trust_env)
    return context


def _client(config: SimulatorConfig, key: str, redact: Redact) -> Any:
    import openai

    class LimitedBody(_transport().AsyncByteStream):  # type: ignore[misc]
        """A body that raises EndpointFault once it exceeds LARGEST_BYTES."""

        def __init__(self, stream: Any) -> None:
            self._stream, self.aclose = stream, stream.aclose

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > LARGEST_BYTES:
                    raise EndpointFault("oversized", f"a body of more than {LARGEST_BYTES:,} bytes")
                yield piece

    async def check_head(response: Any) -> None:
        """Raise EndpointFault by status and headers, before the body is read."""
        fault = await refused(response, redact)
        if fault is not None:
            raise fault
        response.stream = LimitedBody(response.stream)

    async def send(request: Any) -> None:
        """Replace the headers. The client adds the values of OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID
        and OPENAI_PROJECT_ID, which may be credentials of another service.
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
    """Return the HTTP client. Raises ConfigError for a proxy that it cannot use."""
    import openai

    trust_env = not is_local(urlsplit(base_url).hostname or "")
    try:
        return openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            trust_env=trust_env,
            verify=_tls_context(trust_env),
            event_hooks=event_hooks,
        )
    except (ImportError, ValueError, _transport().InvalidURL) as error:
        raise ConfigError(
            f"simulator.base_url: {base_url} must be reached by a proxy that the client can use, "
            f"as the environment names it, got: {error}"
        ) from error


def is_local(host: str) -> bool:
    """Return whether the name or address of a host means this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower().rstrip(".").split(".")[-1] == "localhost"
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def api_key(config: SimulatorConfig) -> str:
    """Return the endpoint's key. This is the only place that reads it.

    Raises ConfigError if the variable has no valid key, or may not be sent to the host.
    """
    grant = permission.require(config)
    name = grant.variable if grant else ""
    key = os.environ.get(name, "") if grant else NO_KEY
    if not key:
        raise ConfigError(f"simulator.api_key_env: the variable {name} must hold the key, not set")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"simulator.api_key_env: the variable {name} must hold one line of ASCII, "
            f"got {len(key)} characters that are not"
        )
    return key
