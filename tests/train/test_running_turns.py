"""Turns in a continuous batch: what counts as the engine's time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from harness.train.engines.engine import TurnRequest
from harness.train.engines.running_turns import RunningTurns
from harness.train.engines.sampler import SampledTurn

STEP_S, PAUSE_S = 0.02, 1.0


class Engine:
    """Draws a token of each open turn a step; a turn is as long as its first id says."""

    def __init__(self) -> None:
        self.left: dict[str, int] = {}

    def add_request(self, name: str, prompt: dict[str, Any], options: object) -> None:
        self.left[name] = prompt["prompt_token_ids"][0]

    def step(self) -> list[Any]:
        time.sleep(STEP_S)
        self.left = {name: left - 1 for name, left in self.left.items()}
        ended = [name for name, left in self.left.items() if not left]
        for name in ended:
            del self.left[name]
        turn = SimpleNamespace(token_ids=[3], logprobs=[{3: SimpleNamespace(logprob=-1.0)}])
        return [SimpleNamespace(finished=True, request_id=name, outputs=[turn]) for name in ended]


def test_the_time_between_steps_is_not_the_engines() -> None:
    waited: list[float] = []

    @contextmanager
    def in_step(seconds: float) -> Iterator[None]:
        waited.append(seconds)
        yield

    turns = RunningTurns(Engine(), lambda request, seed: None, in_step)
    short, long = (turns.begin(TurnRequest([[n]], [1], 9, 3, 1.0)) for n in (2, 4))
    assert short() == [SampledTurn([3], [-1.0])]
    time.sleep(PAUSE_S)  # such as a pass of the judge
    assert long() == [SampledTurn([3], [-1.0])]
    assert waited[0] == waited[2] == 0.0, "it begins anew when a turn ends"
    assert STEP_S <= waited[1] < PAUSE_S
    assert STEP_S <= waited[3] < PAUSE_S
