"""Turns a second of the scripted user on one core, by texts read before or not.

python -m benchmarks.scripted_user
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from harness.config.run import DifficultyConfig
from harness.policy.grammar import random_reply
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.scripted.user import ScriptedSimulator

STEPS, GROUPS, SAMPLES = 12, 32, 8
LIMIT = 10_000


def step(number: int, reply: Callable[[list[str]], str]) -> tuple[int, float]:
    """Turns answered, and CPU seconds the user took for them, in one step's conversations."""
    user = ScriptedSimulator(DifficultyConfig())
    turns = user.open(
        [ConversationKey(1, number, g, s) for g in range(GROUPS) for s in range(SAMPLES)]
    )
    heard = [[turn.text] for turn in turns]
    count, taken_s = 0, 0.0
    while turns:
        replies = [SupporterReply(reply(texts)) for texts in heard]
        began = time.process_time()
        answers = user.answer(turns, replies)
        taken_s += time.process_time() - began
        count += len(turns)
        live = [n for n, answer in enumerate(answers) if answer.ended is None]
        turns = [answers[n] for n in live]
        heard = [[*heard[n], answers[n].text] for n in live]
    return count, taken_s


def main() -> None:
    draws = np.random.default_rng(0)
    rates = []
    for number in range(1, STEPS + 1):
        count, taken_s = step(number, lambda said: random_reply(said, draws.random))
        rates.append(count / taken_s)
        print(f"step {number:2d}: {count} turns, {rates[-1]:,.0f} a second")
    later = median(rates[STEPS // 2 :])
    print(f"first step {rates[0]:,.0f}; median of the last half {later:,.0f}, "
          f"{later / LIMIT:.2f} of the {LIMIT:,} asked")  # fmt: skip


if __name__ == "__main__":
    main()
