"""One call to the endpoint, and every way it can fail as a Fault. The only file of openai.

The client's own retries are off (ours are counted), its timeout is per read and so never fires on
a slow drip (a deadline stands round the whole call), and it reads bodies of any size and follows
redirects with the key in hand (both are refused here, before the body is read).
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import itertools
import json
import math
import os
import ssl
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from harness.errors import ConfigError
from harness.simulator.served.faults import Fault, of_status
from harness.simulator.served.requests import Request
from harness.simulator_config import SimulatorConfig

LARGEST_BYTES = 1_000_000
LONGEST_ERROR_BYTES = 2_000
CALLS_A_POOL, MOST_POOLS = 8, 8
"""A pool looks through all its connections at each call: eight small ones cost a fifth less."""
NO_KEY = "none"
"""Sent where the endpoint needs no key; the client must have one."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back of a call that succeeded."""

    content: str
    tokens: int | None
    """Of prompt and answer, as the endpoint counts them."""


class Endpoint:
    """The client of one endpoint, for one event loop."""

    def __init__(self, config: SimulatorConfig) -> None:
        """Raises ConfigError if the key's variable is not set."""
        self._config, self._key, self._errors = config, api_key(config), _errors()
        pools = min(MOST_POOLS, math.ceil(config.concurrency / CALLS_A_POOL))
        self._clients = [_client(config, self._key) for _ in range(pools)]
        self._turns = itertools.cycle(self._clients)

    async def complete(self, request: Request, seed: int) -> Completion:
        """One try. Raises Fault."""
        try:
            async with asyncio.timeout(self._config.deadline_s):
                return _completion(await self._post(self._body(request, seed)))
        except TimeoutError as error:
            raise Fault("timeout", f"no whole answer in {self._config.deadline_s:g} s") from error

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    def _body(self, request: Request, seed: int) -> dict[str, Any]:
        """Arguments of the client. What is in extra_body goes out as it stands; the client walks
        through its other arguments key by key, at a sixth of what a call costs here.
        """
        shape = {"name": request.purpose, "strict": True, "schema": request.schema}
        body: dict[str, Any] = {
            "messages": request.messages(),
            "response_format": {"type": "json_schema", "json_schema": shape},
            "max_completion_tokens": self._config.max_tokens,
            "seed": seed,
        }
        if self._config.temperature is not None:
            body["temperature"] = self._config.temperature
        return {"model": self._config.model, "messages": (), "extra_body": body}

    async def _post(self, body: dict[str, Any]) -> bytes:
        create = next(self._turns).chat.completions.with_streaming_response.create
        try:
            async with create(**body) as response:
                data = bytearray()
                async for piece in response.iter_bytes():
                    data += piece
                    if len(data) > LARGEST_BYTES:
                        raise Fault("oversized", f"a body of more than {LARGEST_BYTES:,} bytes")
                return bytes(data)
        except self._errors.broken as error:
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> Fault:
        """Of what the client or the transport raised. Raises a bug of ours as it is: a client
        before 3.0 wraps whatever comes from below it.
        """
        wrapped = isinstance(error, self._errors.client)
        below = error.__cause__ if wrapped and error.__cause__ else error
        if isinstance(below, Fault):
            return below
        if not isinstance(below, self._errors.broken):
            raise below
        if isinstance(below, self._errors.late):
            return Fault("timeout", f"no whole answer in {self._config.deadline_s:g} s")
        return Fault("connection", f"{type(below).__name__}: {error}"[:200])


@dataclass(frozen=True, slots=True)
class _Errors:
    """What is raised where the endpoint, or the way to it, is at fault. All else is a bug."""

    client: type[Exception]
    late: tuple[type[Exception], ...]
    broken: tuple[type[Exception], ...]
    """The client's, the transport's, and two of TLS that a transport may let through."""


def _errors() -> _Errors:
    import anyio
    import openai

    transport = _transport()
    late = (openai.APITimeoutError, transport.TimeoutException)
    below = (transport.RequestError, ssl.SSLError, anyio.EndOfStream)
    return _Errors(openai.APIError, late, (openai.APIError, *below))


def _transport() -> Any:
    """The module that the client's comes from: httpx, or httpx2 from version 3.0 of openai on."""
    import openai

    classes = openai.DefaultAsyncHttpxClient.__mro__
    name = next(c.__module__ for c in classes if c.__name__ == "AsyncClient")
    return importlib.import_module(name.split(".")[0])


@functools.cache
def _trusted(trust_env: bool) -> ssl.SSLContext:
    """The certificates that TLS trusts; a pool of its own accord would read them all again."""
    context: ssl.SSLContext = _transport().create_ssl_context(trust_env=trust_env)
    return context


def _client(config: SimulatorConfig, key: str) -> Any:
    import openai

    async def look(response: Any) -> None:
        """Raises Fault before the body is read, through the client."""
        fault = await _refused(response, key)
        if fault is not None:
            raise fault

    trust_env = urlsplit(config.base_url).hostname not in LOOPBACK
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=config.base_url,
        max_retries=0,
        timeout=config.deadline_s,
        default_headers={"Accept-Encoding": "identity"},
        http_client=openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            trust_env=trust_env,
            verify=_trusted(trust_env),
            event_hooks={"response": [look]},
        ),
    )


def api_key(config: SimulatorConfig) -> str:
    """The key of the endpoint. Raises ConfigError if its variable holds none."""
    name = config.api_key_env
    key = os.environ.get(name, "") if name else NO_KEY
    if not key:
        raise ConfigError(f"simulator.api_key_env: the variable {name} must hold the key, not set")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"simulator.api_key_env: the variable {name} must hold one line of ASCII, "
            f"got {len(key)} characters that are not"
        )
    return key


async def _refused(response: Any, key: str) -> Fault | None:
    """What is wrong with a response by its head; of an error, the start of its body too."""
    if response.status_code != 200:
        detail = await _start(response, key)
        return of_status(response.status_code, detail, retry_after_s(response.headers))
    if response.headers.get("content-encoding", "identity") != "identity":
        return Fault("malformed", "a compressed body, which was not asked for")
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) > LARGEST_BYTES:
        return Fault("oversized", f"a body of {length:.20} bytes")
    return None


async def _start(response: Any, key: str) -> str:
    """The first words of an error's body, for a person to read; never the key."""
    data = bytearray()
    if response.headers.get("content-encoding", "identity") == "identity":
        async for piece in response.aiter_bytes():
            data += piece
            if len(data) >= LONGEST_ERROR_BYTES:
                break
    text = " ".join(data[:LONGEST_ERROR_BYTES].decode(errors="replace").split())
    return (text if key == NO_KEY else text.replace(key, "KEY"))[:200]


def retry_after_s(headers: Any) -> float | None:
    """Seconds that Retry-After asks for, given as such or as a date; None without it."""
    text = headers.get("retry-after")
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _completion(data: bytes) -> Completion:
    """Raises Fault malformed for a body that is no chat completion, or one that was cut."""
    try:
        found = json.loads(data)
        choice = found["choices"][0]
        content = choice["message"]["content"]
        usage = found.get("usage") or {}
        tokens = usage.get("total_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Fault("malformed", f"no chat completion: {data[:60]!r}") from error
    if choice.get("finish_reason") == "length":
        raise Fault("malformed", "cut at simulator.max_tokens")
    if content is None or content == "":
        raise Fault("empty", "no content")
    if not isinstance(content, str):
        raise Fault("malformed", f"content must be text, got {content!r:.40}")
    return Completion(content, tokens if type(tokens) is int else None)
