"""Metrics of a run that a study may compare; H, its fall and its onset are those on the probe."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from harness.law.compare.groups import Member
from harness.law.compare.quantities import share
from harness.law.compare.replicates import Replicate
from harness.law.estimate import numbers, onset, regime
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.results import Floats

STUDY_QUANTITIES: Mapping[str, str] = {
    "gain": "gain of reward",
    "final_reward": "reward at the end",
    "entropy_fall": "fall of H on the probe, nats",
    "entropy_lost": "mean loss of H on the probe, nats",
    "onset": "onset of collapse on the probe",
    "lead": "stop of reward minus fall of H on the probe",
    "starved_share": "share of groups that teach nothing",
    "solving": "share that suggests or informs at the end",
}
NET_OF_NULL = ("gain", "final_reward", "entropy_fall", "entropy_lost", "solving")
"""Quantities of which a null control has a number of the same kind, to be taken off."""


SOLVING = ("strategy/suggest", "strategy/inform")
NO_REWARDS = Points(np.empty(0), np.empty(0), np.empty(0))
CENSORED = 1.0
"""A run without an onset counts with the whole of the run."""


def number(member: Member, quantity: str, column: str) -> float | None:
    """The run's own; None where its log does not tell."""
    if quantity == "starved_share":
        silent = member.result.silent_share
        return silent.value if silent else None
    if quantity in OF_REPLICATE:
        return OF_REPLICATE[quantity](member.replicate, column)
    return OF_COURSE[quantity](member, column)


def net_of_null(member: Member, quantity: str, column: str) -> float | None:
    """Minus the mean of its null controls of its own seed; None without one."""
    own = number(member, quantity, column)
    found = [OF_REPLICATE[quantity](null, column) for null in member.nulls]
    known = [value for value in found if value is not None]
    if own is None or not known or len(known) < len(found):
        return None
    return own - sum(known) / len(known)


def censored(member: Member, quantity: str) -> bool:
    """Whether the run has no onset of collapse on the probe, or of a lead no fall."""
    return (_fall_step if quantity == "lead" else _onset_step)(member) is None


def _gain(run: Replicate, column: str) -> float | None:
    points = run.points_on(column, probe=False)
    won = regime.gain(points) if points is not None else None
    return won.value if won else None


def _final_reward(run: Replicate, column: str) -> float | None:
    points = run.points_on(column, probe=False)
    return None if points is None else _end(points.reward)


def _entropy_fall(run: Replicate, column: str) -> float | None:
    points = run.points_on(column, probe=True)
    end = None if points is None else _end(points.entropy)
    return None if points is None or end is None else float(points.entropy[0]) - end


def _entropy_lost(run: Replicate, column: str) -> float | None:
    """One number for earlier and for further: the mean over the run of what is gone."""
    points = run.points_on(column, probe=True)
    if points is None or len(points) < FEWEST_POINTS:
        return None
    return float(points.entropy[0] - points.entropy.mean())


def _solving(run: Replicate, column: str) -> float | None:
    found = [run.ends.get(name) for name in SOLVING]
    known = [share for share in found if share is not None]
    return sum(known) if len(known) == len(found) else None


def _onset(member: Member, column: str) -> float | None:
    """On the frozen prefixes, which are the same for every level."""
    if member.replicate.probe_course is None:
        return None
    return _share(member, _onset_step(member))


def _lead(member: Member, column: str) -> float | None:
    """Above 0 where H begins to fall for good before the reward stops rising.

    An onset would not do: a fall of H while the reward rises is none by its own rule. A reward
    that never stops is no stop that a fall could have made: 0.
    """
    points = member.replicate.points_on(column, probe=False)
    if member.replicate.probe_course is None or points is None or len(points) < FEWEST_POINTS:
        return None
    stop = regime.reward_plateau(points)
    return 0.0 if stop is None else _share(member, stop) - _share(member, _fall_step(member))


def _onset_step(member: Member) -> float | None:
    course = member.replicate.probe_course
    found = course.onset if course else None
    return found.step if found is not None and found.is_collapse else None


def _fall_step(member: Member) -> float | None:
    """The onset on the probe, whatever the reward does."""
    probed = member.replicate.probe_course
    course = probed.course if probed else None
    found = onset.find(course, NO_REWARDS) if course is not None else None
    return found.step if found is not None and found.is_collapse else None


def _share(member: Member, step: float | None) -> float:
    return CENSORED if step is None else min(share(member, step), CENSORED)


def _end(values: Floats) -> float | None:
    """Mean of the last tenth, of three values at least."""
    if len(values) < FEWEST_POINTS:
        return None
    return float(numbers.mean(values[-max(3, len(values) // 10) :]))


OF_REPLICATE: Mapping[str, Callable[[Replicate, str], float | None]] = {
    "gain": _gain,
    "final_reward": _final_reward,
    "entropy_fall": _entropy_fall,
    "entropy_lost": _entropy_lost,
    "solving": _solving,
}
OF_COURSE: Mapping[str, Callable[[Member, str], float | None]] = {"onset": _onset, "lead": _lead}
