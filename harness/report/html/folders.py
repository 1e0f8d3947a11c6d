"""Information from the folders of the runs: how they were measured, set and planned.

Damaged files and those of other programs are left out instead of raising errors.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.law.group_results import Analysis
from harness.law.io import difficulty_card, discover
from harness.records import plain_file, run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus

LARGEST_CARDS_BYTES = 20_000_000


@dataclass(frozen=True)
class LocatedRun:
    """A run of the analysis and its folder."""

    run: str
    """Its path, as in the analysis."""
    folder: Path | None
    """None for a log of another program."""
    status: RunStatus | None
    """None if run.json is missing or unreadable."""


@dataclass(frozen=True)
class CardEntry:
    """An entry of a cards.json: the measured difficulty of a level."""

    level: str
    difficulty: Mapping[str, Any]
    card: Mapping[str, Any]


def locate_runs(paths: Sequence[Path], analysis: Analysis) -> list[LocatedRun]:
    """Return the folders of the runs of the analysis, in its order."""
    folder_of = {run.run: run.folder for run in discover.discover(paths).runs}
    return [_locate(run.run, folder_of.get(run.run)) for run in analysis.runs]


def _locate(run: str, folder: Path | None) -> LocatedRun:
    if folder is None:
        return LocatedRun(run, None, None)
    try:
        return LocatedRun(run, folder, run_status.read(RunFolder(folder).status))
    except (DataError, OSError):
        return LocatedRun(run, folder, None)


def parents(runs: Sequence[LocatedRun]) -> list[Path]:
    """Return the folders that contain the runs' folders, such as sweeps, each once."""
    return list(dict.fromkeys(run.folder.absolute().parent for run in runs if run.folder))


def level_cards(runs: Sequence[LocatedRun]) -> list[CardEntry]:
    """Return the distinct difficulty cards next to the runs: of each level and reader of users."""
    folders = parents(runs)
    cards: dict[str, CardEntry] = {}
    for folder in folders:
        for entry in _entries(folder / difficulty_card.FILE):
            with contextlib.suppress(*difficulty_card.DAMAGED):
                card = CardEntry(
                    str(entry["level"]), dict(entry["difficulty"]), dict(entry["card"])
                )
                key = [card.difficulty, card.card.get("reader")]
                cards.setdefault(json.dumps(key, sort_keys=True), card)
    readers = {card.card.get("reader") for card in cards.values()}
    return [_named(card) if len(readers) > 1 else card for card in cards.values()]


def _named(card: CardEntry) -> CardEntry:
    """Return the card with its reader in the name, since its level has users of several."""
    reader = card.card.get("reader")
    return replace(card, level=f"{card.level}, {reader}") if reader is not None else card


def _entries(path: Path) -> Sequence[Any]:
    if path.is_symlink():
        return ()
    with contextlib.suppress(DataError, OSError, *difficulty_card.DAMAGED):
        return list(json.loads(plain_file.text(path, LARGEST_CARDS_BYTES))["cards"])
    return ()
