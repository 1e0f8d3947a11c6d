"""The tabular policy as a speaker, and the record of its acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.config.run import MAX_TURNS, STRATEGIES
from harness.policy.grammar import Draw, say, take_up
from harness.policy.listening import NOTHING, listen, with_message
from harness.policy.memory import (
    Memory,
    after_acts,
    after_messages,
    empty_memory,
    replace_conversations,
    select_conversations,
)
from harness.policy.tabular import (
    OBSERVATIONS,
    Observations,
    TabularPolicy,
    observe,
    recall,
    with_slots,
)
from harness.simulator.protocol import SupporterReply
from harness.simulator.reference import reception
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.rollout.conversation import StartState

WORDING_DRAWS = 8
"""Uniform numbers per reply for its wording, in addition to one for its strategy."""

RECEPTION: FloatArray = np.array(reception())
"""The attentive reference's table by which the belief learns from how users take replies."""


@dataclass(frozen=True, slots=True)
class Acts:
    """The policy's acts in a batch of conversations; arrays have one entry per reply."""

    seen: Observations
    act: IntArray
    """Index into STRATEGIES."""
    conversation: IntArray
    reply: IntArray
    """Number of the reply among the policy's own in its conversation, from 0."""


class ReplyUniformSource(Protocol):
    """A numpy generator, or an object with its method `random`."""

    def random(self, shape: tuple[int, int, int], /) -> FloatArray:
        """Uniform numbers in [0, 1), filled row by row."""
        ...


class TabularSpeaker:
    """The policy as a speaker. Conversation i uses row i of a table of uniforms made in `begin`."""

    def __init__(
        self,
        policy: TabularPolicy,
        temperature: float,
        rng: ReplyUniformSource,
        before_turn: Callable[[], None] = lambda: None,
        log_p_change: FloatArray | None = None,
        slot: IntArray | None = None,
    ) -> None:
        """`before_turn`: called before each turn of all live conversations; may raise to stop.

        `log_p_change`: numbers added to the log-probabilities of each conversation's first reply,
        shape (conversations, strategies); the recorded acts do not contain them. `slot`: the slot
        of each conversation, shape (conversations,); None for n modulo the number of slots.
        """
        self._policy, self._temperature, self._rng = policy, temperature, rng
        self._before_turn, self._log_p_change, self._slot = before_turn, log_p_change, slot

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._uniform = self._rng.random((count, MAX_TURNS, 1 + WORDING_DRAWS))
        self._mentions = [NOTHING] * count
        self._used_texts: list[set[str]] = [set() for _ in range(count)]
        self._memory = empty_memory(count)
        self._slots = np.arange(count) % self._policy.slots if self._slot is None else self._slot
        self._log: list[tuple[Observations, IntArray, IntArray]] = []

    def take_over(self, starts: Sequence[StartState]) -> None:
        """Continue conversations of another policy as if this one had held them."""
        self._mentions = [listen(start.heard) for start in starts]
        self._used_texts = [{e.reply.text for e in start.exchanges} for start in starts]
        for number, start in enumerate(starts):
            self._memory = replace_conversations(
                self._memory, np.array([number]), _memory_of(start)
            )

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Choose a strategy for each conversation in `live` and word it."""
        return self.reply(live, heard, actual_words=heard)

    def reply(
        self, live: Sequence[int], heard: Sequence[str], actual_words: Sequence[str]
    ) -> list[SupporterReply]:
        """Reply as `speak` does, but choose strategies by `heard` and word them for a user who has
        said `actual_words`.
        """
        self._before_turn()
        turn, numbers = len(self._log), np.array(live, dtype=np.int64)
        memory = after_messages(select_conversations(self._memory, numbers), heard, RECEPTION)
        unslotted = observe(self._policy.observation, memory)
        observations = with_slots(unslotted, self._slots[numbers], self._policy.slots)
        log_p = self._policy.log_probabilities(observations, self._temperature)
        if self._log_p_change is not None and not turn:
            log_p = log_p + self._log_p_change[numbers]
        cumulative = np.exp(log_p).cumsum(axis=1)
        thresholds = self._uniform[numbers, turn, 0] * cumulative[:, -1]
        act = (cumulative <= thresholds[:, None]).sum(axis=1)
        self._memory = replace_conversations(self._memory, numbers, after_acts(memory, act))
        self._log.append((observations, act, numbers))
        replies = []
        rng = self._uniform[numbers, turn, 1:].tolist()
        for i, text, a, draws in zip(live, actual_words, act.tolist(), rng, strict=True):
            self._mentions[i] = with_message(self._mentions[i], text)
            replies.append(SupporterReply(self._sentence(i, STRATEGIES[a], iter(draws).__next__)))
        return replies

    def _sentence(self, number: int, strategy: str, draw: Draw) -> str:
        """Return the text of a reply in conversation `number`."""
        if not OBSERVATIONS[self._policy.observation].takes_up:
            return say(strategy, self._mentions[number], draw)
        text = take_up(strategy, self._mentions[number], self._used_texts[number], draw)
        self._used_texts[number].add(text)
        return text

    def acts(self) -> Acts:
        """Return all acts since `begin`."""
        observations, act, conversation = zip(*self._log, strict=True)
        features = np.concatenate([s.features for s in observations])
        reply = np.repeat(np.arange(len(act)), [len(a) for a in act])
        return Acts(
            Observations(features), np.concatenate(act), np.concatenate(conversation), reply
        )


def gather_acts(by_attempt: Sequence[Acts], source: Sequence[tuple[int, int]]) -> Acts:
    """Return the acts of a batch in which conversation n is number `source[n][1]` of
    `by_attempt[source[n][0]]`.
    """
    if len(by_attempt) == 1:
        return by_attempt[0]
    position = {origin: n for n, origin in enumerate(source)}
    parts = []
    for attempt, acts in enumerate(by_attempt):
        numbers = np.array([position.get((attempt, old), -1) for old in acts.conversation.tolist()])
        is_kept = numbers >= 0
        observations = Observations(acts.seen.features[is_kept])
        parts.append(Acts(observations, acts.act[is_kept], numbers[is_kept], acts.reply[is_kept]))
    return Acts(
        Observations(_concatenate([p.seen for p in parts], "features")),
        *(_concatenate(parts, k) for k in ("act", "conversation", "reply")),
    )


def _concatenate(parts: Sequence[Any], name: str) -> NDArray[Any]:
    values: NDArray[Any] = np.concatenate([getattr(part, name) for part in parts])
    return values


def _memory_of(start: StartState) -> Memory:
    """Return the policy's memory before the user's last turn.

    A reply without a recognised strategy counts as `other`.
    """
    played = [(e.answer.strategies or ("other",))[-1] for e in start.exchanges]
    if not played:
        return empty_memory(1)
    memory = recall(start.heard, played[:-1], RECEPTION)
    return after_acts(memory, np.array([STRATEGIES.index(played[-1])]))
