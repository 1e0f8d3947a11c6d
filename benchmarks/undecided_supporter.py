"""What the supporter that the warm start of policy=tiny imitates gets from users it never met.

    python -m benchmarks.undecided_supporter [CONVERSATIONS]

It speaks without a slip, so a model that imitates it perfectly starts there. Each row leaves out
one more of the habits by which it differs from the random supporter of a level's anchors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import yaml

from harness.config.run import LEVELS, STRATEGIES, DifficultyConfig, SimulatorConfig
from harness.policy import grammar
from harness.policy.grammar import Draw
from harness.policy.listening import listen
from harness.policy.phrases import POOR
from harness.simulator.factory import make
from harness.simulator.protocol import HELD_OUT, ConversationKey, SupporterReply
from harness.train.rollout.conversation import rollout

CONF = Path(__file__).parents[1] / "conf" / "difficulty"
SEED = 77
Say = Callable[[Sequence[str], Draw], str]
"""A reply to the user's messages, newest last."""


def without_poor(messages: Sequence[str], draw: Draw) -> str:
    """Reply as the undecided supporter, but never poorly: poor replies are drawn again."""
    while is_poor(reply := grammar.random_reply(messages, draw)):
        pass
    return reply


def is_poor(reply: str) -> bool:
    """Return whether `reply` is a sentence of PHRASES' poor supporter."""
    return any(reply.startswith(phrase.split("{")[0]) for phrase in POOR)


def one_strategy(messages: Sequence[str], draw: Draw) -> str:
    """Reply with one sentence of a random strategy."""
    return grammar.speak(STRATEGIES[int(draw() * len(STRATEGIES))], messages, draw)


def about_a_fact(messages: Sequence[str], draw: Draw) -> str:
    """Reply with one sentence of a random strategy that takes up the user's newest fact."""
    strategy = STRATEGIES[int(draw() * len(STRATEGIES))]
    return grammar.take_up(strategy, listen(messages), frozenset(), draw)


SUPPORTERS: dict[str, Say] = {
    "the undecided supporter": grammar.random_reply,
    "without poor replies": without_poor,
    "and with one strategy a reply": one_strategy,
    "and always about the newest fact": about_a_fact,
}


class Supporter:
    """A speaker whose replies `say` makes of what it has heard."""

    def __init__(self, say: Say) -> None:
        self._say, self._rng = say, np.random.default_rng(SEED)

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Return a reply in each conversation of `live`."""
        for i, message in zip(live, heard, strict=True):
            self._heard[i].append(message)
        return [SupporterReply(self._say(self._heard[i], self._rng.random)) for i in live]


def measure(level: str, say: Say, count: int) -> tuple[float, float]:
    """Return the mean reward of `count` conversations and the half-width of its 95% interval."""
    difficulty = DifficultyConfig(**yaml.safe_load((CONF / f"{level}.yaml").read_text()))
    keys = [ConversationKey(SEED, 0, n, 0, HELD_OUT) for n in range(count)]
    finished = rollout(make(SimulatorConfig(), difficulty), Supporter(say), keys)
    rewards = np.array([conversation.last.emotion for conversation in finished]) / 100
    return float(rewards.mean()), float(1.96 * rewards.std(ddof=1) / count**0.5)


def main() -> None:
    """Print a table: a row for each supporter, a column for each level."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    print(f"| supporter | {' | '.join(LEVELS)} |\n|---|{'---|' * len(LEVELS)}")
    for name, say in SUPPORTERS.items():
        means = [measure(level, say, count) for level in LEVELS]
        print(f"| {name} | {' | '.join(f'{mean:.3f} ± {half:.3f}' for mean, half in means)} |")


if __name__ == "__main__":
    main()
