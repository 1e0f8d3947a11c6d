"""One question to the model, and the name by which its answer is found again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. The same request of the same model has one answer in a run, asked once."""

    purpose: str
    """appraise, reply or open"""
    of: tuple[int | str, ...]
    """Whose turn it is for: the conversation's key and the turn, or the user."""
    system: str
    """How to answer; nothing in it is the policy's."""
    data: Mapping[str, Any]
    """What to answer about, sent as one JSON object: here the policy's words are strings."""
    schema: Mapping[str, Any]
    """JSON schema of the answer."""

    def messages(self) -> list[dict[str, str]]:
        """The two messages that are sent."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": json.dumps(self.data, ensure_ascii=False)},
        ]

    def digest(self, model: str, temperature: float | None) -> str:
        """32 hex digits of all that the answer may depend on."""
        parts = [self.purpose, self.of, self.system, self.data, self.schema, model, temperature]
        return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
