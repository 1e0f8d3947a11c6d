"""The simulator that a run's config asks for."""

from __future__ import annotations

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.protocol import UserSimulator


def make(simulator: SimulatorConfig, difficulty: DifficultyConfig) -> UserSimulator:
    """Return the simulator of `simulator.kind` at `difficulty`. Raises ConfigError."""
    if simulator.kind == "served":
        from harness.simulator.served.client import client_for
        from harness.simulator.served.simulator import ServedSimulator

        return ServedSimulator(difficulty, client_for(simulator))
    if simulator.profiles:
        from harness.simulator.served.cast import ProfiledSimulator

        return ProfiledSimulator(difficulty, simulator)
    from harness.simulator.scripted.user import ScriptedSimulator

    return ScriptedSimulator(difficulty)
