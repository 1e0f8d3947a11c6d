"""Do many conversations with a served user take the time of one, and does the policy wait?

    python -m benchmarks.served [CONVERSATIONS [TURNS [DELAY_S [SPEECH_S]]]]

The endpoint is a local server in a process of its own that answers every call after DELAY_S
(default 0.5). One conversation of 6 turns is 12 calls one after the other: its opening, six
appraisals, five replies. 64 of them at once should take under 1.25 times as long, in one wave and
in the two that a run has. Then the policy takes SPEECH_S (default 0.5) for a turn in all
conversations, half of it for half of them, as on a CPU or in a full batch.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.served.client import client_for
from harness.testing.simulator_contract import REPLIES
from harness.train.rollout.conversation import WaveSpeakers, rollout


class InTurn:
    """Says the same sentences to everyone, and takes its time."""

    def __init__(self, seconds_each: float) -> None:
        self._seconds_each = seconds_each

    def begin(self, count: int) -> None:
        """Start `count` conversations."""
        self._turn = -1

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """The next sentence, to each."""
        self._turn += 1
        time.sleep(self._seconds_each * len(live))
        return [SupporterReply(REPLIES[self._turn % len(REPLIES)])] * len(live)


def main() -> None:
    count, turns, delay_s, speech_s = (*map(float, sys.argv[1:]), 64.0, 6.0, 0.5, 0.5)[:4]
    command = [sys.executable, "-m", "tests.simulator.endpoint", str(delay_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            simulator = SimulatorConfig(
                "served", "served", url, model="m", concurrency=max(64, int(count))
            )
            _measure(simulator, int(count), int(turns), delay_s, speech_s)
            client_for(simulator).close()
        finally:
            server.kill()


def _measure(
    simulator: SimulatorConfig, count: int, turns: int, delay_s: float, speech_s: float
) -> None:
    level = DifficultyConfig(turn_cap=turns, stop_below=0)
    users = make(simulator, level)
    warm = [ConversationKey(9, 9, n, 9) for n in range(8)]
    rollout(users, InTurn(0.0), warm)  # the client is imported and connected
    of_12_calls_s = 2 * turns * delay_s
    for number, waves, speech in (
        (1, 1, 0.0), (count, 1, 0.0), (count, 2, 0.0), (count, 1, speech_s), (count, 2, speech_s),
    ):  # fmt: skip
        keys = [ConversationKey(1, number, n, waves + int(100 * speech)) for n in range(number)]
        spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        client = client_for(simulator)
        client.take_usage()
        began = time.monotonic()
        rollout(users, WaveSpeakers([InTurn(speech / count) for _ in range(waves)]), keys)
        seconds = time.monotonic() - began
        spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - spent
        print(
            f"{number} conversations in {waves} waves, {speech:g} s to speak, "
            f"{client.take_usage().calls} calls: {seconds:.2f} s, {spent:.2f} s of CPU "
            f"here; {seconds / of_12_calls_s:.2f} times {2 * turns} calls of {delay_s:g} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
