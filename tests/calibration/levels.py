"""The named levels as they ship."""

from pathlib import Path

import yaml

from harness.config.run import LEVELS as NAMES
from harness.config.run import DifficultyConfig

CONF = Path(__file__).parents[2] / "conf" / "difficulty"
LEVELS = {
    name: DifficultyConfig(**yaml.safe_load((CONF / f"{name}.yaml").read_text())) for name in NAMES
}
