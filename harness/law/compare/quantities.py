"""Define the quantities that contrasts and studies compare. Each is a number of one run.

docs/studies.md has a table of them. A quantity is measured on a `ComparisonBasis` chosen by the
caller, so contrasts and studies differ only in the basis and the test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from harness.law.compare import probe_readings, replicates, run_numbers
from harness.law.compare.comparison_basis import ComparisonBasis
from harness.law.compare.groups import Member
from harness.law.compare.pairs import ComparedGroup
from harness.law.compare.random_effects import Sample, sample, unweighted
from harness.law.compare.run_numbers import OfRun
from harness.law.estimate import null_control
from harness.law.results import Interval
from harness.records.study_file import Link

Values = list[list[Interval | None]]
"""For each group, the value of each of its runs; None if a run has none."""
NATS, REWARD, SHARE = "nats", "reward", "share"
HEARD = "nats heard"
"""Unit of listening. Unlike NATS, its range is not limited by H."""


@dataclass(frozen=True)
class RunQuantity:
    """A quantity that can be compared between runs: its name, unit and definition."""

    words: str
    unit: str
    of_run: OfRun
    on_reward: bool = False
    """Whether the quantity depends on the reward column."""
    probe: bool = False
    """Whether it always uses H on the probe, regardless of the basis."""
    null: bool = False
    """Whether null controls have the quantity too, so that it can be subtracted."""
    weighed: bool = False
    """Whether a mean weights runs by their own intervals. Other quantities are averaged unweighted:
    their precision is similar in all runs, or misleadingly high for a reward at a bound, and errors
    at the ends of a short run are too rough for weights."""
    step: Callable[[Member, ComparisonBasis], float | None] | None = None
    """Function that finds the step, for times in a run. A run without the step is censored."""
    every_step: bool = False
    """Whether all steps contribute, not only those with an evaluation."""

    @property
    def is_onset(self) -> bool:
        """Whether the quantity is an onset, so that one can be earlier than another."""
        return self.of_run is run_numbers.onset_share

    def value(self, member: Member, basis: ComparisonBasis) -> Interval | None:
        """Return the number of a run with its 95% interval; None if the log lacks it."""
        return self.of_run(member, self._on(basis))

    def censored(self, member: Member, basis: ComparisonBasis) -> bool:
        """Return whether the run lacks the step that the quantity looks for."""
        return self.step is not None and self.step(member, self._on(basis)) is None

    def _on(self, basis: ComparisonBasis) -> ComparisonBasis:
        return replace(basis, probe=True) if self.probe else basis


QUANTITIES: Mapping[str, RunQuantity] = {
    "a": RunQuantity(
        "slope of the law", "reward per exp(H)", run_numbers.law_slope, on_reward=True, weighed=True
    ),
    "ceiling": RunQuantity(
        "ceiling of the law", REWARD, run_numbers.law_ceiling, on_reward=True, weighed=True
    ),
    "onset": RunQuantity(
        "onset of collapse", SHARE, run_numbers.onset_share, step=run_numbers.onset_step
    ),
    "gain": RunQuantity("gain of reward", REWARD, run_numbers.gain, on_reward=True, null=True),
    "fall": RunQuantity("fall of H", NATS, run_numbers.fall_of_h, null=True),
    "final_reward": RunQuantity(
        "reward at the end", REWARD, run_numbers.final_reward, on_reward=True, null=True
    ),
    "probe_fall": RunQuantity(
        "fall of H on the probe", NATS, run_numbers.probe_fall, probe=True, null=True
    ),
    "entropy_lost": RunQuantity(
        "mean loss of H on the probe", NATS, run_numbers.entropy_lost, probe=True, null=True
    ),
    "probe_onset": RunQuantity(
        "onset of collapse on the probe",
        SHARE,
        run_numbers.onset_share,
        probe=True,
        step=run_numbers.onset_step,
    ),
    "lead": RunQuantity(
        "stop of reward minus fall of H on the probe",
        SHARE,
        run_numbers.lead,
        step=run_numbers.fall_step,
    ),
    "starved_share": RunQuantity(
        "share of groups without a signal", SHARE, run_numbers.silent_share, every_step=True
    ),
    "solving": RunQuantity(
        "share of replies that suggest or inform, at the end",
        SHARE,
        run_numbers.at_end(*replicates.SOLVING),
        null=True,
        every_step=True,
    ),
    "solving_after_feeling": RunQuantity(
        "share of replies to a feeling that suggest or inform, at the end",
        SHARE,
        run_numbers.at_end(replicates.SOLVING_AFTER_FEELING),
        null=True,
        every_step=True,
    ),
    "solving_where_wanted": RunQuantity(
        "solving where it is wanted, at the end",
        SHARE,
        run_numbers.at_end(replicates.SOLVING_WHERE_WANTED),
        null=True,
        every_step=True,
    ),
    "solving_where_unwanted": RunQuantity(
        "solving where it is unwanted, at the end",
        SHARE,
        run_numbers.at_end(replicates.SOLVING_WHERE_UNWANTED),
        null=True,
        every_step=True,
    ),
    "grounding": RunQuantity(
        "acts of grounding at the end",
        "per 100 replies",
        run_numbers.at_end(replicates.GROUNDING),
        null=True,
        every_step=True,
    ),
    "question_value": RunQuantity(
        "facts told after a question, at the end",
        "facts",
        run_numbers.at_end(replicates.QUESTION_VALUE),
        null=True,
        every_step=True,
    ),
    "alliance": RunQuantity(
        "alliance at the end",
        SHARE,
        run_numbers.at_end(replicates.ALLIANCE),
        null=True,
        every_step=True,
    ),
    "divergence": RunQuantity(
        "KL from the start, at the end",
        "nats a token or act",
        run_numbers.at_end(replicates.DIVERGENCE),
        null=True,
        every_step=True,
    ),
    "listening": RunQuantity(
        "listening at the end", HEARD, run_numbers.yardstick("listening"), on_reward=True, null=True
    ),
    "within_sd": RunQuantity(
        "spread within a user at the end",
        REWARD,
        run_numbers.yardstick("within_sd"),
        on_reward=True,
        null=True,
    ),
    "best_at_16": RunQuantity(
        "best of 16 conversations at the end",
        REWARD,
        run_numbers.yardstick("best_at_16"),
        on_reward=True,
        null=True,
    ),
    "adaptation": RunQuantity(
        "gain by one step on other users", REWARD, run_numbers.adaptation, null=True
    ),
}
CONTRASTED = ("a", "ceiling", "onset", "gain", "fall")
"""Quantities of contrasts, in the order of contrasts.csv."""
STUDIED = (
    "gain", "final_reward", "probe_fall", "entropy_lost", "probe_onset", "lead", "starved_share",
    "solving", "solving_after_feeling", "solving_where_wanted", "solving_where_unwanted",
    "grounding", "question_value", "alliance", "divergence", "listening", "within_sd",
    "best_at_16", "adaptation",
)  # fmt: skip
"""Quantities of links. H is that of the probe, whose states are the same for every level."""
OLD_NAMES: Mapping[str, str] = {"entropy_fall": "probe_fall", "onset": "probe_onset"}
"""Old name in study files -> current name. In these files every H was that of the probe."""


def of_link(link: Link) -> RunQuantity:
    """Return the quantity of a link: one of QUANTITIES, or the change of a probe reading.

    Old names are accepted. Raise KeyError for an unknown one.
    """
    probe = link.probe
    if probe is None:
        return QUANTITIES[OLD_NAMES.get(link.quantity, link.quantity)]
    return RunQuantity(
        f"change of '{link.quantity}' ({', '.join(filter(None, (probe.name, probe.level)))})",
        probe.unit,
        partial(probe_readings.change, probe, link.quantity),
        null=True,
        every_step=True,
    )


def unit_of(link: Link) -> str:
    """Return the unit of a link's difference: that of the quantity, squared for variances."""
    unit = of_link(link).unit
    return unit if link.crossed is None else f"{unit} squared"


def values(name: str, sides: Sequence[ComparedGroup], basis: ComparisonBasis) -> Values:
    """Return the quantity of each run with information on it."""
    quantity = QUANTITIES[name]
    return [[quantity.value(member, basis) for member in side.members_with(name)] for side in sides]


def net_of_null(quantity: RunQuantity, member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the quantity of a run minus the mean of its null controls of the same seed.

    All are measured over the steps that each of them has done, because H falls further in a longer
    run. None without such a null control.
    """
    if not member.nulls:
        return None
    last_steps = (run.last_step for run in (member.replicate, *member.nulls))
    shared = replace(basis, until=min(last_steps))
    nulls = [replace(member, replicate=null, nulls=()) for null in member.nulls]
    run_value, *null_values = (quantity.value(run, shared) for run in (member, *nulls))
    return null_control.minus_nulls(run_value, null_values)


def samples(name: str, group_values: Values) -> list[Sample]:
    """Return a sample for each group, of the runs with a value."""
    measured = [[value for value in run_values if value is not None] for run_values in group_values]
    if QUANTITIES[name].weighed:
        return [sample(run_values) for run_values in measured]
    return [unweighted([value.value for value in run_values]) for run_values in measured]
