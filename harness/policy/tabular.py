"""A linear softmax policy over the eight strategies, small enough to be understood.

logits(o) = log prior / prior temperature + features(o) @ table. There are three observations:
`conversation` (everything heard and played so far), `conversation_and_tests` (also whether the user
tests the policy), and `last_words` (one-hot features of the last message alone).

The policy has a deterministic optimum, so H can go to 0 at the maximum of reward. A softmax is an
argmax of logits plus Gumbel noise. A conversation passes each turn once, so all conversations can
share one draw of noise per turn, which shifts that turn's own row of logits; every observation has
such rows. The value of the softmax is thus a mean over deterministic policies of the same form, and
at least one of them is as good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.config.policy import WIDTHS
from harness.config.run import MAX_TURNS, STRATEGIES
from harness.policy.grammar import NARROW, WIDE_SHARE
from harness.policy.memory import (
    LATE_REPLY,
    FloatArray,
    IntArray,
    Memory,
    after_acts,
    after_messages,
    empty_memory,
)
from harness.policy.observation import CHANGES, CUES, MOODS, TESTS

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
"""The start policy, which favours advice. Its entropy is 1.90 nats; a uniform one has 2.08."""


def _prior(width: str) -> FloatArray:
    """Return the prior in the order of STRATEGIES; `width` is one of WIDTHS."""
    wide = np.array([PRIOR[s] for s in STRATEGIES])
    if width == "all":
        return wide
    restricted = np.where([s in NARROW for s in STRATEGIES], wide, 0.0)
    narrow: FloatArray = (1 - WIDE_SHARE) * restricted / restricted.sum() + WIDE_SHARE * wide
    return narrow


_LOG_PRIOR = {width: np.log(_prior(width)) for width in WIDTHS}


BELIEF, PLAYED = 2.0, 1.5
"""Scales of the features of belief and of strategies played; the others have scale 1. A step of
gradient ascent moves a logit by the learning rate times the squared scale. With equal scales the
biases of the turns are learnt first, and entropy is used up before listening pays."""


def conversation_features(memory: Memory) -> FloatArray:
    """Return the features of everything heard and played, shape (n, 70).

    They are the turn (a bias), the belief about the user's intention (twice for later replies), the
    last strategy and the earlier ones, how each was received, the last mood and change, and whether
    a fact was told. Except for the bias, all turns share weights.
    """
    late = (memory.replies >= LATE_REPLY)[:, None]
    parts = (
        _one_hot(memory.replies, MAX_TURNS),
        BELIEF * memory.belief,
        BELIEF * memory.belief * late,
        PLAYED * _one_hot(memory.own, len(STRATEGIES) + 1),
        PLAYED * memory.played,
        PLAYED * memory.taken,
        _one_hot(memory.mood, len(MOODS)),
        _one_hot(memory.change, len(CHANGES)),
        memory.fact[:, None],
    )
    return np.concatenate(parts, axis=1)


def features_with_tests(memory: Memory) -> FloatArray:
    """Return `conversation_features` and how the last message tests the policy, shape (n, 74)."""
    tested = _one_hot(memory.test, len(TESTS))
    return np.concatenate([conversation_features(memory), PLAYED * tested], axis=1)


_LAST_WORDS = (len(MOODS), len(CUES), len(CHANGES), len(STRATEGIES) + 1)


def last_words_features(memory: Memory) -> FloatArray:
    """Return the last message's mood, cue and change and the last strategy, one-hot for each turn.

    Shape (n, MAX_TURNS * 28). Turns share no weights.
    """
    parts = (memory.mood, memory.cue, memory.change, memory.own)
    rows = np.concatenate([_one_hot(v, n) for v, n in zip(parts, _LAST_WORDS, strict=True)], axis=1)
    features = np.zeros((len(rows), MAX_TURNS, rows.shape[1]))
    features[np.arange(len(rows)), memory.replies] = rows
    flat: FloatArray = features.reshape(len(rows), -1)
    return flat


def _one_hot(values: IntArray, count: int) -> FloatArray:
    marks: FloatArray = (values[:, None] == np.arange(count)).astype(np.float64)
    return marks


@dataclass(frozen=True, slots=True)
class ObservationKind:
    """A kind of observation that a policy conditions on."""

    features: Callable[[Memory], FloatArray]
    """Returns the features of each conversation, shape (n, features)."""
    takes_up: bool
    """Whether the policy's replies take up the user's newest fact."""


OBSERVATIONS: Mapping[str, ObservationKind] = {
    "conversation": ObservationKind(conversation_features, takes_up=True),
    "conversation_and_tests": ObservationKind(features_with_tests, takes_up=True),
    "last_words": ObservationKind(last_words_features, takes_up=False),
}
"""Kinds of observation by policy.observation."""


@dataclass(frozen=True, slots=True)
class Observations:
    """The policy's observations before n replies."""

    features: FloatArray
    """Shape (n, features)."""


def observe(observation: str, memory: Memory) -> Observations:
    """Return the observations of each conversation of `memory`; `observation` is a key of
    OBSERVATIONS.
    """
    return Observations(OBSERVATIONS[observation].features(memory))


def with_slots(observations: Observations, slot: IntArray, slots: int) -> Observations:
    """Return the observations with the policy's slot among `slots` appended as one-hot features.

    `slot` has shape (n,). With one slot the observations are unchanged.
    """
    if slots == 1:
        return observations
    return Observations(np.concatenate([observations.features, _one_hot(slot, slots)], axis=1))


def recall(messages: Sequence[str], played: Sequence[str], reception: FloatArray) -> Memory:
    """Return the memory of one conversation with the user's `messages` and the strategies `played`.

    `reception` is as in `after_messages`.
    """
    memory = after_messages(empty_memory(1), messages[:1], reception)
    for strategy, message in zip(played, messages[1:], strict=True):
        memory = after_acts(memory, np.array([STRATEGIES.index(strategy)]))
        memory = after_messages(memory, [message], reception)
    return memory


@dataclass(frozen=True, slots=True)
class TabularPolicy:
    """A tabular policy. `table` holds its weights, shape (features, strategies), initially zero."""

    table: FloatArray
    observation: str
    """Key of OBSERVATIONS."""
    prior_temperature: float = 1.0
    """Divisor of the log prior: the start policy is sharper below 1 and flatter above 1."""
    width: str = "all"
    """Width of the prior: one of harness.config.policy.WIDTHS."""
    slots: int = 1
    """Number of slots of a set of conversations; see `with_slots`."""

    @classmethod
    def start(
        cls, observation: str, prior_temperature: float = 1.0, width: str = "all", slots: int = 1
    ) -> TabularPolicy:
        features = OBSERVATIONS[observation].features(empty_memory(1)).shape[1]
        table = np.zeros((features + (slots if slots > 1 else 0), len(STRATEGIES)))
        return cls(table, observation, prior_temperature, width, slots)

    def log_probabilities(
        self, observations: Observations, temperature: float | FloatArray
    ) -> FloatArray:
        """Return the log-probabilities of every strategy, shape (n, strategies).

        `temperature` is a number, or one per observation, shape (n, 1).
        """
        prior = _LOG_PRIOR[self.width] / self.prior_temperature
        logits = (prior + observations.features @ self.table) / temperature
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_p: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return log_p

    def entropy_nats(self, observations: Observations, temperature: float) -> FloatArray:
        """Return the exact policy entropy in nats, shape (n,)."""
        log_p = self.log_probabilities(observations, temperature)
        entropy: FloatArray = -(np.exp(log_p) * log_p).sum(axis=1)
        return entropy

    def gradient(
        self,
        observations: Observations,
        acts: IntArray,
        weights: FloatArray,
        temperature: float | FloatArray,
    ) -> FloatArray:
        """Return the gradient of sum_i weights_i log p(acts_i | o_i) with respect to the table.

        `temperature` is as in `log_probabilities`.
        """
        probabilities = np.exp(self.log_probabilities(observations, temperature))
        by_logit = -probabilities
        by_logit[np.arange(len(acts)), acts] += 1
        gradient: FloatArray = observations.features.T @ (
            by_logit * (weights[:, None] / temperature)
        )
        return gradient

    def entropy_gradient(
        self, observations: Observations, temperature: float, weights: FloatArray
    ) -> FloatArray:
        """Return the gradient of the weighted sum of entropies with respect to the table.

        d H / d logit_a = -p_a (log p_a + H), for the logits after division by the temperature.
        """
        log_p = self.log_probabilities(observations, temperature)
        p = np.exp(log_p)
        entropy = -(p * log_p).sum(axis=1, keepdims=True)
        by_logit = -weights[:, None] * p * (log_p + entropy) / temperature
        gradient: FloatArray = observations.features.T @ by_logit
        return gradient
