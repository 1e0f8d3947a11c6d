"""The tabular policy's memory of its conversations, from which its features are computed.

A memory is computed only from the user's words and the strategies played. Its arrays have one entry
per conversation. Each function returns a new memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.config.run import EMOTIONAL_INTENTIONS, INTENTIONS, STRATEGIES
from harness.policy.observation import CHANGES, CUES, TESTS, hear

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NOTHING_YET = len(STRATEGIES)
"""Value of the policy's last strategy before its first reply."""

NAMED_NATS = 6.5
"""Evidence in nats for an intention whose cue is heard. The reader is right in 99% of messages with
a cue, and its errors are spread over seven other intentions."""
KIND_NATS = 4.0
"""Evidence in nats for each intention of the kind (emotional or rational) whose cue is heard."""


LATE_REPLY = 3
"""Index of the reply from which there may be trust, which changes what suits a user."""


def _evidence() -> FloatArray:
    """Return log P(cue | intention) up to a constant, shape (cues, intentions)."""
    evidence = np.zeros((len(CUES), len(INTENTIONS)))
    for index, intention in enumerate(INTENTIONS):
        evidence[CUES.index(intention), index] = NAMED_NATS
        kind = "heart" if intention in EMOTIONAL_INTENTIONS else "head"
        evidence[CUES.index(kind), index] = KIND_NATS
    return evidence


_EVIDENCE = _evidence()
_WORSE, _BETTER = CHANGES.index("worse"), CHANGES.index("better")
_NO_TEST = TESTS.index("none")


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of n conversations."""

    replies: IntArray
    """Number of replies so far, shape (n,)."""
    own: IntArray
    """The policy's last strategy, NOTHING_YET before the first reply; shape (n,)."""
    mood: IntArray
    cue: IntArray
    change: IntArray
    """Reading of the last message: indices into MOODS, CUES and CHANGES, each of shape (n,)."""
    fact: FloatArray
    """1 if the last message told a fact, shape (n,)."""
    evidence: FloatArray
    """Evidence in nats for each intention, from cues and from how replies were received; shape (n,
    intentions)."""
    played: FloatArray
    """1 for each strategy played before the last reply, shape (n, strategies)."""
    taken: FloatArray
    """How the latest reply of each strategy was received: 1 well, -1 badly, 0 neither or never
    played; shape (n, strategies)."""
    test: IntArray
    """How the last message tests the policy: index into TESTS, shape (n,)."""

    @property
    def belief(self) -> FloatArray:
        """P(intention | evidence) under a uniform prior, shape (n, intentions)."""
        weights = np.exp(self.evidence - self.evidence.max(axis=1, keepdims=True))
        belief: FloatArray = weights / weights.sum(axis=1, keepdims=True)
        return belief


def empty_memory(count: int) -> Memory:
    """Return the memory of `count` conversations before the opening."""
    zeros = np.zeros(count, dtype=np.int64)
    return Memory(
        replies=zeros,
        own=np.full(count, NOTHING_YET),
        mood=zeros,
        cue=zeros,
        change=zeros,
        fact=np.zeros(count),
        evidence=np.zeros((count, len(INTENTIONS))),
        played=np.zeros((count, len(STRATEGIES))),
        taken=np.zeros((count, len(STRATEGIES))),
        test=zeros,
    )


def after_messages(memory: Memory, words: Sequence[str], reception: FloatArray) -> Memory:
    """Return the memory after each user has said `words`.

    `reception` is the log-odds that a user with each intention receives each strategy well, before
    and from LATE_REPLY, shape (2, intentions, strategies). How a user receives a reply to a test
    is no evidence of their intention.
    """
    readings = [hear(text) for text in words]
    mood, cue, change = np.array([(r.mood, r.cue, r.change) for r in readings]).reshape(-1, 3).T
    sign = (change == _BETTER) * 1.0 - (change == _WORSE)
    untested = (memory.test == _NO_TEST) * 1.0
    taken, answered = memory.taken.copy(), np.flatnonzero(memory.own != NOTHING_YET)
    own, sign = memory.own[answered], sign[answered]
    taken[answered, own] = sign
    evidence = memory.evidence + _EVIDENCE[cue]
    late = (memory.replies[answered] > LATE_REPLY) * 1
    odds = reception[late, :, own]
    informative = np.abs(sign) * untested[answered]
    evidence[answered] -= informative[:, None] * np.logaddexp(0, -sign[:, None] * odds)
    return replace(
        memory,
        mood=mood,
        cue=cue,
        change=change,
        fact=np.array([float(r.tells_fact) for r in readings]),
        evidence=evidence,
        taken=taken,
        test=np.array([r.test for r in readings], dtype=np.int64),
    )


def after_acts(memory: Memory, acts: IntArray) -> Memory:
    """Return the memory after the policy has replied with `acts`, indices into STRATEGIES."""
    played, answered = memory.played.copy(), np.flatnonzero(memory.own != NOTHING_YET)
    played[answered, memory.own[answered]] = 1.0
    return replace(memory, own=np.asarray(acts), played=played, replies=memory.replies + 1)


def select_conversations(memory: Memory, numbers: IntArray) -> Memory:
    """Return the memory of the conversations `numbers`."""
    return Memory(*(getattr(memory, name)[numbers] for name in Memory.__slots__))


def replace_conversations(memory: Memory, numbers: IntArray, replacement: Memory) -> Memory:
    """Return the memory with the conversations `numbers` replaced by `replacement`."""
    columns = []
    for name in Memory.__slots__:
        column = getattr(memory, name).copy()
        column[numbers] = getattr(replacement, name)
        columns.append(column)
    return Memory(*columns)
