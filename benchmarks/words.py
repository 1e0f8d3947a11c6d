"""KEY=VALUE words of a benchmark, and those of its user, which win."""

from __future__ import annotations

from collections.abc import Sequence


def merged(own: Sequence[str], given: Sequence[str]) -> list[str]:
    """Each key once, the last word for it."""
    return list({word.partition("=")[0]: word for word in [*own, *given]}.values())
