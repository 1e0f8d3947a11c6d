"""A softmax over the eight strategies, given the user's words: small enough to be understood.

logits(o) = log prior + the sum, over the features of o, of a row of logits. Rows belong to one
turn of the conversation: what a feature means in the first reply says nothing of the fourth.

Why this has a deterministic optimum, so that H can go to 0 at the ceiling: with the exact turn in
the observation the expected reward is linear in the policy of one turn, all others held; and a
softmax is an argmax of logits plus Gumbel noise, one draw of which can be shared by all
observations. The value of the softmax is thus a mean over deterministic policies of the same
form (noise enters as a shift of the rows), of which one is at least as good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.config.run import MAX_TURNS, STRATEGIES
from harness.policy.observation import CHANGES, CUES, MOODS, hear

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NOTHING_YET = len(STRATEGIES)
"""Stands for the policy's own last strategy at its first reply."""
FEATURES = (len(MOODS), len(CUES), len(CHANGES), len(STRATEGIES) + 1)
_OFFSETS = np.cumsum((0, *FEATURES[:-1]))
ROWS = sum(FEATURES)

PRIOR = {
    "question": 0.12,
    "restate": 0.08,
    "reflect": 0.08,
    "disclose": 0.05,
    "affirm": 0.14,
    "suggest": 0.30,
    "inform": 0.18,
    "other": 0.05,
}
"""The start policy, eager to advise: 1.90 nats of entropy, where a uniform one has 2.08."""
_LOG_PRIOR = np.log([PRIOR[s] for s in STRATEGIES])


@dataclass(frozen=True, slots=True)
class Observations:
    """The policy's observations before n replies."""

    turn: IntArray
    """Number of the reply, from 0; shape (n,)."""
    rows: IntArray
    """Row of each feature; shape (n, features)."""


def observe(turns: Sequence[int], last_words: Sequence[str], own: Sequence[int]) -> Observations:
    """Observations from reply numbers (from 0), users' last words and the policy's last acts."""
    heard = [hear(text) for text in last_words]
    values = [(h.mood, h.cue, h.change, o) for h, o in zip(heard, own, strict=True)]
    rows = np.array(values, dtype=np.int64).reshape(-1, len(FEATURES)) + _OFFSETS
    return Observations(np.array(turns, dtype=np.int64), rows)


def one_hot(seen: Observations) -> FloatArray:
    """What each reply goes by: 1 at the features of its turn; shape (n, MAX_TURNS * ROWS)."""
    marks = np.zeros((len(seen.turn), MAX_TURNS * ROWS))
    np.put_along_axis(marks, seen.turn[:, None] * ROWS + seen.rows, 1.0, axis=1)
    return marks


@dataclass(frozen=True, slots=True)
class TabularPolicy:
    """The rows of logits, shape (MAX_TURNS, ROWS, strategies); zero at the start."""

    table: FloatArray

    @classmethod
    def start(cls) -> TabularPolicy:
        return cls(np.zeros((MAX_TURNS, ROWS, len(STRATEGIES))))

    def log_probabilities(self, seen: Observations, temperature: float) -> FloatArray:
        """Log-probabilities of every strategy, shape (n, strategies)."""
        rows = self.table[seen.turn[:, None], seen.rows].sum(axis=1)
        logits = (_LOG_PRIOR + rows) / temperature
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_p: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return log_p

    def entropy_nats(self, seen: Observations, temperature: float) -> FloatArray:
        """Exact entropy of the choice of strategy, shape (n,)."""
        log_p = self.log_probabilities(seen, temperature)
        entropy: FloatArray = -(np.exp(log_p) * log_p).sum(axis=1)
        return entropy

    def gradient(
        self, seen: Observations, acts: IntArray, weights: FloatArray, temperature: float
    ) -> FloatArray:
        """Gradient of sum_i weights_i log p(acts_i | o_i) with respect to the table."""
        probabilities = np.exp(self.log_probabilities(seen, temperature))
        by_logit = -probabilities
        by_logit[np.arange(len(acts)), acts] += 1
        return self._by_row(seen, by_logit * (weights[:, None] / temperature))

    def entropy_gradient(
        self, seen: Observations, temperature: float, weights: FloatArray
    ) -> FloatArray:
        """Gradient of the weighted sum of the entropies at `seen` with respect to the table.

        d H / d logit_a = -p_a (log p_a + H), the logits being those of the softmax.
        """
        log_p = self.log_probabilities(seen, temperature)
        p = np.exp(log_p)
        entropy = -(p * log_p).sum(axis=1, keepdims=True)
        return self._by_row(seen, -weights[:, None] * p * (log_p + entropy) / temperature)

    def _by_row(self, seen: Observations, by_logit: FloatArray) -> FloatArray:
        """The gradient by row of the table, from `by_logit` of shape (n, strategies)."""
        gradient = np.zeros_like(self.table)
        np.add.at(gradient, (seen.turn[:, None], seen.rows), by_logit[:, None, :])
        return gradient
