"""Runs and signs of known diagnosis."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.law.compare.groups import Member
from harness.law.compare.replicates import DIVERGENCE, SOLVING, SOLVING_AFTER_FEELING, Replicate
from harness.law.diagnosis.results import MechanismFinding
from harness.law.io.clean import Points
from harness.law.io.columns import ColumnSeries
from harness.law.io.identity import FolderIdentity
from harness.law.results import Interval, RunResult

STEPS = 100


RISES, FALLS, STAYS = (
    Interval(0.2, 0.1, 0.3),
    Interval(-0.2, -0.3, -0.1),
    Interval(0.0, -0.02, 0.02),
)


def run(
    solving: tuple[float, float] = (0.3, 0.3), paid: float = 0.0, fall: float = 0.0
) -> Replicate:
    """Solving goes from one share to another in 20 steps, the reward in training rises by `paid`
    and H falls by `fall`, from 2 nats.
    """
    steps = np.arange(1.0, STEPS + 1)
    moved = np.minimum((steps - 1) / 20, 1.0)
    noise = np.random.default_rng(1).normal(0, 0.005, STEPS)
    share = (solving[0] + (solving[1] - solving[0]) * moved) / 2 + np.where(steps > 1, noise, 0)
    entropy = 2 - fall * moved + noise
    columns = dict.fromkeys(SOLVING, share)
    columns |= {SOLVING_AFTER_FEELING: 0.5 + noise, DIVERGENCE: 0.8 * moved + noise}
    return Replicate(
        points={"reward": Points(steps, entropy, 0.3 + paid * moved + 8 * noise)},
        course=ColumnSeries(steps, entropy),
        last_step=float(STEPS),
        ends={name: ColumnSeries(steps, values) for name, values in columns.items()},
    )


def member(replicate: Replicate, *nulls: Replicate, **values: Any) -> Member:
    known: dict[str, Any] = {
        "gain": STAYS,
        "silent_share": Interval(0.1, 0.05, 0.15),
        "regime": "drifting",
    }
    config = {"trainer": {"conversations": 64, "steps": STEPS}}
    result = RunResult("run", "ok", None, STEPS, {}, config=config, **(known | values))
    return Member(result, FolderIdentity(config), replicate, nulls)


def sign(finding: MechanismFinding, name: str) -> Interval | None:
    (found,) = [one for one in finding.signs if one.name == name]
    return found.value
