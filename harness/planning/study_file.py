"""Write a study file for `harness study` that decides a quantity of links."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.planning.settings import RequestedLevels, swept_words
from harness.planning.task import PlanningTask
from harness.study import link_statements

NAME = "planned"
FILE = f"{NAME}.yaml"
NULL_CONTROLS = "null_controls: true"
"""The line that gives each arm a null control."""
FOLDER = "sweeps/studies"
"""Folder, relative to the current one, in which `harness study` looks for studies."""
OPEN = "# the pilot does not show the direction; choose more or less before the first run"


def text(
    task: PlanningTask,
    requested: RequestedLevels,
    words: Sequence[str],
    directions: Mapping[tuple[int, int], int],
) -> str:
    """Return the YAML of sweeps/studies/planned.yaml, with a link for each pair of levels.

    `directions`: pair -> 1 if the pilot shows that its later level has more, -1 if less.
    """
    common = [word for word in words if word not in swept_words(requested)]
    names = _arms(requested)
    arms = {
        names[name]: list(overrides)
        for name, overrides in zip(requested.names, requested.overrides, strict=True)
    }
    lines = [
        f"question: Do these levels differ in {task.effect.quantity}?",
        "source: planned by harness plan",
        "seeds: range(1,4)",
        f"words: {json.dumps(common)}",
        "arms:",
        *(f"  {json.dumps(arm)}: {json.dumps(words_of_arm)}" for arm, words_of_arm in arms.items()),
        "links:",
    ]
    for pair in task.rule.pairs:
        later, baseline = (names[requested.names[index]] for index in pair)
        link = {
            "quantity": task.effect.quantity, "arm": later, "against": baseline,
            "direction": "less" if directions.get(pair) == -1 else "more",
            "margin": task.effect.value,
            "evaluation": task.pilot.column_of(task.effect.quantity),
        }  # fmt: skip
        lines += [] if pair in directions else [f"  {OPEN}"]
        lines.append(f"  {later} against {baseline}: {json.dumps(link)}")
    return "\n".join(lines) + "\n"


def command(out: Path, run: str) -> str:
    """Return a command that copies the file from `out` to FOLDER and then executes `run`."""
    copy = f"cp {shlex.quote(str(out / FILE))} {FOLDER}/"
    return f"mkdir -p {FOLDER} && {copy} && {run}"


def _arms(requested: RequestedLevels) -> dict[str, str]:
    """Return level -> unique name of its arm, valid as a folder name."""
    names: dict[str, str] = {}
    levels = zip(requested.names, requested.overrides, strict=True)
    for number, (level, overrides) in enumerate(levels, 1):
        name = _arm(overrides)
        is_taken = name in names.values()
        names[level] = (
            f"level_{number}" if is_taken or not link_statements.ARM.fullmatch(name) else name
        )
    return names


def _arm(overrides: Sequence[str]) -> str:
    """Return an arm name: difficulty=hard, remedy=none -> hard_none."""
    values = [override.partition("=")[2] for override in overrides]
    plain = ("".join(c if c.isalnum() else "_" for c in value) for value in values)
    return "_".join(plain).lower().strip("_")
