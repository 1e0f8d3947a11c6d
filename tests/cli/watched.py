"""One look of `harness watch`, the events it prints, and a log of another program to watch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cli.watched_log import FollowedLog, FollowOptions, LogState
from harness.law.io import discover
from harness.law.io.columns import ColumnOptions

FOLLOWING = FollowOptions(ColumnOptions(None, None), idle_s=0.0)


def events(text: str) -> list[dict[str, Any]]:
    """Read what `--events jsonl` printed; a NaN in it fails the test."""
    return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]


def look(path: Path, following: FollowOptions = FOLLOWING) -> LogState:
    """Return what one look at the log in `path` sees."""
    (found,) = discover.discover((path,)).runs
    return FollowedLog(found, following).read_state()


def made_log(path: Path, rows: int, step: int = 1) -> None:
    """Write a log of another program: JSON lines under TRL's names."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        for n in range(1, rows + 1):
            entropy = 1.9 * np.exp(-n / 40) + 0.02
            reward = 0.7 - 0.3 * np.exp(entropy) / np.exp(1.9) + 0.01 * rng.standard_normal()
            file.write(json.dumps({"step": step * n, "reward": reward, "entropy": entropy}) + "\n")
