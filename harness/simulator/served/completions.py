"""One completion: the request, the response read strictly, and the redaction of the key.

An endpoint that was given the key may echo it in any of its answers; it is repeated nowhere.
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

from harness.simulator.served.faults import Fault, fault_of_status

SHORTEST_KEY = 8
"""A shorter key is a word that stands for none (`EMPTY`), and would be found in words."""
_BETWEEN = r"(?:[^!-\[\]-~]|(?<=\\)(?:[bfnrt]|u(?!00[2-7])[0-9a-fA-F]{4}))*"
"""Whatever may stand between two characters of the key: nothing visible, nor its JSON escape."""
Redact = Callable[[str], str]


def redactor(key: str) -> Redact:
    r"""Return a function that puts KEY for `key`.

    Also with control characters or blanks in it, and where JSON, itself in JSON or not, writes its
    characters as `\/` or `\u0073`.
    """
    seen = [c for c in key if c not in " \\"]
    if len(seen) < SHORTEST_KEY:
        return str
    first, *others = (f"(?:{re.escape(c)}|%su00(?i:{ord(c):02x}))" for c in seen)
    written = [first % r"(?<!\\)\\+", *(other % "" for other in others)]
    pattern = re.compile(_BETWEEN.join(written))
    return lambda text: pattern.sub("KEY", text)


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the model.

    The same request of the same model has one answer in a run, asked once.
    """

    purpose: str
    """appraise, reply or open"""
    of: tuple[int | str, ...]
    """Identity of the turn it is for: the conversation's key and the turn, or the user."""
    system: str
    """Instructions; nothing in it is the policy's."""
    data: Mapping[str, Any]
    """The matter, sent as one JSON object, in which the policy's words are strings."""
    schema: Mapping[str, Any]
    """JSON schema of the answer."""

    def messages(self) -> list[dict[str, str]]:
        """Return the two messages that are sent."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": json.dumps(self.data, ensure_ascii=False)},
        ]

    def digest(self, model: str, temperature: float | None) -> str:
        """Return 32 hex digits of all that the answer may depend on."""
        parts = [self.purpose, self.of, self.system, self.data, self.schema, model, temperature]
        return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


LARGEST_BYTES = 1_000_000
LARGEST_ERROR_BYTES = 100_000
MOST_TOKENS = 10**7
"""Tokens of one call; a larger count is none."""
NO_KEY = "none"
"""Sent where the endpoint needs no key; the client must have one."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The response to a call that succeeded."""

    content: str
    tokens: int | None
    """In prompt and answer, as the endpoint counts them; None for what can be no count."""
    model: str | None
    """The name that it gives itself."""
    build: str | None
    """Its system_fingerprint."""


async def refused(response: Any, redact: Redact) -> Fault | None:
    """Return the fault of a response by its head; of an error, with the start of its body."""
    if response.status_code != 200:
        detail = await _start(response, redact)
        return fault_of_status(response.status_code, detail, retry_after_s(response.headers))
    if response.headers.get("content-encoding", "identity") != "identity":
        return Fault("malformed", "a compressed body, which was not asked for")
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) > LARGEST_BYTES:
        return Fault("oversized", f"a body of {length:.20} bytes")
    return None


async def _start(response: Any, redact: Redact) -> str:
    """Return the first words of an error's body, for a person to read; never the key."""
    if response.headers.get("content-encoding", "identity") != "identity":
        return ""
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > LARGEST_ERROR_BYTES:  # part of a key may be at its end
            return f"with a body of more than {LARGEST_ERROR_BYTES:,} bytes"
    return " ".join(redact(data.decode(errors="replace")).split())[:200]


def retry_after_s(headers: Any) -> float | None:
    """Return the seconds that Retry-After asks for, as such or as a date; None without it."""
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
    """Return the completion in a body. Raises Fault: malformed (also if cut) or empty."""
    try:
        body = json.loads(redact(data.decode("utf-8-sig")))
        choice = body["choices"][0]
        content = choice["message"]["content"]
        tokens = (body.get("usage") or {}).get("total_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        start = redact(data.decode(errors="replace"))[:60]
        raise Fault("malformed", f"no chat completion: {start!r}") from error
    if choice.get("finish_reason") == "length":
        raise Fault("malformed", "cut at simulator.max_tokens")
    if content is None or content == "":
        raise Fault("empty", "no content")
    if not isinstance(content, str):
        raise Fault("malformed", f"content must be text, got {content!r:.40}")
    origin = (_name(body, "model", redact), _name(body, "system_fingerprint", redact))
    counted = type(tokens) is int and 0 <= tokens <= MOST_TOKENS
    return Completion(redact(content), tokens if counted else None, *origin)


def _name(body: Any, field: str, redact: Redact) -> str | None:
    """Return a name; None where there is none: not every endpoint says it."""
    value = body.get(field)
    return redact(value)[:200] if isinstance(value, str) and value else None
