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
        self, seen: Observations, act: IntArray, places: slice | IntArray, temperature: float
    ) -> FloatArray:
        """Return the gradient of the loss of the acts at `places`, without the entropy bonus."""
        gradient = self.policy.gradient(seen, act, self.slope[places], temperature)
        if self.sharpened is None:
            return gradient
        slope, factor = (column[places] for column in self.sharpened)
        return gradient + self.policy.gradient(seen, act, slope, temperature / factor[:, None])


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
    start, of_act = passes[0].policy, unit[acts.conversation]
    before = start.log_probabilities(probe, temperature)

    def moved(gradient: FloatArray) -> FloatArray:
        """Return the change of the log-probabilities, which equals that of the logits up to a
        constant per prefix.
        """
        after = replace(start, table=start.table - rate * gradient)
        return after.log_probabilities(probe, temperature) - before

    taken, plain, none = [], [], np.zeros_like(start.table)
    for number in range(int(unit.max()) + 1):
        places = np.flatnonzero(of_act == number)
        seen, act = part(acts.seen, places), acts.act[places]
        with_remedies = (_taken(done, seen, act, places, temperature) for done in passes)
        taken.append(moved(sum(with_remedies, none)))
        if passes[0].plain is not None:
            without = (_plain(done, seen, act, places, temperature) for done in passes)
            plain.append(moved(sum(without, none)))
    return LogitChanges(np.stack(taken), np.stack(plain) if plain else None)


def _taken(
    done: BatchUpdate, seen: Observations, act: IntArray, places: IntArray, temperature: float
) -> FloatArray:
    """Return the gradient of the loss of the acts at `places`."""
    gradient = done.by_log_p(seen, act, places, temperature)
    if done.bonus is None:
        return gradient
    return gradient - done.policy.entropy_gradient(seen, temperature, done.bonus[places])


def _plain(
    done: BatchUpdate, seen: Observations, act: IntArray, places: IntArray, temperature: float
) -> FloatArray:
    """Return the gradient of the loss of the algorithm without remedies."""
    weights = np.zeros(len(act)) if done.plain is None else done.plain[places]
    return done.policy.gradient(seen, act, weights, temperature)


def part(seen: Observations, places: IntArray) -> Observations:
    """Return the observations at `places`."""
    return Observations(*(getattr(seen, name)[places] for name in Observations.__slots__))
