"""Levels of the scripted user."""

from __future__ import annotations

from pathlib import Path

import yaml

from harness.config.run import DifficultyConfig

CONF = Path(__file__).parents[2] / "conf" / "difficulty"


def level(name: str) -> DifficultyConfig:
    return DifficultyConfig(**yaml.safe_load((CONF / f"{name}.yaml").read_text()))


SENTENCES = Path(__file__).parents[2] / "benchmarks" / "strategy_sentences.tsv"


NATURAL = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
"""(writer, kind, sentence)."""
