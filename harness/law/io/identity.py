"""Read the identity of a run from its folder: config, seed, level, status, measurement card.

Older and damaged files are tolerated, so that the numbers of the run can still be read.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.config.run import EvalConfig
from harness.errors import DataError
from harness.law.io import difficulty_card
from harness.law.io.difficulty_card import Cards
from harness.law.settings import setting
from harness.records import compatibility as planned
from harness.records import config_file, plain_file, run_state, run_status
from harness.records import validity as user_validity
from harness.records.metric_rows import RowSums
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.records.validity import Validity

SHOWN_OF_SUM = 12
"""Number of hex digits of a start model's sum that are shown, enough to be unique."""


@dataclass(frozen=True)
class FolderIdentity:
    """The identity of a run. Fields are empty if the folder does not hold them."""

    config: Mapping[str, Any] | None = None
    status: str | None = None
    config_hash: str = ""
    measurement: Mapping[str, Any] = field(default_factory=dict)
    changed_at: float = 0.0
    """Time at which run.json was last written, Unix seconds."""
    is_ours: bool = False
    """Whether run.json or config.yaml exists. A log of another program has neither."""
    cards: Cards = field(default_factory=Cards)
    """The difficulty cards of the sweep."""
    reason: str | None = None
    """The reason in run.json, or that the process died."""
    exit_code: int | None = None
    last_step: int = 0
    unreadable: str | None = None
    """Why run.json cannot be read; None if it can, is missing, or still shows the status done."""
    rows: RowSums | None = None
    """Sums in run.json of the rows that the run wrote."""
    other_config: str | None = None
    """Why config.yaml is not the config that the run was planned with; None if it is."""
    ended_by_rule: int | None = None
    """The step at which trainer.stop_when ended the run; None if it continued afterwards."""
    validity: Validity | None = None
    """Validity of the simulated users, by level; None if run.json does not hold it."""
    stopped_by_rule: Mapping[str, Any] | None = None
    """The rule and step at which trainer.stop_when ended the run, even if it continued later."""

    @functools.cached_property
    def full_config(self) -> Mapping[str, Any] | None:
        """The config with defaults for keys of later versions, so that runs of different versions
        can be compared.
        """
        return None if self.config is None else _json(config_file.with_defaults(self.config))

    @property
    def has_record(self) -> bool:
        """Whether run.json exists, so that the log is ours and must have a row for each step."""
        return self.status is not None or self.unreadable is not None

    @property
    def seed(self) -> int | None:
        value = (self.config or {}).get("seed")
        return value if isinstance(value, int) else None

    @property
    def level(self) -> str | None:
        return _text(self.config, "difficulty", "name")

    @property
    def null_control(self) -> bool:
        return setting(self.config, "algorithm", "null_control") is True

    @property
    def remedy(self) -> str | None:
        """The name of the remedy; None if there is none."""
        name = _text(self.config, "remedy", "name")
        return None if name == "none" else name

    @property
    def invalid_users(self) -> bool:
        """Whether the run trains on users who are not valid, so that R is no reward for empathy."""
        return not all(level.valid for level in (self.validity or {}).values())

    @property
    def intervened(self) -> bool:
        """Whether the run has a remedy that acts on entropy, for which the law is not claimed."""
        return self.remedy is not None or bool(setting(self.config, "remedy", "methods"))


def read(folder: Path | None) -> FolderIdentity:
    """Read the identity from the run's folder. The content of its files never raises an error."""
    if folder is None:
        return FolderIdentity()
    run = RunFolder(folder)
    values = _values(run)
    config: Mapping[str, Any] | None = None if values is None else _json(values)
    is_ours = run.status.exists() or run.config.exists()
    cards = difficulty_card.read(folder, _levels(config))
    try:
        status = run_status.read(run.status)
        changed_at = run.status.stat().st_mtime
    except (DataError, OSError) as error:
        exists = run.status.exists() or run.status.is_symlink()
        reason = str(error) if exists and not _says_done(run) else None
        return FolderIdentity(config, is_ours=is_ours, cards=cards, unreadable=reason)
    measurement = status.measurement if isinstance(status.measurement, dict) else {}
    return FolderIdentity(
        config,
        str(status.status),
        str(status.config_hash),
        _with_start_model(_with_size(_json(measurement)), status.start_model),
        changed_at,
        is_ours,
        cards,
        run_state.DIED if _crashed(run, status) else status.reason,
        status.exit_code,
        status.last_step,
        rows=_sums(status.rows or {}),
        other_config=None if values is None else _other_config(run, status, values),
        ended_by_rule=status.ended_by_rule,
        validity=user_validity.from_json(status.validity),
        stopped_by_rule=status.stopped_by_rule,
    )


def _crashed(run: RunFolder, status: RunStatus) -> bool:
    """Return whether the status is running but no process runs it, here or on another machine."""
    return status.status == "running" and run_state.of(run).status == run_state.CRASHED


def _with_size(card: dict[str, Any]) -> Mapping[str, Any]:
    """Add the size of the evaluation to older measurement cards: EvalConfig's defaults."""
    evaluation = card.get("eval")
    if not isinstance(evaluation, dict) or "users" in evaluation:
        return card
    default = EvalConfig()
    size = {name: getattr(default, name) for name in ("users", "levels", "repeats", "turn_cap")}
    return {**card, "eval": {**evaluation, **size}}


def _with_start_model(card: Mapping[str, Any], start_model: str | None) -> Mapping[str, Any]:
    """Add the sum of the start model's weights to the measurement card, if it is known.

    A start model built on another processor has different weights.
    """
    return {**card, "start_model": start_model[:SHOWN_OF_SUM]} if start_model else card


def _sums(rows: Mapping[str, str]) -> RowSums | None:
    return RowSums(rows["first"], rows["all"]) if {"first", "all"} <= rows.keys() else None


def _other_config(run: RunFolder, status: RunStatus, values: Mapping[str, Any]) -> str | None:
    """Return why config.yaml is not the planned one, which would put the run in a wrong group."""
    try:
        return planned.values_change(run, status, values)
    except (TypeError, ValueError, RecursionError):
        rule = "must be as it was when the run was planned, but is not a valid config"
        return f"{run.config}: {rule}"


def _says_done(run: RunFolder) -> bool:
    """Return whether an incomplete run.json, or one of another version, has the status done."""
    with contextlib.suppress(DataError, ValueError, LookupError, TypeError, RecursionError):
        return bool(json.loads(plain_file.text(run.status))["status"] == "done")
    return False


def _levels(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    levels = (config or {}).get("levels")
    return levels if isinstance(levels, dict) else {}


def _values(run: RunFolder) -> Mapping[str, Any] | None:
    """Read config.yaml; None if it is unreadable, no mapping, or contains itself."""
    with contextlib.suppress(DataError, RecursionError):
        values = plain_file.yaml_values(run.config)
        if isinstance(values, dict):
            _json(values)
            return values
    return None


def _text(config: Mapping[str, Any] | None, group: str, key: str) -> str | None:
    value = setting(config, group, key)
    return value if isinstance(value, str) else None


def _json(value: Any) -> Any:
    """Convert a value to one that JSON can represent."""
    if isinstance(value, dict):
        return {str(k): _json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def share_of_run(config: Mapping[str, Any] | None, first: float, last: float, step: float) -> float:
    """Return the position of a step as a share of the planned steps.

    If the config does not fit the log, it is a share of the logged steps `first` to `last`.
    """
    planned_steps = setting(config, "trainer", "steps")
    if isinstance(planned_steps, int) and planned_steps >= last:
        return step / planned_steps
    start = first - 1
    return (step - start) / (last - start)
