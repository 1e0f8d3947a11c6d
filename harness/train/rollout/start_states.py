"""Conversations that went well, for a policy to take over in the middle."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.run import RunConfig
from harness.simulator.draws import uniforms
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.reference import attentive
from harness.train.rollout.conversation import Start, hold

HELD = 128
"""Conversations that the attentive reference has with training users, before the first step."""
FEWEST = 16
"""Where fewer succeed, those that end highest are taken in their place."""


class AttentiveSpeaker:
    """The attentive reference in conversation; every draw is keyed by conversation and turn."""

    def __init__(self, keys: Sequence[ConversationKey]) -> None:
        self._keys = keys

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]
        self._said: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """The reference's reply in each conversation of `live`."""
        replies = []
        for i, words in zip(live, heard, strict=True):
            self._heard[i].append(words)
            key = self._keys[i]
            u = uniforms("reference", key.seed, key.step, key.group, len(self._said[i]))
            self._said[i].append(attentive(self._heard[i], self._said[i], u))
            replies.append(SupporterReply(self._said[i][-1]))
        return replies


def library(config: RunConfig) -> tuple[Start, ...]:
    """The successes among HELD conversations at the run's level, or the FEWEST best; never empty.

    Depends on seed and level alone, so that a resumed run has the same.
    """
    keys = [ConversationKey(config.seed, 0, group, 0) for group in range(HELD)]
    all_held = hold(make(config.simulator, config.difficulty), AttentiveSpeaker(keys), keys)
    held = [c for c in all_held if c.last.ended != "failed"] or all_held
    best = sorted(held, key=lambda c: (c.last.ended != "success", -c.last.emotion, c.key.group))
    succeeded = sum(c.last.ended == "success" for c in held)
    return tuple(Start(c.key, c.opening, c.exchanges) for c in best[: max(succeeded, FEWEST)])
