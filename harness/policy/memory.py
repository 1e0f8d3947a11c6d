"""What the tabular policy remembers of its conversations, and the numbers it chooses by.

A memory holds words heard and strategies played, and nothing that a person could not have heard.
Its arrays have one entry a conversation; each function gives a new memory.
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
"""Stands for the policy's own last strategy at its first reply."""

NAMED_NATS = 6.5
"""Evidence for the intention whose cue is heard, in nats: the reader is right in 99% of messages
that have one, and its mistakes fall on seven others."""
KIND_NATS = 4.0
"""Evidence for each intention of the kind (emotional or rational) that a cue shows, likewise."""


LATE_REPLY = 3
"""Number of the reply, from 0, from which there may be trust: what suits a user changes then."""


def _evidence() -> FloatArray:
    """Log-likelihood of each cue given each intention, up to a constant: (cues, intentions)."""
    evidence = np.zeros((len(CUES), len(INTENTIONS)))
    for number, intention in enumerate(INTENTIONS):
        evidence[CUES.index(intention), number] = NAMED_NATS
        kind = "heart" if intention in EMOTIONAL_INTENTIONS else "head"
        evidence[CUES.index(kind), number] = KIND_NATS
    return evidence


_EVIDENCE = _evidence()
_WORSE, _BETTER = CHANGES.index("worse"), CHANGES.index("better")
_NO_TEST = TESTS.index("none")


@dataclass(frozen=True, slots=True)
class Memory:
    """n conversations, as one hears them."""

    replies: IntArray
    """Replies so far, the user's turns heard less one; shape (n,)."""
    own: IntArray
    """The policy's last strategy, NOTHING_YET before the first reply; shape (n,)."""
    mood: IntArray
    cue: IntArray
    change: IntArray
    """What the last words were heard as: indices into MOODS, CUES and CHANGES; shape (n,)."""
    fact: FloatArray
    """1 where the last words told a fact; shape (n,)."""
    evidence: FloatArray
    """Nats for each intention, from the cues heard and from how each reply was taken; shape (n,
    intentions)."""
    played: FloatArray
    """1 for each strategy played before the last reply; shape (n, strategies)."""
    taken: FloatArray
    """How the latest reply of each strategy was taken: 1 well, -1 badly, 0 neither or not played;
    shape (n, strategies)."""
    test: IntArray
    """How the last words put the policy to the test: index into TESTS; shape (n,)."""

    @property
    def belief(self) -> FloatArray:
        """P(intention | what was heard), all equally likely before; shape (n, intentions)."""
        weights = np.exp(self.evidence - self.evidence.max(axis=1, keepdims=True))
        belief: FloatArray = weights / weights.sum(axis=1, keepdims=True)
        return belief


def nothing_heard(count: int) -> Memory:
    """The memory of `count` conversations before the opening."""
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


def having_heard(memory: Memory, words: Sequence[str], reception: FloatArray) -> Memory:
    """The memory once each of the users has said `words`.

    How a reply to a test is taken tells nothing of what the user came for.

    `reception`: log-odds that a strategy is taken well by who came for each intention, before
    LATE_REPLY and from it on; shape (2, intentions, strategies).
    """
    heard = [hear(text) for text in words]
    mood, cue, change = np.array([(h.mood, h.cue, h.change) for h in heard]).reshape(-1, 3).T
    sign = (change == _BETTER) * 1.0 - (change == _WORSE)
    untested = (memory.test == _NO_TEST) * 1.0
    taken, answered = memory.taken.copy(), np.flatnonzero(memory.own != NOTHING_YET)
    own, sign = memory.own[answered], sign[answered]
    taken[answered, own] = sign
    evidence = memory.evidence + _EVIDENCE[cue]
    late = (memory.replies[answered] > LATE_REPLY) * 1
    odds = reception[late, :, own]
    told = np.abs(sign) * untested[answered]
    evidence[answered] -= told[:, None] * np.logaddexp(0, -sign[:, None] * odds)
    return replace(
        memory,
        mood=mood,
        cue=cue,
        change=change,
        fact=np.array([float(h.tells_fact) for h in heard]),
        evidence=evidence,
        taken=taken,
        test=np.array([h.test for h in heard], dtype=np.int64),
    )


def having_played(memory: Memory, acts: IntArray) -> Memory:
    """The memory once the policy has replied with `acts`, indices into STRATEGIES."""
    played, answered = memory.played.copy(), np.flatnonzero(memory.own != NOTHING_YET)
    played[answered, memory.own[answered]] = 1.0
    return replace(memory, own=np.asarray(acts), played=played, replies=memory.replies + 1)


def part(memory: Memory, numbers: IntArray) -> Memory:
    """The memory of some of the conversations."""
    return Memory(*(getattr(memory, name)[numbers] for name in Memory.__slots__))


def put(memory: Memory, numbers: IntArray, some: Memory) -> Memory:
    """The memory with that of some conversations, by number, replaced by `some`."""
    columns = []
    for name in Memory.__slots__:
        column = getattr(memory, name).copy()
        column[numbers] = getattr(some, name)
        columns.append(column)
    return Memory(*columns)
