"""Reads a run's results for its model card: rows, difficulty cards, law, one conversation.

Unreadable files do not raise: the card is made from what can be read.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import DataError, HarnessError
from harness.export.source import Source
from harness.law.io import difficulty_card
from harness.law.io.difficulty_card import Cards
from harness.law.io.discover import RESULTS
from harness.records import config_file, metric_rows, plain_file, saved_conversations
from harness.records.saved_conversations import SavedConversation

DAMAGED = (*difficulty_card.DAMAGED, OSError, HarnessError)
LAW = "law"
"""Folder that `harness fit-entropy-law` writes to by default, in a run or in its sweep."""


@dataclass(frozen=True)
class ExportedResults:
    """Results of a run up to the exported step; empty or None if its files lack them."""

    row: Mapping[str, Any] = field(default_factory=dict)
    """The row of the exported step, measured before that step's update."""
    evaluated: Mapping[str, Any] = field(default_factory=dict)
    """The last row with an evaluation, up to the exported step."""
    cards: Cards = field(default_factory=Cards)
    law: Mapping[str, Any] | None = None
    """The run's entry in a law.json of the run or of its sweep."""
    conversation: SavedConversation | None = None
    """The conversation with the median reward of the last saved step."""


def read(source: Source) -> ExportedResults:
    """Read the results, as far as possible."""
    row: Mapping[str, Any] = {}
    evaluated: Mapping[str, Any] = {}
    with contextlib.suppress(*DAMAGED):
        for values in _rows(source.run.metrics, source.checkpoint.step):
            row = values
            evaluated = values if values.get("eval/reward") is not None else evaluated
    levels = config_file.to_dict(source.config)["levels"]
    return ExportedResults(
        row,
        evaluated,
        difficulty_card.read(source.run.path, levels),
        law_entry(source),
        conversation(source.run.path, source.checkpoint.step),
    )


def _rows(path: Path, last: int) -> Iterator[Mapping[str, Any]]:
    """Yield the rows up to step `last`, or up to the first damaged one."""
    with open(path, "rb", opener=plain_file.opener) as file:
        for line in iter(lambda: file.readline(metric_rows.LONGEST_ROW_BYTES + 1), b""):
            if metric_rows.checksum_matches(line) is False or not line.endswith(b"\n"):
                return
            values = json.loads(line)
            if values["step"] > last:
                return
            yield values


def law_entry(source: Source) -> Mapping[str, Any] | None:
    """Return this run's entry in the law.json of its folder or its sweep's; None without one."""
    run_path = source.run.path.absolute()  # `.` has neither name nor parent
    for folder in (run_path / LAW, run_path.parent / LAW):
        path = folder / RESULTS
        if path.is_symlink() or folder.is_symlink():
            continue
        with contextlib.suppress(DataError, OSError, *difficulty_card.DAMAGED):
            entries = json.loads(plain_file.text(path))["runs"]
            is_own = folder.parent == run_path
            for entry in entries:
                same_run = is_own or Path(entry["run"]).name == run_path.name
                if same_run and _belongs_to(entry, source):
                    return dict(entry)
    return None


def _belongs_to(entry: Mapping[str, Any], source: Source) -> bool:
    """Whether an entry of law.json has the config and the seed of this run."""
    config = entry.get("config")
    if entry.get("status") != "ok" or not isinstance(config, dict) or not _is_sound(entry):
        return False
    same = config_file.hash_of(config) == source.status.config_hash
    return same and config.get("seed") == source.config.seed


def _is_sound(entry: Mapping[str, Any]) -> bool:
    """Whether the parts of an entry that the card looks into are of their types, or missing."""
    parts = [entry.get(name) or {} for name in ("identified", "onset")]
    return isinstance(entry.get("reasons") or [], list) and all(
        isinstance(part, Mapping) for part in parts
    )


def conversation(run: Path, step: int) -> SavedConversation | None:
    """Return the conversation with the median reward in the last saved step up to `step`.

    None if there is none.
    """
    with contextlib.suppress(*DAMAGED):
        steps = [n for n in saved_conversations.steps(run) if n <= step]
        conversations = saved_conversations.read(run, steps[-1]).conversations
        by_reward = sorted(
            (one for one in conversations if one.score is not None),
            key=lambda one: one.score or 0.0,
        )
        return by_reward[(len(by_reward) - 1) // 2]
    return None
