"""What a plan is made for: the difference to decide, the rule that decides it, and the pilot."""

from __future__ import annotations

from dataclasses import dataclass

from harness.config.run import RunConfig
from harness.planning.decision import Rule
from harness.planning.effects import Effect
from harness.planning.pilot import Pilot


@dataclass(frozen=True)
class Task:
    """What is to be decided, by which rule, from what."""

    effect: Effect
    rule: Rule
    pilot: Pilot
    configs: tuple[RunConfig, ...]
    wanted: float
    typed: frozenset[str] = frozenset()
    known: bool = False
    """Whether the pilot's spread is taken as exact."""
