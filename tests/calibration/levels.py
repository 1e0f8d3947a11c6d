"""The named levels as they ship."""

from pathlib import Path

import yaml

from harness.config.run import LEVELS as NAMES
from harness.config.run import DifficultyConfig

CONF = Path(__file__).parents[2] / "conf" / "difficulty"


def shipped(name: str) -> DifficultyConfig:
    """A level as it ships."""
    return DifficultyConfig(**yaml.safe_load((CONF / f"{name}.yaml").read_text()))


LEVELS = {name: shipped(name) for name in NAMES}
ADVERSARIAL = shipped("adversarial")
