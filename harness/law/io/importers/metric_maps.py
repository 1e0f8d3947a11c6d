"""Read NeMo-RL's metrics in JSON: {"train/reward": {"1": 0.21, "2": 0.25}, ...}."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from typing import Any

from harness.law.io.importers.rows import Row, Rows, damaged

RULE = "must hold one JSON object of metrics, each a map from step to value"


def looks_like(data: bytes) -> bool:
    return bool(_maps(data))


def rows(data: bytes) -> Rows:
    """Return one row per step. All have the line number 1, because the file has no lines."""
    by_step: dict[str, dict[str, Any]] = defaultdict(dict)
    for metric, values in _maps(data).items():
        for step, value in values.items():
            by_step[step][metric] = value
    parsed: list[Row] = [{**row, "step": _step(step)} for step, row in by_step.items()]
    return Rows(parsed, [1] * len(parsed), damaged([], None), RULE, scattered=True)


def _maps(data: bytes) -> dict[str, dict[str, Any]]:
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(data.decode("utf-8"))
        if isinstance(value, dict):
            return {name: inner for name, inner in value.items() if isinstance(inner, dict)}
    return {}


def _step(text: str) -> float | str:
    with contextlib.suppress(ValueError):
        return float(text)
    return text
