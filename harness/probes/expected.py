"""Predicts which readings a probe of a run will have, from its config before training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.config.run import LEVELS, RunConfig
from harness.errors import ConfigError
from harness.probes import readings
from harness.probes.over_users import FEWEST_USERS
from harness.probes.quantity import ItemChoice, Place, Probe
from harness.probes.readings import MeasurementPlan
from harness.records.outcomes import OWN
from harness.records.probe_answer import name_of
from harness.train.metrics.held_out import levels_of

USERS = 64
"""Default number of held-out users per level."""
USUAL_LEVEL = "medium"
"""The level at which neither a floor nor a ceiling of emotion compresses differences."""


@dataclass(frozen=True)
class ProbeSize:
    """Options of a probe; None for the defaults."""

    users: int | None = None
    repeats: int | None = None
    first: int | None = None
    """Number of items, for a probe that asks items."""


@dataclass(frozen=True)
class ExpectedAnswer:
    """The expected content of a probe's answer."""

    units: Mapping[Place, str]
    """Units by (level, name of the reading)."""
    users: int
    """Held-out users per level; 0 for a probe that asks items."""
    repeats: int
    items: int | None
    replies_of_items: int
    """Replies or scored questions of each policy; 0 for a probe that talks with users."""
    conversations: int
    """Conversations of each policy; 0 for a probe that asks items."""

    @property
    def levels(self) -> Sequence[str]:
        return list(dict.fromkeys(level for level, _ in self.units))

    @property
    def usual_level(self) -> str:
        """Default level for looking up a reading: medium, or else the first one."""
        return USUAL_LEVEL if USUAL_LEVEL in self.levels else next(iter(self.levels))

    def at(self, level: str) -> Sequence[str]:
        """Return the names of the readings at a level."""
        return [name for place, name in self.units if place == level]


def level_names(config: RunConfig) -> Mapping[int, str]:
    """Return the names of a run's evaluation levels by number; `own` is a level without a name."""
    numbers = levels_of(config).met
    return {number: LEVELS[number] if number < len(LEVELS) else OWN for number in numbers}


def of(probe: Probe, config: RunConfig, options: ProbeSize) -> ExpectedAnswer:
    """Return what the answer will contain.

    Raises ConfigError if the probe does not apply to such a run, or not with these options.
    """
    refuse_served(probe, config)
    settings = probe.settings(config)
    plan = MeasurementPlan.of(probe, config)
    reasons = [*probe.not_measured(config)]
    if not plan.quantities:
        raise ConfigError(f"probe {probe.name} has nothing to ask: {'; '.join(reasons)}")
    if probe.battery is not None:
        _refuse_options(probe, users=options.users, repeats=options.repeats)
        battery = probe.battery(config, ItemChoice(None, options.first))
        _at_least(FEWEST_USERS, "first", battery.items)
        framings = len({setting for _, setting in battery.places})
        return ExpectedAnswer(
            _units(plan, probe, config, battery.places, 1), 0, 0, battery.items,
            battery.items * framings, 0,
        )  # fmt: skip
    _refuse_options(probe, first=options.first)
    users = USERS if options.users is None else options.users
    repeats = probe.repeats if options.repeats is None else options.repeats
    _at_least(FEWEST_USERS, "users", users)
    _at_least(1, "repeats", repeats)
    places = [
        (level, setting.name)
        for setting in settings
        for level in level_names(setting.changed(config)).values()
    ]
    units = _units(plan, probe, config, places, repeats)
    return ExpectedAnswer(units, users, repeats, None, 0, users * repeats * len(places))


def refuse_served(probe: Probe, config: RunConfig) -> None:
    """Raise ConfigError for a run with served users if the probe does not support them."""
    if config.simulator.kind == "served" and probe.not_served:
        raise ConfigError(
            f"simulator.kind must be one that answers in this process for {probe.name}, "
            f"{probe.not_served}, got served"
        )


def _units(
    plan: MeasurementPlan, probe: Probe, config: RunConfig, places: Sequence[Place], repeats: int
) -> dict[Place, str]:
    missing = probe.lacks(config)
    return {
        (level, name_of(quantity.name, setting)): quantity.unit
        for level, setting, quantity in readings.each(plan, places)
        if quantity.name not in missing and repeats >= quantity.least_repeats
    }


def _at_least(minimum: int, name: str, value: int) -> None:
    if value < minimum:
        raise ConfigError(f"{name} must be at least {minimum}, got {value}")


def _refuse_options(probe: Probe, **options: int | None) -> None:
    """Raise ConfigError for an option that would have no effect."""
    for name, value in options.items():
        if value is not None:
            subject = "users" if probe.battery is None else "items"
            rule = f"must be given with another probe, since {probe.name} uses {subject}"
            raise ConfigError(f"{name} {rule}, got {value}")
