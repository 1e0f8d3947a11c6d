"""run.json: the status of a run, and how its numbers were measured."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.config.run import SCHEMA
from harness.errors import DataError
from harness.records import atomic, plain_file
from harness.utils import shape

ENDED = ("done", "failed", "stopped")
STATUSES = ("planned", "running", *ENDED)
CAME_LATER = ("seed", "start_model", "simulator_version", "rows", "validity", "stopped_by_rule")
"""Keys of run.json that runs of older versions lack."""


@dataclass(frozen=True)
class RunStatus:
    """Contents of run.json: the status of a run, and how its numbers were measured."""

    status: str = "planned"
    reason: str | None = None
    exit_code: int | None = None
    last_step: int = 0
    attempts: int = 0
    config_hash: str = ""
    """Hash of the config without the seed."""
    seed: int | None = None
    measurement: Mapping[str, Any] = field(default_factory=dict)
    """The measurement card: how H and R were measured. Runs with different cards are not pooled."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions the run was planned with; events.jsonl has those of each attempt."""
    git: str = ""
    start_model: str | None = None
    """sha256 of the model that the policy starts from; None before it is loaded, and for tabular
    policies."""
    simulator_version: int | None = None
    """harness.simulator.VERSION that made the rows; None before the first row and in runs of older
    versions, which means version 1."""
    rows: Mapping[str, str] | None = None
    """RowSums of rows 1 to last_step; None before the first row and in runs of older versions."""
    validity: Mapping[str, Any] | None = None
    """records.validity of the levels that the run trains on; None in runs of older versions."""
    stopped_by_rule: Mapping[str, Any] | None = None
    """`rule` and `step` at which trainer.stop_when last ended the run; None if it never did."""
    schema: int = SCHEMA

    @property
    def is_over(self) -> bool:
        """True if the run is complete. A run that `trainer.stop_when` ended can be continued, so it
        is not complete.
        """
        return self.status == "done" and self.ended_by_rule is None

    @property
    def ended_by_rule(self) -> int | None:
        """The last step, if trainer.stop_when ended the run there; None if it did not, or if the
        run has continued since.
        """
        step = (self.stopped_by_rule or {}).get("step")
        ended = self.status == "done" and isinstance(step, int) and self.last_step <= step
        return self.last_step if ended else None

    def to_json(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        return {"schema": values.pop("schema"), **values}


def read(path: Path) -> RunStatus:
    """Read run.json at `path`. Keys of later versions are ignored.

    Raises DataError if the file is missing or malformed.
    """
    content = plain_file.text(path)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        why = plain_file.one_line(error)
        raise DataError(f"{path}: cannot be read: {why}") from error
    if isinstance(values, dict):
        for key in CAME_LATER:
            values.setdefault(key, None)
    problem = shape.problem(RunStatus, values)
    if problem:
        raise DataError(f"{path}: cannot be read: {problem}")
    if values["status"] not in STATUSES:
        rule = f"status must be one of {', '.join(STATUSES)}, got {values['status']!r}"
        raise DataError(f"{path}: cannot be read: {rule}")
    return RunStatus(**{f.name: values[f.name] for f in dataclasses.fields(RunStatus)})


def write(path: Path, status: RunStatus) -> None:
    atomic.write_json(path, status.to_json())
