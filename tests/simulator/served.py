"""Lines and users that the tests of the served simulator share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, UserTurn
from harness.simulator.served.client import EndpointClient, client_for
from harness.simulator.served.simulator import ServedSimulator
from harness.testing.simulator_contract import converse
from harness.trust import permission
from tests.simulator.endpoint import Script, serving

BRIEF = DifficultyConfig(turn_cap=3)


def config(url: str, **values: Any) -> SimulatorConfig:
    """Return the config of an impatient user: tests do not wait."""
    waits = {"backoff_s": 0.0, "deadline_s": 10.0, "outage_s": 0.0}
    keys = {"model": "m", "retries": 2, **waits, **values}
    return SimulatorConfig("served", "served", url, **keys)


@contextlib.contextmanager
def connected(url: str, **values: Any) -> Iterator[EndpointClient]:
    """Yield a client that may send its key, and close it at the end."""
    simulator = config(url, **values)
    line = client_for(simulator)
    with permission.given([simulator.sends] if simulator.sends else []):
        try:
            yield line
        finally:
            line.close()


def users(line: EndpointClient, level: DifficultyConfig = BRIEF) -> ServedSimulator:
    simulator = make(line.config, level)
    assert isinstance(simulator, ServedSimulator)
    return simulator


def talk_with(script: Script, level: DifficultyConfig = BRIEF, **values: Any) -> Any:
    """Return the turns of one conversation with an endpoint of that script, and what it cost."""
    with serving(script) as endpoint, connected(endpoint.url, **values) as line:
        turns: list[UserTurn] = converse(users(line, level), ConversationKey(1, 1, 0, 0))
        return turns, line.take_usage(), endpoint
