"""Rows of conversations as older versions wrote them, with the columns of this version.

Version 1 joined strategies by + and kept the user's appraisal as JSON. It did not keep who the user
was but for the temperament, the reward, what a reply took up, and the emotion as it was reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

WORTH_WEIGHT = 2.2
"""Log-odds of a unit of `worth` in the appraisal of a scripted user."""
REST = "rest"
"""Part of what the appraisal did not split: who the user is, and how they were by then."""


def upgraded(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of version 1 with the columns `names`; None for what was not kept.

    Raises ValueError, TypeError or KeyError for rows that no version wrote.
    """
    return [{**dict.fromkeys(names), **_kept(row, names), **_changed(row)} for row in rows]


def _kept(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}


def _changed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are of another kind now."""
    before, after = row["emotion_before"], row["emotion_after"]
    joined, is_reply = row["strategy"], row["speaker"] != "user"
    return {
        "strategies": (joined.split("+") if joined else []) if is_reply else None,
        "change": after - before if None not in (before, after) else None,
        "why": None,
        **_appraisal(row["why"]),
    }


def _appraisal(content: str | None) -> dict[str, Any]:
    if content is None:
        return {}
    values = json.loads(content)
    effects = {part: float(v) for part, v in values.items() if not isinstance(v, str)}
    total = effects.pop("logit", None)
    if total is not None:
        effects["worth"] *= WORTH_WEIGHT
        effects[REST] = total - sum(effects.values())
    unit = "points" if total is None else "log_odds"
    kept = [{"part": part, "effect": round(v, 6)} for part, v in effects.items() if v]
    return {
        "why": kept,
        "why_unit": unit if kept else None,
        "reason": values.get("reason"),
        "fit": values.get("target_fit"),
        "not_language": values.get("rule"),
        "fault": values.get("fault"),
    }
