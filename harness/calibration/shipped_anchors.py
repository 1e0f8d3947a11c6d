"""Looks up the anchors of the shipped cards, without measuring anything."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from harness import calibration, simulator
from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.records.metrics import LEAST_WORTH
from harness.simulator import second

SECOND = "second"
"""Name of the second user's reader in cards."""
OF_NO_USER = ("name", "reward_noise", "reward_flips")
"""Keys of a level that do not affect its users."""


def users_key(level: DifficultyConfig, reader: str) -> str:
    """Return 16 hex digits of a hash of everything that a level's users and anchors depend on."""
    knobs = {key: value for key, value in level.knobs().items() if key not in OF_NO_USER}
    versions = [simulator.VERSION, *([second.VERSION] if reader == SECOND else [])]
    text = json.dumps([knobs, reader, *versions], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def share(reward: float, level: DifficultyConfig, users: SimulatorConfig) -> float:
    """Return `reward` on a scale from 0 at the level's best schedule to 1 at its optimum.

    nan if the two differ by less than LEAST_WORTH, or no shipped card has the anchors. Only shipped
    cards are used, so that no row depends on what a machine has measured before.
    """
    anchors = shipped(level, users)
    if anchors is None:
        return math.nan
    deaf, best = anchors["deaf"]["reward"]["value"], anchors["optimum"]["reward"]
    return float((reward - deaf) / (best - deaf)) if best - deaf >= LEAST_WORTH else math.nan


def shipped(level: DifficultyConfig, users: SimulatorConfig) -> Mapping[str, Any] | None:
    """Return the anchors of `level` from a shipped card, or None.

    Users with profiles, a language-model reader, and served users have none.
    """
    reader = SECOND if users.kind == "second" else users.reader
    if users.kind not in ("scripted", "second") or users.profiles:
        return None
    return _shipped().get(users_key(level, reader))


@cache
def _shipped() -> dict[str, Mapping[str, Any]]:
    """Return the anchors of the shipped cards by `users_key`."""
    cards = [
        json.loads(path.read_text(encoding="utf-8")) for path in calibration.SHIPPED.glob("*.json")
    ]
    return {card["users"]: card["anchors"] for card in cards}
