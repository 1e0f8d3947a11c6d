"""From a run's config to its user simulator."""

from __future__ import annotations

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.protocol import UserSimulator


def make(simulator: SimulatorConfig, difficulty: DifficultyConfig) -> UserSimulator:
    """The simulator of `simulator.kind` at `difficulty`."""
    if simulator.kind == "served":
        from harness.simulator.served.line import line_to
        from harness.simulator.served.simulator import ServedSimulator

        return ServedSimulator(difficulty, line_to(simulator))
    if simulator.profiles:
        from harness.simulator.served.cast import ScriptedGuests

        return ScriptedGuests(difficulty, simulator)
    from harness.simulator.scripted.user import ScriptedSimulator

    return ScriptedSimulator(difficulty)
