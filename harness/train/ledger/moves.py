"""Changes of the probe's logits by each group of a batch, with and without remedies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.policy.tabular import Observations, TabularPolicy
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.rollout.tabular_speaker import Acts

MOST_UNITS = 16
"""Most units per batch; a larger number of groups is merged into this many. The spread of 16 sums
is as informative as that of 64 at a quarter of the cost."""


@dataclass(frozen=True, slots=True)
class BatchUpdate:
    """One update on a batch; arrays have shape (acts,)."""

    policy: TabularPolicy
    """The policy before the update."""
    slope: FloatArray
    """d loss / d logp of each act, without the part in `sharpened`."""
    plain: FloatArray | None
    """`slope` of the algorithm without remedies; None if there are no remedies."""
    bonus: FloatArray | None
    """The coefficient of each act's entropy in the loss; None without an entropy bonus."""
    sharpened: tuple[FloatArray, FloatArray] | None = None
    """The slope of each act by log p of the logits that a remedy multiplies, and the factors."""

    def by_log_p(
        self,
        observations: Observations,
        act: IntArray,
        indices: slice | IntArray,
        temperature: float,
    ) -> FloatArray:
        """Return the gradient of the loss of the acts at `indices`, without the entropy bonus."""
        gradient = self.policy.gradient(observations, act, self.slope[indices], temperature)
        if self.sharpened is None:
            return gradient
        slope, factor = (column[indices] for column in self.sharpened)
        return gradient + self.policy.gradient(
            observations, act, slope, temperature / factor[:, None]
        )


@dataclass(frozen=True, slots=True)
class LogitChanges:
    """Changes of the probe's logits up to a constant per prefix; shape (units, prefixes, choices).

    A unit is one or several groups. Units are independent draws.
    """

    taken: FloatArray
    plain: FloatArray | None
    """The changes by the algorithm without remedies; None if there are no remedies."""


def units(conversations: int, group_size: int) -> IntArray:
    """Return the unit of each conversation, shape (conversations,). Groups are consecutive."""
    groups = conversations // group_size
    group = np.arange(conversations) // group_size
    return np.asarray(group * min(groups, MOST_UNITS) // groups)


def of_batch(
    passes: Sequence[BatchUpdate],
    acts: Acts,
    unit: IntArray,
    probe: Observations,
    temperature: float,
    rate: float,
) -> LogitChanges:
    """Return the moves of a batch by plain gradient steps at `rate`; `unit`: as from `units`.

    The algorithm without remedies is evaluated at the weights of the same passes.
    """
    start, unit_of_act = passes[0].policy, unit[acts.conversation]
    start_log_p = start.log_probabilities(probe, temperature)

    def change(gradient: FloatArray) -> FloatArray:
        """Return the change of the log-probabilities, which equals that of the logits up to a
        constant per prefix.
        """
        updated = replace(start, table=start.table - rate * gradient)
        return updated.log_probabilities(probe, temperature) - start_log_p

    taken, plain, zeros = [], [], np.zeros_like(start.table)
    for number in range(int(unit.max()) + 1):
        indices = np.flatnonzero(unit_of_act == number)
        observations, act = part(acts.seen, indices), acts.act[indices]
        gradients = (
            _gradient(update, observations, act, indices, temperature) for update in passes
        )
        taken.append(change(sum(gradients, zeros)))
        if passes[0].plain is not None:
            plain_gradients = (
                _plain_gradient(update, observations, act, indices, temperature)
                for update in passes
            )
            plain.append(change(sum(plain_gradients, zeros)))
    return LogitChanges(np.stack(taken), np.stack(plain) if plain else None)


def _gradient(
    update: BatchUpdate,
    observations: Observations,
    act: IntArray,
    indices: IntArray,
    temperature: float,
) -> FloatArray:
    """Return the gradient of the loss of the acts at `indices`."""
    gradient = update.by_log_p(observations, act, indices, temperature)
    if update.bonus is None:
        return gradient
    return gradient - update.policy.entropy_gradient(
        observations, temperature, update.bonus[indices]
    )


def _plain_gradient(
    update: BatchUpdate,
    observations: Observations,
    act: IntArray,
    indices: IntArray,
    temperature: float,
) -> FloatArray:
    """Return the gradient of the loss of the algorithm without remedies."""
    weights = np.zeros(len(act)) if update.plain is None else update.plain[indices]
    return update.policy.gradient(observations, act, weights, temperature)


def part(observations: Observations, indices: IntArray) -> Observations:
    """Return the observations at `indices`."""
    return Observations(*(getattr(observations, name)[indices] for name in Observations.__slots__))
