"""Typed results of `harness diagnose`. A value that was not measured is None, never NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.law.results import Interval

EXPLORATION, RELIABILITY, DIRECTION = "exploration", "reliability", "direction"
MECHANISMS = (EXPLORATION, RELIABILITY, DIRECTION)
FLAGS: Mapping[str, tuple[str, ...]] = {
    EXPLORATION: ("starved", "noise"),
    RELIABILITY: ("fewer_facts", "false_facts"),
    DIRECTION: ("solving",),
}
"""Mechanism -> its possible flags."""


@dataclass(frozen=True)
class Sign:
    """A number by which a mechanism is judged."""

    name: str
    unit: str
    value: Interval | None
    """The value and its 95% interval, which is infinite if its error is not known; None if it was
    not measured."""


@dataclass(frozen=True)
class MechanismFinding:
    """The finding on one mechanism in one run."""

    mechanism: str
    measured: bool
    """Whether the signs that its flags depend on were measured."""
    flag: str | None
    """One of FLAGS; None if no flag is raised, or nothing was measured."""
    because: Sign | None
    """The sign that raised the flag; None without a flag."""
    signs: tuple[Sign, ...]
    """All signs that were examined."""
    why: str | None = None
    """The reason why nothing was measured, if known. For exploration, why it is not known whether
    advantages follow rewards."""


@dataclass(frozen=True)
class Diagnosis:
    """The findings on one run."""

    run: str
    level: str | None
    seed: int | None
    regime: str | None
    findings: tuple[MechanismFinding, ...]
    """One finding for each of MECHANISMS, in order."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason -> the number of rows of the log left out for it."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The raised flags."""
        return tuple(finding.flag for finding in self.findings if finding.flag is not None)
