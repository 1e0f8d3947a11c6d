"""How much of a rollout does the policy speak, and whom does one late user keep waiting?

    python -m benchmarks.late_user [WAVES,... [LATE_S]]

64 conversations of 6 turns with a local endpoint that answers each call after 0.5 s, and one user
after LATE_S (default 2.5) more. The policy takes 0.5 s for a turn in all conversations and half of
it in half of them, so it speaks for 3 s in all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.served.client import client_for
from harness.testing.simulator_contract import REPLIES
from harness.train.rollout.conversation import InWaves, rollout

COUNT, TURNS, DELAY_S, SPEECH_S = 64, 6, 0.5, 0.5


class Timed:
    """Says the same sentences to everyone, takes its time, and keeps when it spoke last."""

    def __init__(self) -> None:
        self.spoken_s, self.last = 0.0, 0.0

    def begin(self, count: int) -> None:
        """Start `count` conversations."""
        self._turn = -1

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """The next sentence, to each."""
        self._turn += 1
        began = time.monotonic()
        time.sleep(SPEECH_S * len(live) / COUNT)
        self.last = time.monotonic()
        self.spoken_s += self.last - began
        return [SupporterReply(REPLIES[self._turn % len(REPLIES)])] * len(live)


def main() -> None:
    waves = sys.argv[1] if len(sys.argv) > 1 else "1,2,8,64"
    late_s = sys.argv[2] if len(sys.argv) > 2 else "2.5"
    for late in ("0", late_s):
        for count in map(int, waves.split(",")):
            _measure(count, late)


def _measure(count: int, late_s: str) -> None:
    command = [sys.executable, "-m", "tests.simulator.endpoint", str(DELAY_S), late_s]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            simulator = SimulatorConfig("served", "served", url, model="m", concurrency=COUNT)
            users = make(simulator, DifficultyConfig(turn_cap=TURNS, stop_below=0))
            speakers = [Timed() for _ in range(count)]
            keys = [ConversationKey(1, 1, n, 0) for n in range(COUNT)]
            began = time.monotonic()
            rollout(users, InWaves(speakers), keys)
            seconds = time.monotonic() - began
            spoken_s = sum(one.spoken_s for one in speakers)
            ends = sorted(one.last - began for one in speakers)
            print(
                f"{count} waves, one user {float(late_s):g} s later: {seconds:.1f} s, the policy "
                f"speaks {spoken_s:.2f} s of it ({spoken_s / seconds:.0%}); half of the waves "
                f"spoke last by {ends[(len(ends) - 1) // 2]:.1f} s, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            client_for(simulator).close()
        finally:
            server.kill()


if __name__ == "__main__":
    main()
