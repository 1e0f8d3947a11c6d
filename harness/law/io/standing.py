"""What a run says of its own end, and what of its rows is not there any more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.law.io import checksums, missing, own_rows, unfinished
from harness.law.io.identity import Identity
from harness.law.io.missing import Missing
from harness.law.io.reading import Table
from harness.law.io.unfinished import Unfinished


@dataclass(frozen=True)
class Standing:
    """What a run says of its end, and what of its rows is not there any more."""

    unfinished: Unfinished | None
    checksums: str | None = None
    lost: Missing = missing.NOTHING

    @property
    def dropped(self) -> dict[str, int]:
        return {missing.REASON: self.lost.count} if self.lost.count else {}

    def dropped_at(self, metrics: Path | None) -> dict[str, list[str]]:
        """By step, for want of a line."""
        steps = [f"{metrics}: step {n}" for n in self.lost.first]
        return {missing.REASON: steps} if steps else {}


def of(table: Table, who: Identity) -> Standing:
    """Of a run whose log could be read."""
    others = own_rows.problem(table, who.rows, who.last_step)
    ended = unfinished.of(who, missing.last_step(table), others)
    held = table.checksums if who.ours or table.checksums != checksums.NONE else None
    lost = missing.rows(table, who.last_step) if who.has_record else missing.NOTHING
    return Standing(ended, held, lost)


def without_rows(who: Identity) -> Standing:
    """Of one whose log could not."""
    return Standing(unfinished.of(who, 0))
