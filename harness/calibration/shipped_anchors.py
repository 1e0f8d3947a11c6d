"""The anchors of the shipped cards, for who only looks them up: nothing is measured here."""

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
"""Stands for the second user's reader in cards."""
OF_NO_USER = ("name", "reward_noise", "reward_flips")
"""Keys of a level that change nothing about its users."""


def users_key(level: DifficultyConfig, reader: str) -> str:
    """16 hex digits of all that a level's users, and so its anchors, follow from."""
    knobs = {key: value for key, value in level.knobs().items() if key not in OF_NO_USER}
    versions = [simulator.VERSION, *([second.VERSION] if reader == SECOND else [])]
    whole = json.dumps([knobs, reader, *versions], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def share(reward: float, level: DifficultyConfig, users: SimulatorConfig) -> float:
    """Share of what listening is worth at `level` that `reward` has: 0 at the best schedule, 1 at
    the optimum; nan where it is worth less than LEAST_WORTH, and where the shipped cards do not
    hold the anchors.

    Of the shipped cards alone, so that no row depends on what a machine has measured before.
    """
    anchors = shipped(level, users)
    if anchors is None:
        return math.nan
    deaf, best = anchors["deaf"]["reward"]["value"], anchors["optimum"]["reward"]
    return float((reward - deaf) / (best - deaf)) if best - deaf >= LEAST_WORTH else math.nan


def shipped(level: DifficultyConfig, users: SimulatorConfig) -> Mapping[str, Any] | None:
    """The anchors of `level` as a shipped card holds them; None where none does, as for users with
    profiles, a reader that is a model, or served users.
    """
    reader = SECOND if users.kind == "second" else users.reader
    if users.kind not in ("scripted", "second") or users.profiles:
        return None
    return _shipped().get(users_key(level, reader))


@cache
def _shipped() -> dict[str, Mapping[str, Any]]:
    """The anchors of the shipped cards, by the key of their users."""
    cards = [
        json.loads(path.read_text(encoding="utf-8")) for path in calibration.SHIPPED.glob("*.json")
    ]
    return {card["users"]: card["anchors"] for card in cards}
