"""The groups under conf/ that spell out what the code has by default say the same."""

from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from harness.config.run import AlgorithmConfig, TrainerConfig

CONF = Path(__file__).parents[2] / "conf"


@pytest.mark.parametrize(
    ("file", "default"),
    [("algorithm/grpo.yaml", AlgorithmConfig()), ("trainer/default.yaml", TrainerConfig())],
)
def test_yaml_and_code_agree(file: str, default: AlgorithmConfig | TrainerConfig) -> None:
    assert yaml.safe_load((CONF / file).read_text()) == asdict(default)
