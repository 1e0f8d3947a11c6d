"""The critic of a language model's step: its features, and its loss on the shared trunk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from harness.config.run import MAX_TURNS
from harness.train.loop.language_batch import concatenate, places_of
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.own_tokens import states_before
from harness.train.objective.value_term import ValueTerm
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.rollout.learning_signal import Actions, LearningSignal
from harness.train.rollout.speaker import TokenTrajectory


def actions_of(
    trajectories: Sequence[TokenTrajectory],
    model: Any,
    limit: TokenLimit | None = None,
    by_token: bool = False,
) -> Actions:
    """Return a batch's replies, or its own tokens, as a critic's actions.

    The features are the hidden states that a reply's first token, or each token, is drawn from,
    normalised to unit length.
    """
    ids, turns = [t.row.ids for t in trajectories], [t.row.turn for t in trajectories]
    marked = [
        [turn > 0 and (by_token or turn != before) for before, turn in pairwise([0, *row])]
        for row in turns
    ]
    states = states_before(model, ids, marked, limit)
    counts = [len(row) for row in states]
    features = concatenate([row / row.norm(dim=1, keepdim=True) for row in states])
    conversation = np.repeat(np.arange(len(counts)), counts)
    index = np.concatenate([np.arange(count) for count in counts])
    reply = places_of(trajectories)[1] - 1 if by_token else None
    return Actions(conversation, index, features, reply)


def shared_trunk_term(
    algorithm: Algorithm, signal: LearningSignal, trajectories: Sequence[TokenTrajectory]
) -> ValueTerm | None:
    """Return the loss of a critic that shares the policy's trunk, before it learns from the batch.

    None if the critic shares no trunk or no conversation has a reward.
    """
    coefficient, critic_batch, values = (
        algorithm.value_coefficient(), signal.critic_batch, signal.values
    )  # fmt: skip
    if not coefficient or critic_batch is None or values is None or not len(critic_batch.targets):
        return None
    conversation, turn = places_of(trajectories)
    valued = np.ones(len(turn), bool)
    if not algorithm.has_token_values():  # as in `actions_of`, only the first token of each reply
        valued = np.diff(conversation * (MAX_TURNS + 1) + turn, prepend=-1) != 0
    before, target = np.full((2, len(turn)), np.nan)
    before[valued], target[valued] = values.before, values.target
    head = critic_batch.critic.head(critic_batch.features.shape[1])
    return ValueTerm(
        head, before, target, critic_batch.critic.clip, coefficient / len(critic_batch.targets)
    )
