"""What an endpoint's response holds, or the Fault that it is; read before its body is."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from harness.simulator.served.faults import Fault, of_status
from harness.simulator.served.redaction import Redact

LARGEST_BYTES = 1_000_000
LARGEST_ERROR_BYTES = 100_000
MOST_TOKENS = 10**7
"""Of one call; a larger count is none."""
NO_KEY = "none"
"""Sent where the endpoint needs no key; the client must have one."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back of a call that succeeded."""

    content: str
    tokens: int | None
    """Of prompt and answer, as the endpoint counts them; None for what can be no count."""
    model: str | None
    """What it says that it is."""
    build: str | None
    """Its system_fingerprint."""


async def refused(response: Any, redact: Redact) -> Fault | None:
    """What is wrong with a response by its head; of an error, the start of its body too."""
    if response.status_code != 200:
        detail = await _start(response, redact)
        return of_status(response.status_code, detail, retry_after_s(response.headers))
    if response.headers.get("content-encoding", "identity") != "identity":
        return Fault("malformed", "a compressed body, which was not asked for")
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) > LARGEST_BYTES:
        return Fault("oversized", f"a body of {length:.20} bytes")
    return None


async def _start(response: Any, redact: Redact) -> str:
    """The first words of an error's body, for a person to read; never the key."""
    if response.headers.get("content-encoding", "identity") != "identity":
        return ""
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > LARGEST_ERROR_BYTES:  # part of a key may be at its end
            return f"with a body of more than {LARGEST_ERROR_BYTES:,} bytes"
    return " ".join(redact(data.decode(errors="replace")).split())[:200]


def retry_after_s(headers: Any) -> float | None:
    """Seconds that Retry-After asks for, given as such or as a date; None without it."""
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
    """Raises Fault malformed for a body that is no chat completion, or one that was cut."""
    try:
        found = json.loads(redact(data.decode("utf-8-sig")))
        choice = found["choices"][0]
        content = choice["message"]["content"]
        tokens = (found.get("usage") or {}).get("total_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        start = redact(data.decode(errors="replace"))[:60]
        raise Fault("malformed", f"no chat completion: {start!r}") from error
    if choice.get("finish_reason") == "length":
        raise Fault("malformed", "cut at simulator.max_tokens")
    if content is None or content == "":
        raise Fault("empty", "no content")
    if not isinstance(content, str):
        raise Fault("malformed", f"content must be text, got {content!r:.40}")
    origin = (_name(found, "model", redact), _name(found, "system_fingerprint", redact))
    counted = type(tokens) is int and 0 <= tokens <= MOST_TOKENS
    return Completion(redact(content), tokens if counted else None, *origin)


def _name(found: Any, field: str, redact: Redact) -> str | None:
    """None where there is none: not every endpoint says it."""
    value = found.get(field)
    return redact(value)[:200] if isinstance(value, str) and value else None
