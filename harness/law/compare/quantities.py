"""The quantities that contrasts and studies compare, each defined once: a number of one run.

docs/studies.md has them in one table. Each is taken on a `Footing` that the caller chooses, so what
contrasts and studies differ in is the footing and the test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.law.compare import replicates, scales
from harness.law.compare.footing import Footing
from harness.law.compare.groups import Member
from harness.law.compare.pairs import Side
from harness.law.compare.random_effects import Sample, sample, unweighted
from harness.law.compare.replicates import ADAPTED, mean_of_measured
from harness.law.estimate import null_control, numbers, onset, regime
from harness.law.io import columns
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.io.columns import NO_SERIES
from harness.law.results import Floats, Interval

OfRun = Callable[[Member, Footing], Interval | None]
Values = list[list[Interval | None]]
"""For each group, the value of each of its runs, None where there is none."""
NATS, REWARD, SHARE = "nats", "reward", "share"
HEARD = "nats heard"
"""Of listening, which no H bounds."""
NO_REWARDS = Points(np.empty(0), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Quantity:
    """What can be compared between runs: its definition and how it is spoken of."""

    words: str
    unit: str
    of_run: OfRun
    on_reward: bool = False
    """Whether it is of a reward column."""
    probe: bool = False
    """Whether H is that of the probe, whatever the footing says."""
    null: bool = False
    """Whether a null control has a number of the same kind, to be taken off."""
    weighed: bool = False
    """Whether each run counts by its own interval in a mean. Else runs count alike: each knows its
    number about as well, or, with its reward at a bound, too well; and at the ends of a short run
    the errors are too rough to weigh by."""
    step: Callable[[Member, Footing], float | None] | None = None
    """The step it looks for; a run without one is censored. None: it looks for no step."""
    every_step: bool = False
    """Whether every step tells, evaluated or not."""

    @property
    def is_onset(self) -> bool:
        """Whether it is a time in the run, so that one can be earlier than another."""
        return self.of_run is _onset

    def value(self, member: Member, footing: Footing) -> Interval | None:
        """The number of a run, with its 95% interval; None where its log does not tell."""
        return self.of_run(member, self._on(footing))

    def censored(self, member: Member, footing: Footing) -> bool:
        """Whether the run lacks the step that the quantity looks for."""
        return self.step is not None and self.step(member, self._on(footing)) is None

    def _on(self, footing: Footing) -> Footing:
        return replace(footing, probe=True) if self.probe else footing


def _slope(member: Member, footing: Footing) -> Interval | None:
    if footing.within is None:
        spread = footing.spread(member)
        return spread.a if spread is not None else None
    points = footing.law_points(member)
    if points is None:
        return None
    inside = scales.within_range(points, footing.within)
    key = ("a", footing.column_of(member), footing.probe, inside.steps.tobytes())
    return member.replicate.once(key, lambda: scales.slope(inside))


def _ceiling(member: Member, footing: Footing) -> Interval | None:
    spread = footing.spread(member)
    return spread.ceiling if spread is not None else None


def _gain(member: Member, footing: Footing) -> Interval | None:
    column = footing.column_of(member)

    def reckon() -> Interval | None:
        points = footing.points(member)
        return regime.gain(points, columns.is_evaluation(column)) if points is not None else None

    return member.replicate.once(("gain", column, footing.probe, footing.until), reckon)


def _final_reward(member: Member, footing: Footing) -> Interval | None:
    points = footing.points(member)
    if points is None or len(points) < FEWEST_POINTS:
        return None
    return _without_error(_end(points.reward))


def _fall(member: Member, footing: Footing) -> Interval | None:
    key = ("fall", footing.probe and footing.column_of(member), footing.probe, footing.until)
    return member.replicate.once(key, lambda: null_control.fall(footing.course(member).values))


def _probe_fall(member: Member, footing: Footing) -> Interval | None:
    """From the first value alone: all runs that start from the same weights share it.

    Three values would reach far into a run that is evaluated seldom
    (docs/decisions/2026-11-22-one-comparison.md).
    """
    return null_control.fall(footing.course(member).values, exact_start=True)


def _entropy_lost(member: Member, footing: Footing) -> Interval | None:
    h = footing.course(member).values
    return _without_error(float(h[0] - h.mean())) if len(h) >= FEWEST_POINTS else None


def _onset(member: Member, footing: Footing) -> Interval | None:
    if footing.probe and member.replicate.probe_course is None:
        return None
    return _without_error(footing.share_at(member, _onset_step(member, footing)))


def _onset_step(member: Member, footing: Footing) -> float | None:
    collapse = footing.onset(member)
    return collapse.step if collapse is not None else None


def _lead(member: Member, footing: Footing) -> Interval | None:
    """Above 0 where H begins to fall for good before the reward stops rising.

    An onset would not do: a fall of H while the reward rises is none by its own rule. A reward
    that never stops is no stop that a fall could have made: 0.
    """
    points = replace(footing, probe=False).points(member)
    if member.replicate.probe_course is None or points is None or len(points) < FEWEST_POINTS:
        return None
    stop = regime.reward_plateau(points)
    if stop is None:
        return _without_error(0.0)
    fall = _fall_step(member, footing)
    return _without_error(footing.share_at(member, stop) - footing.share_at(member, fall))


def _fall_step(member: Member, footing: Footing) -> float | None:
    """The onset on the probe, whatever the reward does."""
    probed = member.replicate.probe_course
    course = probed.course if probed else None
    start = onset.find(course, NO_REWARDS) if course is not None else None
    return start.step if start is not None and start.is_collapse else None


def _silent_share(member: Member, footing: Footing) -> Interval | None:
    return member.result.silent_share


def _at_end(*names: str) -> OfRun:
    """The sum of columns, each its mean over the last tenth of the steps; None without one."""

    def of_run(member: Member, footing: Footing) -> Interval | None:
        columns = [footing.cut(member.replicate.ends.get(name, NO_SERIES)) for name in names]
        ends = [mean_of_measured(numbers.last_tenth(column.values)) for column in columns]
        measured = [end for end in ends if end is not None]
        return _without_error(sum(measured)) if len(measured) == len(ends) else None

    return of_run


def _yardstick(name: str) -> OfRun:
    """The end of a column that stands beside an evaluation's reward."""

    def of_run(member: Member, footing: Footing) -> Interval | None:
        column = footing.column_of(member).replace("reward", name)
        value = _end_of(member, footing, column)
        return None if value is None else _without_error(value)

    return of_run


def _adaptation(member: Member, footing: Footing) -> Interval | None:
    before, after = (_end_of(member, footing, name) for name in ADAPTED)
    return None if before is None or after is None else _without_error(after - before)


def _end_of(member: Member, footing: Footing, column: str) -> float | None:
    """Mean of the last tenth of what was measured; None of fewer than FEWEST_POINTS."""
    values = footing.cut(member.replicate.ends.get(column, NO_SERIES)).values
    measured = values[np.isfinite(values)]
    return _end(measured) if len(measured) >= FEWEST_POINTS else None


def _end(values: Floats) -> float:
    """Mean of the last tenth, of three values at least."""
    return numbers.mean(values[-max(3, len(values) // 10) :])


def _without_error(value: float) -> Interval:
    """A number whose own error is not known: its interval is the whole line."""
    return Interval(value, -np.inf, np.inf)


QUANTITIES: Mapping[str, Quantity] = {
    "a": Quantity("slope of the law", "reward per exp(H)", _slope, on_reward=True, weighed=True),
    "ceiling": Quantity("ceiling of the law", REWARD, _ceiling, on_reward=True, weighed=True),
    "onset": Quantity("onset of collapse", SHARE, _onset, step=_onset_step),
    "gain": Quantity("gain of reward", REWARD, _gain, on_reward=True, null=True),
    "fall": Quantity("fall of H", NATS, _fall, null=True),
    "final_reward": Quantity("reward at the end", REWARD, _final_reward, on_reward=True, null=True),
    "probe_fall": Quantity("fall of H on the probe", NATS, _probe_fall, probe=True, null=True),
    "entropy_lost": Quantity(
        "mean loss of H on the probe", NATS, _entropy_lost, probe=True, null=True
    ),
    "probe_onset": Quantity(
        "onset of collapse on the probe", SHARE, _onset, probe=True, step=_onset_step
    ),
    "lead": Quantity("stop of reward minus fall of H on the probe", SHARE, _lead, step=_fall_step),
    "starved_share": Quantity(
        "share of groups that teach nothing", SHARE, _silent_share, every_step=True
    ),
    "solving": Quantity(
        "share that suggests or informs at the end",
        SHARE,
        _at_end(*replicates.SOLVING),
        null=True,
        every_step=True,
    ),
    "solving_after_feeling": Quantity(
        "share that suggests or informs just after a feeling, at the end",
        SHARE,
        _at_end(replicates.SOLVING_AFTER_FEELING),
        null=True,
        every_step=True,
    ),
    "solving_where_wanted": Quantity(
        "share that suggests or informs where that is wanted, at the end",
        SHARE,
        _at_end(replicates.SOLVING_WHERE_WANTED),
        null=True,
        every_step=True,
    ),
    "solving_where_unwanted": Quantity(
        "share that suggests or informs where that is not wanted, at the end",
        SHARE,
        _at_end(replicates.SOLVING_WHERE_UNWANTED),
        null=True,
        every_step=True,
    ),
    "grounding": Quantity(
        "acts of grounding at the end",
        "per 100 replies",
        _at_end(replicates.GROUNDING),
        null=True,
        every_step=True,
    ),
    "question_value": Quantity(
        "facts told for asking at the end",
        "facts",
        _at_end(replicates.QUESTION_VALUE),
        null=True,
        every_step=True,
    ),
    "alliance": Quantity(
        "alliance at the end", SHARE, _at_end(replicates.ALLIANCE), null=True, every_step=True
    ),
    "divergence": Quantity(
        "KL to the start at the end",
        "nats a token or act",
        _at_end(replicates.DIVERGENCE),
        null=True,
        every_step=True,
    ),
    "listening": Quantity(
        "listening at the end", HEARD, _yardstick("listening"), on_reward=True, null=True
    ),
    "within_sd": Quantity(
        "spread within a user at the end",
        REWARD,
        _yardstick("within_sd"),
        on_reward=True,
        null=True,
    ),
    "best_at_16": Quantity(
        "best of 16 conversations at the end",
        REWARD,
        _yardstick("best_at_16"),
        on_reward=True,
        null=True,
    ),
    "adaptation": Quantity("gain by one step on other users", REWARD, _adaptation, null=True),
}
CONTRASTED = ("a", "ceiling", "onset", "gain", "fall")
"""Quantities of a contrast, in the order of contrasts.csv."""
STUDIED = (
    "gain", "final_reward", "probe_fall", "entropy_lost", "probe_onset", "lead", "starved_share",
    "solving", "solving_after_feeling", "solving_where_wanted", "solving_where_unwanted",
    "grounding", "question_value", "alliance", "divergence", "listening", "within_sd",
    "best_at_16", "adaptation",
)  # fmt: skip
"""Quantities of a link; H is that of the probe, whose states are the same for every level."""
OLD_NAMES: Mapping[str, str] = {"entropy_fall": "probe_fall", "onset": "probe_onset"}
"""Names that study files used: there every H was that of the probe."""


def of_link(name: str) -> Quantity:
    """The quantity that a study calls so, by its name or an old one. Raises KeyError."""
    return QUANTITIES[OLD_NAMES.get(name, name)]


def values(name: str, sides: Sequence[Side], footing: Footing) -> Values:
    """The quantity of each run that says something of it."""
    quantity = QUANTITIES[name]
    return [[quantity.value(m, footing) for m in side.telling(name)] for side in sides]


def net_of_null(quantity: Quantity, member: Member, footing: Footing) -> Interval | None:
    """That of a run minus the mean of its null controls of its own seed; None without one.

    All are taken over the steps that each of them has done: one that ran longer fell further.
    """
    if not member.nulls:
        return None
    last_steps = (run.last_step for run in (member.replicate, *member.nulls))
    shared = replace(footing, until=min(last_steps))
    nulls = [replace(member, replicate=null, nulls=()) for null in member.nulls]
    of_run, *of_nulls = (quantity.value(one, shared) for one in (member, *nulls))
    return null_control.beyond(of_run, of_nulls)


def samples(name: str, of_groups: Values) -> list[Sample]:
    """A sample for each group, of the runs that have a value."""
    measured = [[v for v in of_group if v is not None] for of_group in of_groups]
    if QUANTITIES[name].weighed:
        return [sample(of_group) for of_group in measured]
    return [unweighted([v.value for v in of_group]) for of_group in measured]
