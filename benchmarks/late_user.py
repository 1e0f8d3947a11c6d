"""How much of a rollout does the policy speak, and whom does one late user keep waiting?

    python -m benchmarks.late_user [WAVES,... [LATE_S [SPEECH_S,...]]]

64 conversations of 6 turns with a local endpoint that answers each call, of which a turn has two,
after 0.5 s, and one user after LATE_S (default 2.5) more. The policy takes SPEECH_S (default 0.5)
for a turn in all conversations, half of it in half of them: by the number of tokens, 10 to 30 a
reply. WAVES: 2 is a batch in two halves, one drawn after the other; "each" is each conversation by
itself, in the batch of all who speak.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.served.client import client_for
from harness.testing.simulator_contract import REPLIES
from harness.train.rollout.conversation import WaveSpeakers, rollout, shares
from harness.utils.pending import AwaitableResult, Pending

COUNT, TURNS, DELAY_S, TOKENS, SEED = 64, 6, 0.5, 20, 1


class Timed:
    """Says the same sentences to everyone, takes its time, and keeps when it spoke last."""

    def __init__(self, speech_s: float, conversations: range) -> None:
        self._token_s = speech_s / TOKENS / COUNT
        self._dice = np.random.default_rng(SEED)
        self._conversations = conversations
        self.spoken_s, self.last = 0.0, 0.0

    def begin(self, count: int) -> None:
        """Start `count` conversations."""
        self._turn = -1

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """The next sentence, to each."""
        began = time.monotonic()
        time.sleep(self._token_s * sum(self.tokens(live)))
        self.last = time.monotonic()
        self.spoken_s += self.last - began
        return self.said(len(live))

    def tokens(self, live: Sequence[int]) -> list[int]:
        """Lengths of the next replies, the same in any number of waves."""
        every = self._dice.integers(TOKENS // 2, 3 * TOKENS // 2 + 1, COUNT)
        return [int(every[self._conversations[i]]) for i in live]

    def said(self, count: int) -> list[SupporterReply]:
        """The next sentence, so many times."""
        self._turn += 1
        return [SupporterReply(REPLIES[self._turn % len(REPLIES)])] * count


class Batch:
    """An engine that draws a token of each turn in it, in time that goes by their number."""

    def __init__(self, speech_s: float) -> None:
        self._token_s = speech_s / TOKENS / COUNT
        self._left: dict[Future[float], int] = {}
        self.spoken_s = 0.0

    def join(self, tokens: int) -> Future[float]:
        """Begin a turn of so many tokens."""
        turn: Future[float] = Future()
        self._left[turn] = tokens
        return turn

    def step(self) -> bool:
        """Draw a token of each turn; False if there is none."""
        if not self._left:
            return False
        began = time.monotonic()
        time.sleep(self._token_s * len(self._left))
        self._left = {turn: left - 1 for turn, left in self._left.items()}
        self.spoken_s += time.monotonic() - began
        for turn in [turn for turn, left in self._left.items() if not left]:
            del self._left[turn]
            turn.set_result(time.monotonic())
        return True


class Joining(Timed):
    """The same policy in one conversation, drawn in the batch of all who speak."""

    def __init__(self, batch: Batch, number: int) -> None:
        super().__init__(0.0, range(number, number + 1))
        self._batch = batch

    def begin_reply(
        self, live: Sequence[int], heard: Sequence[str]
    ) -> Pending[list[SupporterReply]]:
        """Join the batch."""
        (tokens,) = self.tokens(live)
        turn = self._batch.join(tokens)

        def wait() -> list[SupporterReply]:
            while not turn.done():
                self._batch.step()
            self.last = turn.result()
            return self.said(len(live))

        return AwaitableResult(wait, (turn,), work=self._batch.step)


def main() -> None:
    waves, late_s, speech = (*sys.argv[1:], *("1,2,8,64,each", "2.5", "0.5")[len(sys.argv) - 1 :])
    for speech_s in map(float, speech.split(",")):
        for late in ("0", late_s):
            for count in waves.split(","):
                _measure(count, late, speech_s)


def _measure(waves: str, late_s: str, speech_s: float) -> None:
    command = [sys.executable, "-m", "tests.simulator.endpoint", str(DELAY_S), late_s]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            simulator = SimulatorConfig("served", "served", url, model="m", concurrency=COUNT)
            users = make(simulator, DifficultyConfig(turn_cap=TURNS, stop_below=0))
            batch = Batch(speech_s)
            speakers: list[Timed] = [Joining(batch, number) for number in range(COUNT)]
            if waves != "each":
                speakers = [Timed(speech_s, part) for part in shares(COUNT, int(waves))]
            keys = [ConversationKey(1, 1, n, 0) for n in range(COUNT)]
            began = time.monotonic()
            rollout(users, WaveSpeakers(speakers), keys)
            seconds = time.monotonic() - began
            spoken_s = sum(one.spoken_s for one in speakers) + batch.spoken_s
            ends = sorted(one.last - began for one in speakers)
            print(
                f"{waves} waves, speech of {speech_s:g} s a turn, one user {float(late_s):g} s "
                f"later: {seconds:.1f} s, the policy speaks {spoken_s:.2f} s of it "
                f"({spoken_s / seconds:.0%}), {TURNS * speech_s / seconds:.0%} of a plain batch's "
                f"speed; half of the waves spoke last by {ends[(len(ends) - 1) // 2]:.1f} s, load "
                f"{os.getloadavg()[0]:.1f}",
                flush=True,
            )
            client_for(simulator).close()
        finally:
            server.kill()


if __name__ == "__main__":
    main()
