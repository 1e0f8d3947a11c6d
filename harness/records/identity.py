"""What a checkpoint belongs to: the run's config, seed and start model, and the code at work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from harness.records import shape
from harness.records.versions import MadeBy


@dataclass(frozen=True)
class Identity:
    """Of a run, or of the run that a checkpoint was saved by."""

    config_hash: str
    seed: int
    start_model: str | None
    """sha256 of what the policy started from; None for tabular, and where it is not known."""
    made_by: MadeBy

    def to_json(self) -> dict[str, Any]:
        return {
            "config_hash": self.config_hash,
            "seed": self.seed,
            "start_model": self.start_model,
            **asdict(self.made_by),
        }


@dataclass(frozen=True)
class _Written:
    config_hash: str
    seed: int
    start_model: str | None
    versions: Mapping[str, str]
    git: str


KEYS = tuple(part.name for part in fields(_Written))


def from_json(values: Any) -> Identity | None:
    """The inverse of `to_json`; None of what is no identity."""
    if shape.problem(_Written, values):
        return None
    known = (values["config_hash"], values["seed"], values["start_model"])
    return Identity(*known, MadeBy(values["versions"], values["git"]))


def conflict(given: Identity, own: Identity) -> str | None:
    """What is another run's in `given`: `seed 2 where the run has 1`; None where nothing is."""
    for kind in ("config_hash", "seed", "start_model"):
        found, wanted = getattr(given, kind), getattr(own, kind)
        if found != wanted and not (kind == "start_model" and None in (found, wanted)):
            name = kind.replace("_", " ")
            return f"{name} {shortly(found)} where the run has {shortly(wanted)}"
    return None


def shortly(value: object) -> str:
    """The first 12 digits of a long hash, as of a config; else the value."""
    return str(value)[:12]
