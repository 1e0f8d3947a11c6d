"""A frozen set of conversation prefixes on which every policy's entropy is comparable.

H of a batch is taken over the states a run visits, and a hard user steers to other states. The
probe holds the states still: it is the same for every difficulty and seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.config.run import STRATEGIES, DifficultyConfig, SimulatorConfig
from harness.policy.grammar import speak
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply

OPENERS = 32
MID_CONVERSATION = 32
SEED = 20_260_102
"""Of the probe's users and replies; no run's own seed."""
LONGEST = 4
"""Replies that the longest prefixes hold; the shortest of the mid-conversation ones hold one."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A conversation up to the policy's next reply."""

    turns: tuple[tuple[str, str], ...]
    """(speaker, text), speaker being user or policy; the first and the last are the user's."""
    strategies: tuple[str, ...]
    """What each of the policy's replies was meant to do."""

    @property
    def heard(self) -> tuple[str, ...]:
        """What the user said."""
        return tuple(text for speaker, text in self.turns if speaker == "user")


@lru_cache(maxsize=1)
def prefixes() -> tuple[Prefix, ...]:
    """OPENERS openings, then MID_CONVERSATION prefixes of one to LONGEST replies.

    Users of medium difficulty as it is by default in the code, whatever conf/ says; replies from
    the phrase grammar, each with a strategy drawn uniformly.
    """
    replies = [0] * OPENERS + [1 + n % LONGEST for n in range(MID_CONVERSATION)]
    return tuple(_prefix(number, count) for number, count in enumerate(replies))


def _prefix(number: int, replies: int) -> Prefix:
    """Prefix `number`, shorter than `replies` only if its user has left by then."""
    simulator = make(SimulatorConfig(), DifficultyConfig())
    draws = np.random.default_rng([SEED, number])
    turn = simulator.open([ConversationKey(SEED, 0, number, 0)])[0]
    turns, strategies = [("user", turn.text)], list[str]()
    for _ in range(replies):
        strategy = STRATEGIES[draws.integers(len(STRATEGIES))]
        heard = [text for speaker, text in turns if speaker == "user"]
        text = speak(strategy, heard, draws.random)
        answer = simulator.answer([turn], [SupporterReply(text)])[0]
        if answer.ended is not None:
            break
        turn = answer
        turns += [("policy", text), ("user", turn.text)]
        strategies.append(strategy)
    return Prefix(tuple(turns), tuple(strategies))
