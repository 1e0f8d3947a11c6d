"""What `harness diagnose` found, typed. A value that could not be measured is None, never NaN."""

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
"""By mechanism, what it can be flagged for."""


@dataclass(frozen=True)
class Sign:
    """A number by which a mechanism is judged."""

    name: str
    unit: str
    value: Interval | None
    """With its 95% interval, whose ends are infinite where its error is not known; None where it
    was not measured."""


@dataclass(frozen=True)
class Finding:
    """One mechanism in one run."""

    mechanism: str
    measured: bool
    """Whether what its flags go by was measured."""
    flag: str | None
    """One of FLAGS; None where there is none, or nothing was measured."""
    because: Sign | None
    """The sign that the flag goes by; None without one."""
    signs: tuple[Sign, ...]
    """All that was looked at."""
    why: str | None = None
    """Why nothing was measured where it has been asked; of exploration, why it is not known whether
    advantages follow rewards. None otherwise."""


@dataclass(frozen=True)
class Diagnosis:
    """One run."""

    run: str
    level: str | None
    seed: int | None
    regime: str | None
    findings: tuple[Finding, ...]
    """One for each of MECHANISMS, in their order."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows of its log that were left out, by reason."""

    @property
    def flags(self) -> tuple[str, ...]:
        """Those that are raised."""
        return tuple(finding.flag for finding in self.findings if finding.flag is not None)
