"""Whether a run has come to its end, and how it stands where it has not.

Only run.json tells: of other programs' logs, and of a run that has lost it, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import DivergedError
from harness.law.io.identity import Identity
from harness.records.sweep_file import LedgerRow

REPLAYED = "a recomputed row must equal the one on disk"
"""Such a run ends with the exit code of one that diverged; its numbers did not."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """How a run stands that is not done, or is and has lost its last rows."""

    status: str | None
    """As in run.json; None where that cannot be read."""
    reason: str | None
    exit_code: int | None
    last_step: int
    """Of its last row."""
    steps: int | None
    """Planned, where its config says."""


def of(who: Identity, last_row: int | None, other_rows: str | None = None) -> Unfinished | None:
    """None of a run that is done and whole. `last_row`: its last step with a row, if it is known;
    `other_rows`: why its rows are not those that it wrote, if they are not.

    A run that says it is done has lost rows where it ends before run.json's last step.
    """
    if who.unreadable is not None:
        return Unfinished(None, who.unreadable, None, last_row or 0, _planned(who.config))
    if who.status is None:
        return None
    reason = who.reason
    if who.status == "done":
        damage = _cut(who, last_row) or who.other_config or other_rows
        if damage is None:
            return None
        reason = f"damaged: {damage}"
    reached = who.last_step if last_row is None else last_row
    return Unfinished(who.status, reason, who.exit_code, reached, _planned(who.config))


def _cut(who: Identity, last_row: int | None) -> str | None:
    if last_row is None or last_row >= who.last_step:
        return None
    rule = f"a run that is done must end with the row of step {who.last_step}"
    return f"{rule}, got {f'step {last_row}' if last_row else 'none'} as its last"


def diverged(given: Unfinished | LedgerRow | None) -> bool:
    """Whether training itself came to what is no number."""
    if given is None or given.status != "failed" or given.exit_code != DivergedError.exit_code:
        return False
    return REPLAYED not in (given.reason or "")


def _planned(config: Mapping[str, Any] | None) -> int | None:
    trainer = (config or {}).get("trainer")
    steps = trainer.get("steps") if isinstance(trainer, dict) else None
    return steps if isinstance(steps, int) and not isinstance(steps, bool) else None
