"""The findings of verify as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.records.soundness import DAMAGED, NOTE, IntegrityFinding
from harness.utils import terminal
from harness.utils.safe_text import escape

HEADS = ("run", "status", "result")
LEAST_PATH = 28


@dataclass(frozen=True)
class RunVerification:
    """One run and the findings on its parts."""

    run: str
    status: str | None
    """As run.json says, crashed where no process runs it any more; null where it cannot be read."""
    findings: tuple[IntegrityFinding, ...]
    in_use: bool = False
    """Whether a live process holds it; files that it may be writing are not checked then."""

    @property
    def ok(self) -> bool:
        return all(finding.level != DAMAGED for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        findings = [asdict(finding) for finding in self.findings]
        return {"run": self.run, "status": self.status, "ok": self.ok, "findings": findings}


def lines(
    verified: Sequence[RunVerification], columns: int | None, coloured: bool
) -> Iterator[str]:
    """Yield a line for each run and its damage, then the notes; equal notes share a line."""
    cells = [(escape(run.run), run.status or "-", _result(run)) for run in verified]
    widths = terminal.fit([HEADS, *cells], columns, {0: LEAST_PATH}, ())
    yield terminal.row(HEADS, widths, {})
    for run, row in zip(verified, cells, strict=True):
        painted = {1: run.status or "", 2: "done" if run.ok else DAMAGED}
        yield terminal.row(row, widths, painted if coloured else {})
        for finding in run.findings:
            if finding.level == DAMAGED:
                yield terminal.wrap(escape(f"  {_without_path(run, finding)}"), columns, "    ")
    for line in (*_notes(verified), _closing_line(verified)):
        yield terminal.wrap(escape(line), columns, "  ")


def _result(run: RunVerification) -> str:
    return "undamaged" if run.ok else DAMAGED


def _without_path(run: RunVerification, finding: IntegrityFinding) -> str:
    """Return the text without the run's path, which stands on the line before."""
    return f"{finding.part}: {finding.message.replace(f'{run.run}/', '')}"


def _notes(verified: Sequence[RunVerification]) -> Iterator[str]:
    """Yield each note with its run, or with the number of runs that have it."""
    runs_by_note: dict[str, list[str]] = {}
    for run in verified:
        for finding in run.findings:
            if finding.level == NOTE:
                note = _without_path(run, finding).replace(f"{run.run}: ", "")
                runs_by_note.setdefault(note, []).append(run.run)
    for note, runs in runs_by_note.items():
        yield f"{runs[0] if len(runs) == 1 else f'{len(runs)} runs'}: {note}"


def _closing_line(verified: Sequence[RunVerification]) -> str:
    undamaged, in_use_count = sum(run.ok for run in verified), sum(run.in_use for run in verified)
    in_use = f", {in_use_count} of them in use and only partly checked" if in_use_count else ""
    summary = f"{undamaged} of {len(verified)} runs undamaged{in_use}"
    return f"{summary}; nothing was changed; --json shows every check"
