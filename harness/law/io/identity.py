"""The identity of a run, from its folder: config, seed, level, status, measurement card.

Read leniently, since an older or damaged config must not keep a run's numbers from being read.
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
"""Hex digits of a start model's sum: as many as tell two apart."""


@dataclass(frozen=True)
class Identity:
    """Who a run is; empty where its folder does not say."""

    config: Mapping[str, Any] | None = None
    status: str | None = None
    config_hash: str = ""
    measurement: Mapping[str, Any] = field(default_factory=dict)
    changed_at: float = 0.0
    """When run.json was last written, Unix seconds."""
    ours: bool = False
    """Whether run.json or config.yaml is there: a log of another program has neither."""
    cards: Cards = field(default_factory=Cards)
    """What the difficulty cards of its sweep say."""
    reason: str | None = None
    """That in run.json, or that its process died; the next two are from there too."""
    exit_code: int | None = None
    last_step: int = 0
    unreadable: str | None = None
    """Why run.json cannot be read, where it is there and does not say done all the same."""
    rows: RowSums | None = None
    """Sums in run.json of the rows that the run wrote."""
    other_config: str | None = None
    """Why config.yaml is not the one that the run was planned with, where it is not."""
    ended_by_rule: int | None = None
    """The step at which trainer.stop_when ended it, where it did not go on since."""
    validity: Validity | None = None
    """By level, how valid the users are that it trains on; None where run.json does not say."""
    stopped_by_rule: Mapping[str, Any] | None = None
    """The rule and the step at which trainer.stop_when ended it, also where it went on since."""

    @functools.cached_property
    def full_config(self) -> Mapping[str, Any] | None:
        """The config with the defaults of the keys that came after it was written: by it runs of
        several versions are compared.
        """
        return None if self.config is None else _json(config_file.completed(self.config))

    @property
    def has_record(self) -> bool:
        """Whether run.json is there, and so the log one of ours: a row for each step."""
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
        """None where there is none."""
        name = _text(self.config, "remedy", "name")
        return None if name == "none" else name

    @property
    def invalid_users(self) -> bool:
        """Whether it trains on users who are not valid: its R is no reward for empathy."""
        return not all(level.valid for level in (self.validity or {}).values())

    @property
    def intervened(self) -> bool:
        """Whether a remedy acted on entropy; the law is not claimed there."""
        return self.remedy is not None or bool(setting(self.config, "remedy", "methods"))


def read(folder: Path | None) -> Identity:
    """Reads what the folder holds; never raises for what is in its files."""
    if folder is None:
        return Identity()
    run = RunFolder(folder)
    values = _values(run)
    config: Mapping[str, Any] | None = None if values is None else _json(values)
    ours = run.status.exists() or run.config.exists()
    cards = difficulty_card.read(folder, _levels(config))
    try:
        status = run_status.read(run)
        changed_at = run.status.stat().st_mtime
    except (DataError, OSError) as error:
        there = run.status.exists() or run.status.is_symlink()
        why = str(error) if there and not _says_done(run) else None
        return Identity(config, ours=ours, cards=cards, unreadable=why)
    measured = status.measurement if isinstance(status.measurement, dict) else {}
    return Identity(
        config,
        str(status.status),
        str(status.config_hash),
        _with_start_model(_with_size(_json(measured)), status.start_model),
        changed_at,
        ours,
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
    """Whether it is said to run and no process does, here or on another machine."""
    return status.status == "running" and run_state.of(run).status == run_state.CRASHED


def _with_size(card: dict[str, Any]) -> Mapping[str, Any]:
    """The measurement card with the size of its evaluation, which was EvalConfig's default before
    cards said it.
    """
    evaluation = card.get("eval")
    if not isinstance(evaluation, dict) or "users" in evaluation:
        return card
    default = EvalConfig()
    size = {name: getattr(default, name) for name in ("users", "levels", "repeats", "turn_cap")}
    return {**card, "eval": {**evaluation, **size}}


def _with_start_model(card: Mapping[str, Any], start_model: str | None) -> Mapping[str, Any]:
    """The measurement card with the weights that the policy began with, where they are known: built
    on another processor they are others, and so is all that follows.
    """
    return {**card, "start_model": start_model[:SHOWN_OF_SUM]} if start_model else card


def _sums(rows: Mapping[str, str]) -> RowSums | None:
    return RowSums(rows["first"], rows["all"]) if {"first", "all"} <= rows.keys() else None


def _other_config(run: RunFolder, status: RunStatus, values: Mapping[str, Any]) -> str | None:
    """Numbers under another config would be in another group's means."""
    try:
        return planned.changed_values(run, status, values)
    except (TypeError, ValueError, RecursionError):
        rule = "must be as it was when the run was planned, and holds what no config does"
        return f"{run.config}: {rule}"


def _says_done(run: RunFolder) -> bool:
    """Whether a run.json that is not whole, or of another version, says that much."""
    with contextlib.suppress(DataError, ValueError, LookupError, TypeError, RecursionError):
        return bool(json.loads(plain_file.text(run.status))["status"] == "done")
    return False


def _levels(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    levels = (config or {}).get("levels")
    return levels if isinstance(levels, dict) else {}


def _values(run: RunFolder) -> Mapping[str, Any] | None:
    """Reads config.yaml; None of what is no mapping, or holds itself and has no end."""
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
    """The value with nothing in it that JSON cannot hold."""
    if isinstance(value, dict):
        return {str(k): _json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def share_of_run(config: Mapping[str, Any] | None, first: float, last: float, step: float) -> float:
    """The share of its run at which a step lies: of the planned steps, or of those seen, `first`
    to `last`, where the config does not fit the log.
    """
    planned = setting(config, "trainer", "steps")
    if isinstance(planned, int) and planned >= last:
        return step / planned
    before = first - 1
    return (step - before) / (last - before)
