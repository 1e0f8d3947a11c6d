"""The results of a probe, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.config.run import SCHEMA
from harness.probes.over_users import NOT_MEASURED, ProbeEstimate
from harness.records import probe_answer
from harness.records.provenance import MadeBy

START = 0
"""Step of the start policy."""


@dataclass(frozen=True)
class ProbeReading:
    """One quantity of one policy at one level."""

    level: str
    quantity: str
    setting: str
    """Setting of the policy; empty for the run's own config."""
    unit: str
    step: int
    estimate: ProbeEstimate
    change: ProbeEstimate = NOT_MEASURED
    """Difference from the reference; not measured for the reference itself."""
    people: float | None = None
    """Value for human supporters."""
    published: float | None = None
    """Published change by training."""

    @property
    def label(self) -> str:
        """The quantity with its setting."""
        return probe_answer.name_of(self.quantity, self.setting)


@dataclass(frozen=True)
class ProbeResult:
    """The answer to one question about one run."""

    probe: str
    asks: str
    run: str
    against: str
    """`start`, or the folder of another run or of a model."""
    reference: tuple[ProbeReading, ...]
    """Readings of the reference policy."""
    steps: tuple[int, ...]
    """Steps of the probed checkpoints."""
    users: int
    """Held-out users per level; 0 for items."""
    repeats: int
    """Conversations with each user."""
    conversations: int
    """Total number of conversations."""
    readings: tuple[ProbeReading, ...]
    """Readings of the run, step by step."""
    items: int | None = None
    """Number of items that each policy was asked; None for conversations with users."""
    not_measured: tuple[str, ...] = ()
    """What could not be measured, and why."""
    verdict: str = ""
    """Verdict on the last step's readings; empty for a probe without one."""
    cost: Mapping[str, Any] | None = None
    """Usage of served users, as `served.cost` returns it; None without served users."""
    item_file: str | None = None
    """Path of the item file; None for shipped items, or without items."""
    checkpoints: Mapping[str, str] = field(default_factory=dict)
    """sha256 of the manifest of each probed checkpoint, by step; empty for a model's folder."""
    passed_over: tuple[str, ...] = ()
    """Damaged checkpoints that were skipped for an older one, and their damage."""
    made_by: MadeBy | None = None
    """Version of the code that ran the probe."""

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels in the order of measurement."""
        return tuple(dict.fromkeys(reading.level for reading in self.readings))

    def to_json(self) -> Mapping[str, Any]:
        """Return the value of --json and probe.json, with null for what was not measured."""
        return {"schema": SCHEMA, **asdict(self)}


COLUMNS = (
    "policy", "level", "quantity", "setting", "unit", "step",
    "value", "low", "high", "change", "change_low", "change_high", "people", "published",
)  # fmt: skip


def rows(probed: ProbeResult) -> list[Mapping[str, Any]]:
    """Return the rows of readings.csv; `policy` is `run`, or the name of the reference."""
    reference_rows = [(probed.against, reading) for reading in probed.reference]
    return [
        _row(*pair)
        for pair in (*reference_rows, *(("run", reading) for reading in probed.readings))
    ]


def _row(policy: str, reading: ProbeReading) -> Mapping[str, Any]:
    estimate, change = reading.estimate, reading.change
    values = (policy, reading.level, reading.quantity, reading.setting, reading.unit, reading.step)
    numbers = (estimate.value, estimate.low, estimate.high, change.value, change.low, change.high)
    comparisons = (reading.people, reading.published)
    return dict(zip(COLUMNS, (*values, *numbers, *comparisons), strict=True))
