"""One completion: the request, strict parsing of the response, and redaction of the key.

An endpoint may echo the key in any answer, so the key is redacted from all of them.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from typing import Any

from harness.simulator.served.faults import EndpointFault, fault_of_status

SHORTEST_KEY = 8
"""A shorter key is a placeholder such as `EMPTY`, which also occurs in ordinary text."""
_INVISIBLE, _ESCAPE = r"[^!-\[\]-~]", r"(?<=\\)(?:[bfnrt]|u(?!00[2-7])[0-9a-fA-F]{4})"
_BETWEEN = (rf"(?:{_INVISIBLE}|{_ESCAPE}){{0,64}}+", rf"(?:{_INVISIBLE}){{0,64}}+")
"""Characters that may separate the characters of the key: invisible ones, JSON-escaped or plain.
Both are tried, since backslash and n are a line's end or, after a backslash, the key's own n. Few
and possessive: with backtracking, 2 kB of such escapes could take minutes.
"""
Redact = Callable[[str], str]


def redactor(key: str) -> Redact:
    r"""Return a function that replaces `key` by KEY.

    It also finds the key with control characters or blanks in it, and with characters escaped in
    (nested) JSON as `\/` or `\u0073`.
    """
    visible = [c for c in key if c not in " \\"]
    if len(visible) < SHORTEST_KEY:
        return str
    before = [r"(?<!\\)\\+", *[""] * (len(visible) - 1)]
    spelt = zip(visible, before, strict=True)
    patterns = [f"(?:{re.escape(c)}|{escape}u00(?i:{ord(c):02x}))" for c, escape in spelt]
    with_escapes, plain = (re.compile(between.join(patterns)) for between in _BETWEEN)
    return lambda text: plain.sub("KEY", with_escapes.sub("KEY", text))


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the model. Identical requests have one answer in a run."""

    purpose: str
    """appraise, reply or open; schema for the check whether schemas are enforced."""
    of: tuple[int | str, ...]
    """Identity of the turn: the conversation's key and the turn, or the user."""
    system: str
    """System message, which contains nothing from the policy."""
    data: Mapping[str, Any]
    """Content of the user message, one JSON object in which the policy's words are strings."""
    schema: Mapping[str, Any]
    """JSON schema of the answer."""

    def messages(self) -> list[dict[str, str]]:
        """Return the system and the user message."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": json.dumps(self.data, ensure_ascii=False)},
        ]

    def digest(self, model: str, temperature: float | None) -> str:
        """Return 32 hex digits of a hash of everything that the answer may depend on."""
        parts = [self.purpose, self.of, self.system, self.data, self.schema, model, temperature]
        return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


LARGEST_BYTES = 1_000_000
LARGEST_ERROR_BYTES = 100_000
MOST_TOKENS = 10**7
"""Most tokens of one call; a larger count is taken for invalid."""
NO_KEY = "none"
"""Placeholder for an endpoint without a key, because the client requires one."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The response to a call that succeeded."""

    content: str
    tokens: int | None
    """Tokens of prompt and answer, as the endpoint counts them; None for an invalid count."""
    model: str | None
    """Name of the model in the response, if any."""
    build: str | None
    """system_fingerprint of the response, if any."""


async def refused(response: Any, redact: Redact) -> EndpointFault | None:
    """Return the fault that a response's status and headers show, or None.

    The fault of an error status includes the start of the body.
    """
    if response.status_code != 200:
        detail = await _start(response, redact)
        return fault_of_status(response.status_code, detail, retry_after_s(response.headers))
    if response.headers.get("content-encoding", "identity") != "identity":
        return EndpointFault("malformed", "a compressed body, which was not asked for")
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) > LARGEST_BYTES:
        return EndpointFault("oversized", f"a body of {length:.20} bytes")
    return None


async def _start(response: Any, redact: Redact) -> str:
    """Return the start of an error's body for a reader, with the key redacted."""
    if response.headers.get("content-encoding", "identity") != "identity":
        return ""
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > LARGEST_ERROR_BYTES:  # truncating could leave part of a key unredacted
            return f"with a body of more than {LARGEST_ERROR_BYTES:,} bytes"
    return " ".join(redact(data.decode(errors="replace")).split())[:200]


def retry_after_s(headers: Any) -> float | None:
    """Return the wait that Retry-After asks for, in seconds or as a date; None without it."""
    text = headers.get("retry-after")
    if text is None:
        return None
    try:
        seconds = float(text)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError):
        return None


def completion(data: bytes, redact: Redact) -> Completion:
    """Return the completion in a body.

    Raises EndpointFault: malformed (also if truncated) or empty.
    """
    try:
        body = json.loads(redact(data.decode("utf-8-sig")))
        choice = body["choices"][0]
        content = choice["message"]["content"]
        tokens = (body.get("usage") or {}).get("total_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        start = redact(data.decode(errors="replace"))[:60]
        raise EndpointFault("malformed", f"no chat completion: {start!r}") from error
    if choice.get("finish_reason") == "length":
        raise EndpointFault("malformed", "cut at simulator.max_tokens")
    if content is None or content == "":
        raise EndpointFault("empty", "no content")
    if not isinstance(content, str):
        raise EndpointFault("malformed", f"content must be text, got {content!r:.40}")
    origin = (_name(body, "model", redact), _name(body, "system_fingerprint", redact))
    is_valid_count = type(tokens) is int and 0 <= tokens <= MOST_TOKENS
    return Completion(redact(content), tokens if is_valid_count else None, *origin)


def _name(body: Any, field: str, redact: Redact) -> str | None:
    """Return a name field of a response; None without it, as not every endpoint sends it."""
    value = body.get(field)
    return redact(value)[:200] if isinstance(value, str) and value else None
