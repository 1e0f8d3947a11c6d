"""What reading a run came to: why it has no numbers, how it ended, what was put right."""

from __future__ import annotations

from dataclasses import dataclass

ERROR_KINDS = ("empty_input", "missing_file", "missing_column", "no_valid_rows", "unreadable")


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Why a run has no numbers."""

    kind: str
    """One of ERROR_KINDS."""
    message: str


@dataclass(frozen=True, slots=True)
class Spikes:
    """Values far from all around them, that the estimates put back among these."""

    entropy: int
    reward: int


@dataclass(frozen=True, slots=True)
class Unfinished:
    """State of a run that is not done, or is done and has lost rows."""

    status: str | None
    """The status in run.json; None where that cannot be read."""
    reason: str | None
    exit_code: int | None
    last_step: int
    """The step of its last row."""
    steps: int | None
    """Planned, where its config says."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is no run of the analysis, or a run kept out of a group, and why."""

    path: str
    reason: str
