"""What is true in each planted world, and how often a study said it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness.law.compare.link_result import UNDECIDED
from harness.law.compare.study_outcome import StudyOutcome

HERE = Path(__file__).with_name("worlds")
Row = Mapping[str, Any]
RIGHT, WRONG = "right", "wrong"


@dataclass(frozen=True)
class World:
    """A world and what a study may say of it."""

    name: str
    number: int
    """Its place in worlds.yaml, from 0."""
    built: str
    effect: tuple[float, ...]
    """The true difference of each link in the stated direction, in margins."""
    right: tuple[str, ...]
    """Words that are right of the study; any other but undecided is wrong."""
    pairs: int
    early: int
    """Pairs of the look that is asked how many it would need."""

    def score(self, word: str) -> str:
        """right, wrong or undecided."""
        if word == UNDECIDED:
            return UNDECIDED
        return RIGHT if word in self.right else WRONG


def worlds(names: Sequence[str] = ()) -> list[World]:
    """Those named, in the order of worlds.yaml; all without names. Raises KeyError."""
    stated = yaml.safe_load((HERE / "worlds.yaml").read_text(encoding="utf-8"))
    every = [
        World(
            name,
            number,
            " ".join(of["built"].split()),
            tuple(map(float, of["effect"])),
            tuple(of["right"]),
            of["pairs"],
            of["early"],
        )
        for number, (name, of) in enumerate(stated.items())
    ]
    by_name = {world.name: world for world in every}
    return [by_name[name] for name in names] if names else every


def row(outcome: StudyOutcome) -> dict[str, Any]:
    """What is kept of a study."""
    links = [
        {
            "name": one.link.name,
            "margin": one.link.margin,
            "direction": one.link.direction,
            "quantity": one.link.quantity,
            "verdict": one.verdict,
            "why": one.why,
            "seeds_needed": one.seeds_needed,
            "by_seed": _plain(one.by_seed),
            "plain_by_seed": None if one.plain_by_seed is None else _plain(one.plain_by_seed),
        }
        for one in outcome.links
    ]
    return {"verdict": outcome.verdict, "seeds_needed": outcome.seeds_needed, "links": links}


def _plain(by_seed: Mapping[int, float]) -> dict[str, float]:
    return {str(seed): value for seed, value in by_seed.items()}


def rows(folder: Path) -> list[dict[str, Any]]:
    """The studies asked so far, one a world and repeat."""
    by_key = {
        (one["world"], one["repeat"]): one
        for path in sorted(folder.glob("rows-*.jsonl"))
        for one in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }
    return [by_key[key] for key in sorted(by_key)]


def calibration(of: Row) -> Iterator[str]:
    """A line for each link: the mean difference with its standard error, and the spread."""
    for link in of["links"]:
        values = np.array(list(link["by_seed"].values()))
        spread = float(values.std(ddof=1))
        error = spread / len(values) ** 0.5
        yield (
            f"| {of['world']} | {link['name']} | {len(values)} | {values.mean():+.4f} "
            f"| {error:.4f} | {spread:.4f} |"
        )
