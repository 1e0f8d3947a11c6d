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
    """d loss / d logp of each act."""
    plain: FloatArray | None
    """The same by the algorithm without remedies; None where there are none."""
    bonus: FloatArray | None
    """What each act's entropy is multiplied by in the loss, where a remedy adds it; else None."""


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
    taken, plain = [], []
    for number in range(int(unit.max()) + 1):
        places = np.flatnonzero(of_act == number)
        seen, act = part(acts.seen, places), acts.act[places]
        with_remedies = without = np.zeros_like(start.table)
        for done in passes:
            policy, slope = done.policy, done.slope[places]
            with_remedies = with_remedies + policy.gradient(seen, act, slope, temperature)
            if done.bonus is not None:
                weights = done.bonus[places]
                with_remedies -= policy.entropy_gradient(seen, temperature, weights)
            if done.plain is not None:
                without = without + policy.gradient(seen, act, done.plain[places], temperature)
        taken.append(_moved(start, with_remedies, rate, probe, temperature) - before)
        plain.append(_moved(start, without, rate, probe, temperature) - before)
    return Moves(np.stack(taken), np.stack(plain) if passes[0].plain is not None else None)


def part(seen: Observations, places: IntArray) -> Observations:
    """The observations at some places."""
    return Observations(*(getattr(seen, name)[places] for name in Observations.__slots__))


def _moved(
    policy: TabularPolicy,
    gradient: FloatArray,
    rate: float,
    probe: Observations,
    temperature: float,
) -> FloatArray:
    """Log-probabilities at the probe after a step: logits are linear in the table, so they have
    moved by the step's own logits, up to what normalises them.
    """
    moved = replace(policy, table=policy.table - rate * gradient)
    return moved.log_probabilities(probe, temperature)
