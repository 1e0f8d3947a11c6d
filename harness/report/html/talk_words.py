"""Conversations in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.records.saved_conversations import Why
from harness.report.text.wording import plain


def strategies(heard: Sequence[str]) -> str:
    return ", ".join(map(plain, heard)) or "nothing"


def intention(key: str) -> str:
    return plain(key)


def ended(how: str) -> str:
    return how


def why(cause: Why) -> Iterator[str]:
    if cause.effects:
        yield ", ".join(f"{plain(p)} {e:+.1f}" for p, e in cause.effects.items())
    if cause.reason:
        yield cause.reason
