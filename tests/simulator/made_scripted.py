"""Levels of the scripted user."""

from __future__ import annotations

from pathlib import Path

import yaml

from harness.config.run import DifficultyConfig

CONF = Path(__file__).parents[2] / "conf" / "difficulty"


def level(name: str) -> DifficultyConfig:
    return DifficultyConfig(**yaml.safe_load((CONF / f"{name}.yaml").read_text()))
