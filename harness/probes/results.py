"""What a probe found, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.config.run import SCHEMA
from harness.probes.over_users import NOT_MEASURED, Estimate
from harness.records import probe_answer
from harness.records.provenance import MadeBy

START = 0
"""The step of the policy that a run began with."""


@dataclass(frozen=True)
class Reading:
    """One quantity of one policy at one level."""

    level: str
    quantity: str
    setting: str
    """How it spoke: nothing for as its run has it."""
    unit: str
    step: int
    estimate: Estimate
    change: Estimate = NOT_MEASURED
    """Since what it is held against; not measured of that itself."""
    people: float | None = None
    """Of human supporters."""
    published: float | None = None
    """The change in a training that others have published."""

    @property
    def label(self) -> str:
        """The quantity with its setting."""
        return probe_answer.name_of(self.quantity, self.setting)


@dataclass(frozen=True)
class Probed:
    """The answer to one question about one run."""

    probe: str
    asks: str
    run: str
    against: str
    """`start`, or the folder of another run."""
    reference: tuple[Reading, ...]
    """Of what the run is held against."""
    steps: tuple[int, ...]
    """Of the run's checkpoints that were probed."""
    users: int
    """Held-out users a level; 0 where items were asked."""
    repeats: int
    """Conversations with each."""
    conversations: int
    """Held in all."""
    readings: tuple[Reading, ...]
    """Of the run, step by step."""
    items: int | None = None
    """Items that each policy was asked, instead of conversations with users."""
    not_measured: tuple[str, ...] = ()
    """What could not be measured, and why."""
    verdict: str = ""
    """What the last step's readings come to; nothing of a probe that gives none."""
    cost: Mapping[str, Any] | None = None
    """What was asked of served users: served.cost; None where nobody was paid."""
    item_file: str | None = None
    """Path of the items; None for those that are shipped, and of a probe that asks none."""
    checkpoints: Mapping[str, str] = field(default_factory=dict)
    """By step: sha256 of the manifest of the checkpoint that was asked; none of a folder."""
    passed_over: tuple[str, ...] = ()
    """Damaged checkpoints in whose place an older one was asked, and how they are damaged."""
    made_by: MadeBy | None = None
    """The code that asked."""

    @property
    def levels(self) -> tuple[str, ...]:
        """In the order of measurement."""
        return tuple(dict.fromkeys(reading.level for reading in self.readings))

    def to_json(self) -> Mapping[str, Any]:
        """The value of --json and probe.json; null for what was not measured."""
        return {"schema": SCHEMA, **asdict(self)}


COLUMNS = (
    "policy", "level", "quantity", "setting", "unit", "step",
    "value", "low", "high", "change", "change_low", "change_high", "people", "published",
)  # fmt: skip


def rows(probed: Probed) -> list[Mapping[str, Any]]:
    """The rows of readings.csv; `policy` is run, or what the run is held against."""
    known = [(probed.against, reading) for reading in probed.reference]
    return [_row(*one) for one in (*known, *(("run", reading) for reading in probed.readings))]


def _row(policy: str, reading: Reading) -> Mapping[str, Any]:
    own, moved = reading.estimate, reading.change
    values = (policy, reading.level, reading.quantity, reading.setting, reading.unit, reading.step)
    numbers = (own.value, own.low, own.high, moved.value, moved.low, moved.high)
    of_others = (reading.people, reading.published)
    return dict(zip(COLUMNS, (*values, *numbers, *of_others), strict=True))
