"""How far each group of a batch moves the logits of the probe, with remedies and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.policy.tabular import Observations, TabularPolicy
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.rollout.tabular_speaker import Acts

MOST_UNITS = 16
"""More groups than these are taken together by twos, threes and so on: the spread of 16 sums says
what that of 64 would, and costs a quarter."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One update on a batch; arrays have shape (acts,)."""

    policy: TabularPolicy
    """Before it."""
    slope: FloatArray
    """d loss / d logp of each act; without what is in `sharpened`."""
    plain: FloatArray | None
    """The same by the algorithm without remedies; None where there are none."""
    bonus: FloatArray | None
    """What each act's entropy is multiplied by in the loss, where a remedy adds it; else None."""
    sharpened: tuple[FloatArray, FloatArray] | None = None
    """The slope of each act by log p of logits that a remedy multiplies, and their factors."""

    def by_log_p(
        self, seen: Observations, act: IntArray, places: slice | IntArray, temperature: float
    ) -> FloatArray:
        """The gradient of the loss of the acts at `places`, but for the bonus."""
        gradient = self.policy.gradient(seen, act, self.slope[places], temperature)
        if self.sharpened is None:
            return gradient
        slope, factor = (column[places] for column in self.sharpened)
        return gradient + self.policy.gradient(seen, act, slope, temperature / factor[:, None])


@dataclass(frozen=True, slots=True)
class Moves:
    """Changes of the probe's logits up to a constant a prefix, shapes (units, prefixes, choices).

    A unit is a group, or several; units are independent draws.
    """

    taken: FloatArray
    plain: FloatArray | None
    """Without remedies; None where there are none."""


def units(conversations: int, group_size: int) -> IntArray:
    """The unit of each conversation, shape (conversations,). Groups are consecutive."""
    groups = conversations // group_size
    group = np.arange(conversations) // group_size
    return np.asarray(group * min(groups, MOST_UNITS) // groups)


def of_batch(
    passes: Sequence[Pass],
    acts: Acts,
    unit: IntArray,
    probe: Observations,
    temperature: float,
    rate: float,
) -> Moves:
    """The moves of a batch by the plain gradient at `rate`; `unit`: as `units` gives it.

    A remedy is compared with the algorithm at the weights of the same pass.
    """
    start, of_act = passes[0].policy, unit[acts.conversation]
    before = start.log_probabilities(probe, temperature)

    def moved(gradient: FloatArray) -> FloatArray:
        """Logits are linear in the table, so they move by those of the step, and log-probabilities
        by the same up to what normalises them.
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
    return Moves(np.stack(taken), np.stack(plain) if plain else None)


def _taken(
    done: Pass, seen: Observations, act: IntArray, places: IntArray, temperature: float
) -> FloatArray:
    """The gradient of the loss of some acts."""
    gradient = done.by_log_p(seen, act, places, temperature)
    if done.bonus is None:
        return gradient
    return gradient - done.policy.entropy_gradient(seen, temperature, done.bonus[places])


def _plain(
    done: Pass, seen: Observations, act: IntArray, places: IntArray, temperature: float
) -> FloatArray:
    """The same by the algorithm without remedies."""
    weights = np.zeros(len(act)) if done.plain is None else done.plain[places]
    return done.policy.gradient(seen, act, weights, temperature)


def part(seen: Observations, places: IntArray) -> Observations:
    """The observations at some places."""
    return Observations(*(getattr(seen, name)[places] for name in Observations.__slots__))
