"""What the remedy frontier runs: a sweep of seeds for each level, method and strength."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

METHODS = Path(__file__).with_name("frontier_methods.yaml")
LEVELS = ("medium", "hard")
DONE, IN_PART = 0, 3
"""Exit codes of a sweep whose runs are done, and of one in which some failed."""


@dataclass(frozen=True)
class Method:
    """A method and its strengths, weakest first."""

    name: str
    words: tuple[str, ...]
    strengths: tuple[tuple[str, ...], ...]
    """The words of each."""
    is_rate: bool
    """Whether it is plain grpo at several rates, what the others are held against."""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    levels: tuple[str, ...]
    seeds: tuple[int, ...]
    steps: int
    """At the level."""
    more_steps: int
    """On the next level, for trainability; of medium alone."""
    users: int
    repeats: int


@dataclass(frozen=True)
class Cell:
    """One method at one strength on one level: a sweep over the seeds."""

    level: str
    method: Method
    strength: int
    """Place among the method's strengths, from 1, the weakest."""

    @property
    def name(self) -> str:
        return f"{self.level}-{self.method.name}-{self.strength}"

    def words(self, size: Size) -> list[str]:
        """The sweep's words. A medium run goes on with hard users, which tells trainability."""
        own = [*self.method.words, *self.method.strengths[self.strength - 1]]
        follows = self.level == "medium"
        path = [
            f"difficulty={self.level}",
            f"trainer.steps={size.steps + (size.more_steps if follows else 1)}",
            f"trainer.eval_every={size.steps}",
            f"eval.levels=[{'medium,hard' if follows else 'hard'}]",
        ]
        if follows:
            staged = ("curriculum.medium_from=1", f"curriculum.hard_from={size.steps + 1}")
            path += ["curriculum=staged", *staged]
        common = ["policy=tabular", f"eval.users={size.users}", f"eval.repeats={size.repeats}"]
        seeds = ",".join(map(str, size.seeds))
        return [*common, "eval.deaf=false", *path, *own, f"seed={seeds}"]


def methods(names: Sequence[str] = (), strengths: int = 5) -> list[Method]:
    """The methods of frontier_methods.yaml of these names, all if none; `strengths`: how many of
    each, spread over all of them. Raises KeyError for a name that is not there.
    """
    known = {name: _method(name, one) for name, one in yaml.safe_load(METHODS.read_text()).items()}
    chosen = [known[name] for name in names or known]
    return [Method(m.name, m.words, _spread(m.strengths, strengths), m.is_rate) for m in chosen]


def _method(name: str, value: dict[str, object]) -> Method:
    keys, strengths = value.get("keys", []), value["strengths"]
    assert isinstance(keys, list)
    assert isinstance(strengths, list)
    words = tuple(
        tuple(one) if isinstance(one, list) else tuple(f"{key}={one}" for key in keys)
        for one in strengths
    )
    return Method(name, tuple(map(str, value["words"])), words, bool(value.get("rate")))  # type: ignore[call-overload]


def _spread(strengths: tuple[tuple[str, ...], ...], count: int) -> tuple[tuple[str, ...], ...]:
    last = len(strengths) - 1
    places = (
        [round(n * last / max(1, count - 1)) for n in range(count)] if count > 1 else [last // 2]
    )
    return tuple(strengths[place] for place in sorted(set(places)))


def cells(chosen: Sequence[Method], size: Size) -> list[Cell]:
    """Every cell, the rates of each level first."""
    ordered = sorted(chosen, key=lambda method: not method.is_rate)
    return [
        Cell(level, method, strength)
        for level in size.levels
        for method in ordered
        for strength in range(1, len(method.strengths) + 1)
    ]


def ensure(folder: Path, cell: Cell, size: Size) -> None:
    """Have the cell's runs in FOLDER/NAME: done already, gone on with, or begun.

    Raises SystemExit where the sweep ends with anything but runs that are done or have failed.
    """
    path = folder / cell.name
    given = json.dumps(cell.words(size))
    said = folder / f"{cell.name}.json"
    if path.exists() and (not said.is_file() or said.read_text(encoding="utf-8") != given):
        sys.exit(
            f"{path}: must hold the runs of this size and strength, and holds others; name "
            "another folder"
        )
    if is_done(path):
        return
    folder.mkdir(parents=True, exist_ok=True)
    said.write_text(given, encoding="utf-8")
    words = (
        ["resume", str(path)] if path.exists() else ["sweep", *cell.words(size), "--dir", str(path)]
    )
    done = subprocess.run([sys.executable, "-m", "harness", *words], capture_output=True, text=True)
    if done.returncode not in (DONE, IN_PART):
        sys.exit(f"{cell.name}: harness {words[0]} ended {done.returncode}: {done.stderr.strip()}")


def is_done(path: Path) -> bool:
    """Whether no run of a sweep's folder is left to do: a failed one is a row, and stays so."""
    try:
        runs = json.loads((path / "sweep.json").read_text())["runs"]
    except (OSError, ValueError, KeyError):
        return False
    return all(run["status"] in ("done", "failed") for run in runs)
