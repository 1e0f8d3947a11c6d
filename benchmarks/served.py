"""Do many conversations with a served user take the time of one?

    python -m benchmarks.served [CONVERSATIONS [TURNS [DELAY_S]]]

The endpoint is a local server in a process of its own that answers every call after DELAY_S
(default 0.5). One conversation of 6 turns is 12 calls one after the other: its opening, six
appraisals, five replies. 64 of them at once should take under 1.25 times as long.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from harness.config import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.served.line import line_to
from harness.train.conversation import hold
from tests.simulator.contract import REPLIES


class InTurn:
    """Says the same sentences to everyone, at no cost."""

    def begin(self, count: int) -> None:
        """Start `count` conversations."""
        self._turn = -1

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """The next sentence, to each."""
        self._turn += 1
        return [SupporterReply(REPLIES[self._turn % len(REPLIES)])] * len(live)


def main() -> None:
    count, turns, delay_s = (*map(float, sys.argv[1:]), 64.0, 6.0, 0.5)[:3]
    command = [sys.executable, "-m", "tests.simulator.endpoint", str(delay_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            _measure(server.stdout.readline().strip(), int(count), int(turns), delay_s)
        finally:
            server.kill()


def _measure(url: str, count: int, turns: int, delay_s: float) -> None:
    level = DifficultyConfig(turn_cap=turns, stop_below=0)
    simulator = SimulatorConfig("served", "served", url, model="m", concurrency=max(64, count))
    users = make(simulator, level)
    users.open([ConversationKey(9, 9, 9, 9)])  # the client is imported and connected
    for number in (1, count):
        spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        line_to(simulator).take_tally()
        began = time.monotonic()
        held = hold(users, InTurn(), [ConversationKey(1, number, n, 0) for n in range(number)])
        seconds = time.monotonic() - began
        spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - spent
        calls = line_to(simulator).take_tally().calls
        said = sum(len(conversation.exchanges) for conversation in held)
        print(
            f"{number} conversations, {said / number:.2f} turns each, {calls} calls: "
            f"{seconds:.2f} s, {spent:.2f} s of CPU here; "
            f"{seconds / (2 * turns * delay_s):.2f} times {2 * turns} calls of {delay_s:g} s"
        )
    line_to(simulator).close()


if __name__ == "__main__":
    main()
